"""The page Cast & BitCast: one code cast step by step, directly or through others; bitcasts; codes packed in bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from lowprec.reference.exact_cast import Value
from lowprec.spec.operator_versions import NEWEST

from ...shared import evidence, layout
from ...shared.browser.picture import picture as show_picture
from ...shared.cast_controls import cast_controls, options_of
from ...shared.cast_options import ONNX, CastOptions
from ...shared.codes import anatomy, losses_of
from ...shared.controls import Controls
from ...shared.format_names import format_named, is_described
from ...shared.numbers import code_text, place
from ...shared.page import FORMAT_NAMES
from . import chain_view, packing_view, picture, view
from . import snippets as code_snippets
from .state import BETWEEN_ROUNDINGS, NO_FORMAT, PACKABLE_NAMES, SAME, VIA_NAMES, Conversion

__all__ = ["show"]


def packable_codes(_: Conversion, new: Conversion) -> Conversion:
    """Keep the codes to pack if the new format has them, else take the default ones."""
    return replace(new, codes=packing_view.codes_or_default(new.codes, format_named(new.packed), Conversion().codes))


def without_gap(old: Conversion, new: Conversion) -> Conversion:
    """Keep the formats between in order; ONNX's newest opset stands for none where it lacks one of them."""
    via, then = (*new.between, NO_FORMAT, NO_FORMAT)[:2]
    new = replace(new, via=via, then=then)
    if old.via != NO_FORMAT and new.via == old.then != NO_FORMAT:
        new = replace(new, via_rounding=old.then_rounding, then_rounding=SAME)
    return replace(new, opset=NEWEST) if any(map(is_described, new.between)) else new


_TWICE: dict[str, Any] = {"source": "float64", "at": "1.0039063", "via": "float32", "target": "bfloat16"}
_NONE: dict[str, Any] = {"then": NO_FORMAT, "then_rounding": SAME, "via_rounding": SAME, "rounding": ONNX}
PRESETS: dict[str, dict[str, Any]] = {
    "Rounded twice": {**_NONE, **_TWICE},
    "What to-odd prevents": {**_NONE, **_TWICE, "via_rounding": "to_odd"},
    "Too large on the way": {**_NONE, "source": "float32", "at": "1e6", "via": "float16", "target": "bfloat16"},
    "0.1 through bfloat16 to e5m2": {
        **_NONE,
        "source": "float32",
        "at": "0.1",
        "via": "bfloat16",
        "target": "float8_e5m2",
    },
    "One cast": {**_NONE, "source": "float32", "at": "0.3", "via": NO_FORMAT, "target": "float8_e4m3fn"},
}
"""Examples: what each sets."""


def options_between(state: Conversion) -> list[CastOptions]:
    """Return the options of each cast to a format between."""
    return [options_of(state if name == SAME else replace(state, rounding=name)) for name in state.between_roundings]


@st.cache_data(max_entries=64, show_spinner=False)
def witness(source: str, formats: tuple[str, ...], between: list[CastOptions], options: CastOptions) -> str:
    """Return a number whose result a chain changes, or nothing."""
    rows = [format_named(name) for name in formats]
    found: str = chain_view.witness_text(format_named(source), rows, between=between, **options)
    return found


def show_steps(cast: view.Conversion, typed: Value | None = None, name: str = "cast") -> None:
    """Show the steps of one Cast, what it lost, and its picture, by a name."""
    text, loss = code_text(cast.code, cast.source), view.loss_text(cast)
    layout.show(
        "pages/conversion/cast_steps", conversion=cast, typed=typed, anatomy=anatomy(text, cast.source), loss=loss
    )
    layout.show("loss_sentence", losses=losses_of(cast.explanation))
    detail = f"{cast.source.name} {cast.code:#x} to {cast.target.name}"
    drawings = (picture.cast_steps(cast, wide=wide) for wide in (True, False))
    show_picture(*drawings, name=name, detail=detail)


