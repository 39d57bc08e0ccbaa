"""The page Rounding: one real number, the interval it falls in, and which end wins."""

import streamlit as st

from lowprec import as_format
from lowprec.explorer import pictures, render, snippets
from lowprec.explorer.controls import Controls
from lowprec.explorer.state import FORMAT_NAMES, LINES, OPSETS, Rounding
from lowprec.explorer.views import numberline
from lowprec.explorer.views import rounding as view
from lowprec.reference.exact_cast import Value
from lowprec.spec.opsets import NEWEST

page = Controls(Rounding)
render.heading(
    "Rounding", "Type any real number, or take one of the examples: between which two values it falls, and which wins.",
    "The rule of Cast",
)  # fmt: skip
number, name, options = st.columns([3, 3, 4], vertical_alignment="bottom")
number.text_input("Number", **page.bind("x"), max_chars=1000, help="0.3, 17/23, 0x1.2p-2, 1e6, -0, inf, nan")
name.selectbox("Format", FORMAT_NAMES, **page.bind("fmt"))
with options.container(horizontal=True, vertical_alignment="bottom"):
    st.selectbox("Opset", OPSETS, width=90, **page.bind("opset"))
    st.toggle("saturate", **page.bind("saturate"))
fmt = as_format(page.state.fmt)
with st.container(horizontal=True, gap="xsmall"):
    for preset in view.presets(fmt):
        st.button(preset.label, key=f"preset {preset.label}", help=preset.x, on_click=page.set, kwargs={"x": preset.x})


def compute(state: Rounding) -> view.Rounding:
    """Return the view of a state."""
    return view.rounding(state.x, fmt, saturate=state.saturate, opset=state.opset)


page.settled(lambda state: Value.of(state.x, parameter="number"), x=Rounding().x)
found = page.settled(compute, opset=NEWEST)
state = page.state
why = found.explanation
render.result(why)
render.html(pictures.interval(found))

st.header("Every way to round", anchor=False)
render.table(("rounding", "value", "in ONNX", "code", "bits", "error"), render.mode_rows(found), "Every way to round")

if fmt.is_float:
    dark = render.is_dark()
    st.header("On the number line", anchor=False)
    st.segmented_control("Draw", LINES, required=True, **page.bind("line"))
    line = numberline.line(fmt, str(why.x), why.code, state.line)
    if not line.is_whole:
        st.caption("The values around x: the format has too many to show all.")
    st.altair_chart(pictures.number_line(line, state.line, dark), alt="The values of the format and x among them")
    st.header("How far apart neighbours are", anchor=False)
    st.altair_chart(pictures.steps(numberline.spacing(fmt), dark), alt="The distance between neighbours by magnitude")
render.take_along(page, "rounding", *snippets.of_number(str(why.x), fmt, state.saturate, state.opset))
