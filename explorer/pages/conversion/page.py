"""The page Cast & BitCast: one code cast step by step, directly or through others; bitcasts; codes packed in bytes."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from lowprec._notebook_display import count_text
from lowprec.reference.exact_cast import Value
from lowprec.spec.operator_versions import NEWEST

from ...shared import chart, evidence, layout
from ...shared.cast_controls import cast_controls, options_of
from ...shared.cast_options import CastOptions
from ...shared.codes import anatomy, losses_of
from ...shared.controls import Controls
from ...shared.format_names import format_named, is_described
from ...shared.numbers import code_text, place
from ...shared.page import FORMAT_NAMES
from . import chain_view, packing_view, picture, view
from . import snippets as code_snippets
from .state import NO_FORMAT, PACKABLE_NAMES, VIA_NAMES, Conversion

__all__ = ["show"]


def packable_codes(_: Conversion, new: Conversion) -> Conversion:
    """Keep the codes to pack if the new format has them, else take the default ones."""
    return replace(new, codes=packing_view.codes_or_default(new.codes, format_named(new.packed), Conversion().codes))


def without_gap(_: Conversion, new: Conversion) -> Conversion:
    """Keep the formats between in order; ONNX's newest opset stands for none where it lacks one of them."""
    via, then = (*new.between, NO_FORMAT, NO_FORMAT)[:2]
    new = replace(new, via=via, then=then)
    return replace(new, opset=NEWEST) if any(map(is_described, new.between)) else new


@st.cache_data(max_entries=64, show_spinner=False)
def witness(source: str, formats: tuple[str, ...], options: CastOptions) -> str:
    """Return a number whose result a chain changes, or nothing."""
    found: str = chain_view.witness_text(format_named(source), [format_named(name) for name in formats], **options)
    return found


def show_steps(cast: view.Conversion, typed: Value | None = None, name: str = "cast") -> None:
    """Show the steps of one Cast, what it lost, and the buttons that save its picture, by a name."""
    text, loss = code_text(cast.code, cast.source), view.loss_text(cast)
    layout.show(
        "pages/conversion/cast_steps", conversion=cast, typed=typed, anatomy=anatomy(text, cast.source), loss=loss
    )
    layout.show("loss_sentence", losses=losses_of(cast.explanation))
    detail = f"{cast.source.name} {cast.code:#x} to {cast.target.name}"
    layout.save_picture(picture.cast_steps(cast, chart.is_dark()), name, detail)