def show(page: Controls[Conversion]) -> None:
    """Show the page."""
    layout.heading("Cast & BitCast", "Cast keeps the value as far as it can; BitCast keeps the bits.", "Cast's rules")
    source, target = format_named(page.state.source), format_named(page.state.target)
    through = [format_named(name) for name in page.state.between]

    def compute(state: Conversion, code: int) -> tuple[view.Conversion, chain_view.Chain | None, CastOptions]:
        """Return the views of a state with a code, and the options of Cast; ValueError where the opset lacks a type."""
        options = options_of(state)
        formats, between = [*through, target], options_between(state)
        chain = chain_view.chain_of(code, source, formats, between=between, **options) if through else None
        return view.conversion(code, source, target, **options), chain, options

    page.compute_or_reset(lambda state: compute(state, 0), opset=NEWEST)
    state = page.state
    with layout.controls():
        page.format_box(st.container(width=150), "From", "source", FORMAT_NAMES)
        help_ = "A code: 0x2A, 0b0101. A number: 0.3, 17/23, -inf"
        st.text_input("Code or number", **page.bind("at"), max_chars=1000, help=help_, width=150)
        for label, field in (("Through", "via"), ("then through", "then"))[: 1 + bool(state.between)]:
            page.format_box(st.container(width=150), label, field, VIA_NAMES, without_gap)
        page.format_box(st.container(width=170), "To", "target", FORMAT_NAMES)
        with st.popover("examples", width="content"):
            for label, changes in PRESETS.items():
                st.button(label, key=f"preset {label}", on_click=page.set, kwargs=changes)
    named = page.compute_or_reset(lambda state: place(state.at, source), at="0x0")
    conversion, chain, options = compute(page.state, named.code)
    _picture(page, conversion, chain)
    if chain is not None:
        names = chain_view.names_in_words(through)
        layout.show("pages/conversion/cast_chain", view=chain)
        found = witness(state.source, (*state.between, state.target), options_between(state), options)
        if found:
            st.button(f"A number whose result {names} changes: {found}", on_click=page.set, kwargs={"at": found})
        else:
            st.caption(
                f"No number of {source.name} was found whose result {names} changes, among the values of "
                f"{target.name}, their midpoints, the edges of all formats, and what lies next to them."
            )
    with layout.more("Roundings and options", "a rounding for each cast, overflow, saturate, opset"):
        if through:
            with st.container(horizontal=True):
                for fmt, field in zip(through, ("via_rounding", "then_rounding"), strict=False):
                    st.selectbox(
                        f"Rounding to {fmt.name}", BETWEEN_ROUNDINGS, **page.bind(field), width=230,
                        format_func=lambda name: "the last cast's" if name == SAME else picture.rounding_words(name),
                    )  # fmt: skip
        has_opset = not any(map(is_described, (state.source, *state.between, state.target)))
        cast_controls(page, [*through, target], has_opset=has_opset)
    bitcast = view.bitcasting(named.code, source, target, opset=page.state.opset)
    with layout.more("Each cast step by step", "the code, its neighbours, the rule that decides"):
        if chain is None:
            show_steps(conversion, named.typed)
        else:
            for index, step in enumerate(chain.steps):
                st.header(f"Cast {index + 1}: {step.source.name} to {step.target.name}", anchor=False)
                show_steps(step, None if index else named.typed, f"cast {index + 1}")
            st.header(f"One cast: {source.name} to {target.name}", anchor=False)
            show_steps(chain.direct, named.typed)
        layout.open_in(page.state)
    with layout.more("BitCast", "the same bits as another format of the same width"):
        st.markdown(f"[BitCast's rule]({layout.OPERATOR_PAGES['BitCast']})")
        if bitcast.value is not None:
            layout.show("pages/conversion/bitcast", bitcast=bitcast)
        if readings := view.bitcastings(named.code, source, opset=page.state.opset):
            st.caption(f"The same {source.bits} bits as the other formats of that width read them:")
            layout.show("pages/conversion/bitcast_readings", bitcasts=readings)
        if bitcast.value is None:
            layout.show("pages/conversion/bitcast", bitcast=bitcast)

    st.header("Packing", anchor="packing")
    st.caption("Codes narrower than a byte share bytes in ONNX files.")
    left, right = st.columns([2, 5])
    page.format_box(left, "Format", "packed", PACKABLE_NAMES, packable_codes)
    right.text_input(
        "Codes or numbers", **page.bind("codes"), max_chars=1000, help="Up to 24, split by blanks or commas."
    )
    narrow = format_named(state.packed)
    codes = page.compute_or_reset(lambda state: packing_view.parse_codes(state.codes, narrow), codes=Conversion().codes)
    packing = packing_view.packing(codes, narrow)
    drawings = (picture.packed_bytes(packing, wide=wide) for wide in (True, False))
    show_picture(*drawings, name="packing", detail=narrow.name)
    unused = f" The last {packing.unused_bits} bits belong to no code and are 0." if packing.unused_bits else ""
    st.caption(f"{packing_view.packing_sentence(packing)} Below the bits stands the number of their code.{unused}")
    layout.evidence_section(
        lambda: [evidence.evidence(conversion.value, target, options, source)],
        lambda: [evidence.check(target, options, [source])],
    )
    is_packing_asked = (state.packed, state.codes) != (Conversion().packed, Conversion().codes)
    snippets = code_snippets.of_conversion(
        conversion,
        options,
        bitcast,
        chain.steps if chain else (),
        packing if is_packing_asked else None,
        options_between(page.state),
    )
    layout.copy_section(page, "conversion", *snippets)


def _picture(page: Controls[Conversion], conversion: view.Conversion, chain: chain_view.Chain | None) -> None:
    """Show each way to the last format; a click on one chooses how the casts between round."""
    state = page.state
    routes, drawn = [chain_view.direct_route(conversion)], chain_view.one_cast(conversion)
    sentence = f"{conversion.source.name} to {conversion.target.name}: {conversion.rule}"
    if chain is not None:
        drawn, sentence, chosen = chain.picture, chain.sentence, state.between_roundings
        for name in (SAME, "to_odd"):
            asked = replace(state, via_rounding=name, then_rounding=name)
            found = chain_view.chain_of(
                conversion.code, conversion.source, [step.target for step in chain.steps],
                between=options_between(asked), **options_of(state),
            )  # fmt: skip
            is_chosen = chosen == (name,) * len(chosen)
            words = picture.rounding_words(state.rounding if name == SAME else name)
            routes.append(chain_view.route(found, words, name, is_chosen=is_chosen))
        if not any(one.is_chosen for one in routes):
            words = ", then ".join(picture.rounding_words(state.rounding if name == SAME else name) for name in chosen)
            routes.append(chain_view.route(chain, words, "", is_chosen=True))
    start = conversion.source, conversion.code, conversion.value
    wide, narrow = (picture.chain_rows(start, routes, drawn, sentence, wide=wide) for wide in (True, False))
    names = " to ".join(fmt.name for fmt, *_ in routes[-1].stops)
    detail = f"{conversion.source.name} {conversion.code:#x} to {names}"

    def choose(_: str, rounding: str) -> None:
        """Let all casts between round in one way."""
        if rounding in BETWEEN_ROUNDINGS:
            page.set(via_rounding=rounding, then_rounding=rounding if len(state.between) > 1 else SAME)

    show_picture(wide, narrow, name="casts", detail=detail, on_set=choose)
