"""The page Cast & BitCast: one code cast to another format, step by step; its bitcasts; codes packed in bytes."""

from dataclasses import replace

import streamlit as st

from lowprec.explorer import charts, code_snippets, page_layout, pictures
from lowprec.explorer.controls import Controls
from lowprec.explorer.format_names import format_named, is_described
from lowprec.explorer.page_states import FORMAT_NAMES, PACKABLE_NAMES, Conversion
from lowprec.explorer.rounding_controls import cast_controls, options_of
from lowprec.explorer.views import conversion as view
from lowprec.explorer.views import evidence
from lowprec.explorer.views.anatomy import anatomy
from lowprec.explorer.views.cast_options import CastOptions
from lowprec.explorer.views.numbers import code_text, place
from lowprec.spec.opset_rules import NEWEST


def packable_codes(_: Conversion, new: Conversion) -> Conversion:
    """Keep the codes to pack if the new format has them, else take the default ones."""
    return replace(new, codes=view.codes_or_default(new.codes, format_named(new.packed), Conversion().codes))


page = Controls(Conversion)
page_layout.heading(
    "Cast & BitCast",
    "Choose two formats and a number. Cast keeps the value as far as it can; BitCast keeps the bits.",
    "Cast's rules",
)
state = page.state
first, number, second = st.columns([2, 3, 2])
page.format_box(first, "From", "source", FORMAT_NAMES)
help_ = "A code: 0x2A, 0b0101. A number: 0.3, 17/23, -inf"
number.text_input("Code or number", **page.bind("at"), max_chars=1000, help=help_)
page.format_box(second, "To", "target", FORMAT_NAMES)
source, target = format_named(state.source), format_named(state.target)
cast_controls(page, [target], has_opset=not (is_described(state.source) or is_described(state.target)))
named = page.compute_or_reset(lambda state: place(state.at, source), at="0x0")


def compute(state: Conversion) -> tuple[view.Conversion, CastOptions]:
    """Return the view of a state and the options of Cast; ValueError where the opset lacks a type."""
    options = options_of(state)
    return view.conversion(named.code, source, target, **options), options


conversion, options = page.compute_or_reset(compute, opset=NEWEST)
bitcast = view.bitcasting(named.code, source, target, opset=page.state.opset)
left, right = st.columns([3, 2], gap="large")
with left:
    st.header("Cast", anchor=False)
    page_layout.show(
        "cast_steps",
        conversion=conversion,
        typed=named.typed,
        anatomy=anatomy(code_text(named.code, source), source),
        loss=view.loss_text(conversion),
    )
    detail = f"{source.name} {named.code:#x} to {target.name}"
    page_layout.save_picture(pictures.cast_steps(conversion, charts.is_dark()), "cast", detail)
with right:
    st.header("BitCast", anchor=False)
    rule = page_layout.OPERATOR_PAGES["BitCast"]
    st.markdown(f"The same bits as another format of the same width. [BitCast's rule]({rule})")
    if bitcast.value is not None:
        page_layout.show("bitcast", bitcast=bitcast)
    readings = view.bitcastings(named.code, source, opset=page.state.opset)
    if readings:
        st.caption(f"The same {source.bits} bits as the other formats of that width read them:")
        page_layout.show("bitcast_readings", bitcasts=readings)
    if bitcast.value is None:
        page_layout.show("bitcast", bitcast=bitcast)

st.header("Packing", anchor=False)
st.markdown("Codes narrower than a byte share bytes in ONNX files: the first code takes the lowest bits.")
left, right = st.columns([2, 5])
page.format_box(left, "Format", "packed", PACKABLE_NAMES, packable_codes)
right.text_input("Codes or numbers", **page.bind("codes"), max_chars=1000, help="Up to 24, split by blanks or commas.")
narrow = format_named(state.packed)
codes = page.compute_or_reset(lambda state: view.parse_codes(state.codes, narrow), codes=Conversion().codes)
packing = view.packing(codes, narrow)
page_layout.show("packed_bytes", packing=packing)
unused = f" The last {packing.unused_bits} bits belong to no code and are 0." if packing.unused_bits else ""
size = f"{len(codes)} codes of {narrow.bits} bits in {len(packing.packed)} bytes"
st.caption(f"{size}; below each bit the number of its code.{unused}")
page_layout.save_picture(pictures.packed_bytes(packing, charts.is_dark()), "packing", narrow.name)
found = [evidence.evidence(conversion.value, target, options, source)]
page_layout.evidence_section(found, lambda: [evidence.check(target, options, [source])])
page_layout.copy_section(page, "conversion", *code_snippets.of_conversion(conversion, options, bitcast))