def show(page: Controls[Conversion]) -> None:
    """Show the page."""
    layout.heading(
        "Cast & BitCast",
        "Choose two formats and a number, and formats between them if you like. "
        "Cast keeps the value as far as it can; BitCast keeps the bits.",
        "Cast's rules",
    )
    source, target = format_named(page.state.source), format_named(page.state.target)
    through = [format_named(name) for name in page.state.between]

    def compute(state: Conversion, code: int) -> tuple[view.Conversion, chain_view.Chain | None, CastOptions]:
        """Return the views of a state with a code, and the options of Cast; ValueError where the opset lacks a type."""
        options = options_of(state)
        chain = chain_view.chain_of(code, source, [*through, target], **options) if through else None
        return view.conversion(code, source, target, **options), chain, options

    page.compute_or_reset(lambda state: compute(state, 0), opset=NEWEST)
    state = page.state
    first, number, *between, second = st.columns([2, 3, 2, 2, 2] if state.between else [2, 3, 2, 2])
    page.format_box(first, "From", "source", FORMAT_NAMES)
    help_ = "A code: 0x2A, 0b0101. A number: 0.3, 17/23, -inf"
    number.text_input("Code or number", **page.bind("at"), max_chars=1000, help=help_)
    for place_, label, field in zip(between, ("Through", "then through"), ("via", "then"), strict=False):
        page.format_box(place_, label, field, VIA_NAMES, without_gap)
    page.format_box(second, "To", "target", FORMAT_NAMES)
    cast_controls(
        page, [*through, target], has_opset=not any(map(is_described, (state.source, *state.between, state.target)))
    )
    named = page.compute_or_reset(lambda state: place(state.at, source), at="0x0")
    conversion, chain, options = compute(page.state, named.code)
    if chain is not None:
        names = chain_view.names_in_words(through)
        layout.show("pages/conversion/cast_chain", view=chain)
        if chain.picture is not None:
            detail = f"{source.name} {named.code:#x} through {names} to {target.name}"
            layout.save_picture(picture.cast_chain(chain, chart.is_dark()), "casts", detail)
        found = witness(state.source, (*state.between, state.target), options)
        if found:
            st.button(f"A number whose result {names} changes: {found}", on_click=page.set, kwargs={"at": found})
        else:
            st.caption(
                f"No number of {source.name} was found whose result {names} changes, among the values of "
                f"{target.name}, "
                "their midpoints, the edges of all formats, and what lies next to them."
            )
    bitcast = view.bitcasting(named.code, source, target, opset=page.state.opset)
    left, right = st.columns([3, 2] if chain is None else 2, gap="large")
    with left:
        if chain is None:
            st.header("Cast", anchor=False)
            show_steps(conversion, named.typed)
        else:
            st.header(f"Through {names}", anchor=False)
            for index, step in enumerate(chain.steps):
                st.subheader(f"Cast {index + 1}: {step.source.name} to {step.target.name}", anchor=False)
                show_steps(step, None if index else named.typed, f"cast {index + 1}")
        layout.open_in(page.state)
    with right:
        if chain is not None:
            st.header("Directly", anchor=False)
            st.subheader(f"One cast: {source.name} to {target.name}", anchor=False)
            show_steps(chain.direct, named.typed)
        st.header("BitCast", anchor=False)
        rule = layout.OPERATOR_PAGES["BitCast"]
        st.markdown(f"The same bits as another format of the same width. [BitCast's rule]({rule})")
        if bitcast.value is not None:
            layout.show("pages/conversion/bitcast", bitcast=bitcast)
        readings = view.bitcastings(named.code, source, opset=page.state.opset)
        if readings:
            st.caption(f"The same {source.bits} bits as the other formats of that width read them:")
            layout.show("pages/conversion/bitcast_readings", bitcasts=readings)
        if bitcast.value is None:
            layout.show("pages/conversion/bitcast", bitcast=bitcast)

    st.header("Packing", anchor="packing")
    st.markdown("Codes narrower than a byte share bytes in ONNX files: the first code takes the lowest bits.")
    left, right = st.columns([2, 5])
    page.format_box(left, "Format", "packed", PACKABLE_NAMES, packable_codes)
    right.text_input(
        "Codes or numbers", **page.bind("codes"), max_chars=1000, help="Up to 24, split by blanks or commas."
    )
    narrow = format_named(state.packed)
    codes = page.compute_or_reset(lambda state: packing_view.parse_codes(state.codes, narrow), codes=Conversion().codes)
    packing = packing_view.packing(codes, narrow)
    layout.show("pages/conversion/packed_bytes", packing=packing, sentence=packing_view.packing_sentence(packing))
    unused = f" The last {packing.unused_bits} bits belong to no code and are 0." if packing.unused_bits else ""
    size = f"{count_text(len(codes), 'code')} of {narrow.bits} bits in {count_text(len(packing.packed), 'byte')}"
    st.caption(f"{size}; below each bit the number of its code.{unused}")
    layout.save_picture(picture.packed_bytes(packing, chart.is_dark()), "packing", narrow.name)
    proof = evidence.evidence(conversion.value, target, options, source)
    layout.evidence_section([proof], lambda: [evidence.check(target, options, [source])])
    is_packing_asked = (state.packed, state.codes) != (Conversion().packed, Conversion().codes)
    snippets = code_snippets.of_conversion(
        conversion, options, bitcast, chain.steps if chain else (), packing if is_packing_asked else None
    )
    layout.copy_section(page, "conversion", *snippets)
