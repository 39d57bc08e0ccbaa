"""The page Cast & BitCast: one code of one format becomes another's, step by step; and codes packed in bytes."""

from dataclasses import replace

import streamlit as st

from lowprec import as_format
from lowprec.explorer import drawings, recipes, render
from lowprec.explorer.controls import Controls
from lowprec.explorer.state import FORMAT_NAMES, Conversion
from lowprec.explorer.views import conversion as view
from lowprec.explorer.views.numbers import place
from lowprec.spec.opsets import NEWEST
from lowprec.spec.rounding import ROUND_MODES


def keep_codes(_: Conversion, new: Conversion) -> Conversion:
    """Keep the codes to pack where the format has them."""
    return replace(new, codes=view.fitting(new.codes, as_format(new.packed), Conversion().codes))


page = Controls(Conversion)
render.html(f"<style>{drawings.STYLE}</style>")
render.heading(
    "Cast & BitCast", "Choose two formats and a number: Cast keeps the value, step by step; BitCast keeps the bits.",
    "Cast's rules", "Cast",
)  # fmt: skip
state = page.state
first, number, second = st.columns([2, 3, 2])
first.selectbox("From", FORMAT_NAMES, **page.bind("source"))
number.text_input("Code or number", **page.bind("at"), max_chars=1000,
                  help="A code: 0x2A, 0b0101. A number: 0.3, 17/23, -inf")  # fmt: skip
second.selectbox("To", FORMAT_NAMES, **page.bind("target"))
one, two, three = st.columns(3, vertical_alignment="bottom")
one.toggle("saturate", **page.bind("saturate"), help="What float8 makes of too large numbers: the largest value?")
two.selectbox("round_mode", ROUND_MODES, **page.bind("round_mode"), help="Concerns powers of two alone (e8m0).")
three.selectbox("opset", range(NEWEST, 18, -1), **page.bind("opset"))

source, target = as_format(state.source), as_format(state.target)
named = page.settled(lambda state: place(state.at, source), at="0x0")


def compute(state: Conversion) -> tuple[view.Conversion, view.CastOptions]:
    """Return the view of a state and the options of Cast; ValueError where the opset lacks a type."""
    options = view.cast_options(state.saturate, state.round_mode, state.opset)
    return view.conversion(named.code, source, target, **options), options


found, options = page.settled(compute, opset=NEWEST)
read = view.bitcasting(named.code, source, target, opset=page.state.opset)
cast, bitcast = st.columns([3, 2], gap="large")
with cast:
    st.header("Cast", anchor=False)
    render.html(drawings.cast(found, named.typed))
with bitcast:
    st.header("BitCast", anchor=False)
    st.markdown(f"The same bits as another format of the same width. [BitCast's rule]({render.RULES['BitCast']})")
    if read.value is not None:
        render.html(drawings.bitcast(read))
    readings = view.bitcastings(named.code, source, opset=page.state.opset)
    if readings:
        st.caption(f"The same {source.bits} bits as the other formats of that width read them:")
        render.html(drawings.readings(readings))
    if read.value is None:
        render.html(drawings.bitcast(read))

st.header("Packing", anchor=False)
st.markdown("Codes narrower than a byte share bytes in ONNX files: the first code takes the lowest bits.")
left, right = st.columns([2, 5])
left.selectbox("Format", [fmt.name for fmt in view.PACKABLE], **page.bind("packed", keep_codes))
right.text_input("Codes or numbers", **page.bind("codes"), max_chars=1000, help="Up to 24, split by blanks or commas.")
narrow = as_format(state.packed)
codes = page.settled(lambda state: view.parse_codes(state.codes, narrow), codes=Conversion().codes)
bytes_ = view.packing(codes, narrow)
render.html(drawings.listed(bytes_) + drawings.packed(bytes_))
unused = f" The last {bytes_.unused_bits} bits belong to no code and are 0." if bytes_.unused_bits else ""
size = f"{len(codes)} codes of {narrow.bits} bits in {len(bytes_.packed)} bytes"
st.caption(f"{size}; below each bit the number of its code.{unused}")
render.take_along(page, "conversion", *recipes.of_conversion(found, options, read))
