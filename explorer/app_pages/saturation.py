"""The page Saturation: the tables of the Cast page, computed live."""

import streamlit as st

from lowprec.explorer import code_snippets, page_layout
from lowprec.explorer.controls import Controls
from lowprec.explorer.page_states import OPSETS, Saturation
from lowprec.explorer.views import evidence
from lowprec.explorer.views import saturation as view

page = Controls(Saturation)
page_layout.heading(
    "Saturation",
    "Choose an opset to see how special and too large values are cast. Click a cell to open it in Anatomy.",
    "The tables of Cast",
)
st.segmented_control("Opset", OPSETS, required=True, **page.bind("opset"))
opset = page.state.opset
st.caption(f"A frame marks a result that differs at opset {OPSETS[-1]}. ε: the next float64.")
for saturate in (True, False):
    st.header(f"saturate = {int(saturate)}", anchor=False)
    table = view.floats(opset, saturate)
    page_layout.show("saturation_table", table=table, label=f"Casts with saturate {int(saturate)}")
st.header("Formats that saturate does not concern", anchor=False)
table = view.floats(opset, None)
page_layout.show("saturation_table", table=table, label="Casts that saturate does not concern")

st.header("Power-of-two scales: round_mode and saturate", anchor=False)
powers = view.powers(opset)
if powers is None:
    st.info("Cast has them since opset 24.", icon=":material/info:")
else:
    page_layout.show("saturation_table", table=powers, label="Power-of-two scales")

st.header("Integers and bool: truncated, then wrapped", anchor=False)
page_layout.show("saturation_table", table=view.integers(opset), label="Integers")
page_layout.evidence_section(evidence.of_overflow(opset), lambda: evidence.check_overflow(opset), "target")
page_layout.copy_section(page, "saturation", *code_snippets.of_opset(opset))
