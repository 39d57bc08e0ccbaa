"""The page Saturation: the tables of the Cast page, computed live."""

import streamlit as st

from lowprec.explorer import render, snippets
from lowprec.explorer.controls import Controls
from lowprec.explorer.state import OPSETS, Saturation
from lowprec.explorer.views import saturation as view

page = Controls(Saturation)
render.heading(
    "Saturation",
    "Choose an opset: what the kernels make of special and of too large values. Click a cell to open it in Anatomy.",
    "The tables of Cast",
)  # fmt: skip
st.segmented_control("Opset", OPSETS, required=True, **page.bind("opset"))
opset = page.state.opset
st.caption(f"A cell with a frame is not what opset {OPSETS[-1]} makes of it. ε: the next float64.")
for saturate in (True, False):
    st.header(f"saturate = {int(saturate)}", anchor=False)
    render.outcomes(view.floats(opset, saturate), f"Casts with saturate {int(saturate)}")
st.header("Formats that saturate does not concern", anchor=False)
render.outcomes(view.floats(opset, None), "Casts that saturate does not concern")

st.header("Power-of-two scales: round_mode and saturate", anchor=False)
powers = view.powers(opset)
if powers is None:
    st.info("Cast has them since opset 24.", icon=":material/info:")
else:
    render.outcomes(powers, "Power-of-two scales")

st.header("Integers and bool: truncated, then wrapped", anchor=False)
render.outcomes(view.integers(opset), "Integers")
render.take_along(page, "saturation", *snippets.of_opset(opset))
