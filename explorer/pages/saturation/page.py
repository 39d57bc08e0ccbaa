"""The page Saturation: the tables of the Cast page, computed live, and formats that ONNX lacks next to them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from lowprec.spec.rounding_modes import NAN_RULES

from ...shared import evidence, layout
from ...shared.cast_controls import overflow_box
from ...shared.cast_options import BY_WIDTH, DETERMINISTIC
from ...shared.controls import Controls
from ...shared.format_names import HELP, format_named
from ...shared.page import FLOATS, OPSETS
from . import snippets, table_view
from .state import MOST_OTHERS, Saturation

__all__ = ["show"]
SENTENCES = {
    True: "With saturate = 1, a finite number beyond the range becomes the largest value. So does Inf, but before "
    "opset 24 it becomes NaN in the FNUZ formats.",
    False: "With saturate = 0, what lies beyond the range becomes Inf, or NaN in a format without Inf.",
    None: "Floats of 16 bits overflow to Inf. Formats with neither Inf nor NaN overflow to their largest value, and "
    "NaN becomes a zero of the opposite sign.",
}


def show(page: Controls[Saturation]) -> None:
    """Show the page."""
    layout.heading(
        "Saturation",
        "Choose an opset, and other formats next to ONNX's, to see how special and too large values are cast. "
        "Click a cell to open it in Anatomy.",
        "The tables of Cast",
    )
    st.segmented_control("Opset", OPSETS, required=True, **page.bind("opset"))
    state: Any = page.state  # its names are checked, and so of the literal types
    st.multiselect(
        "Formats next to ONNX's",
        dict.fromkeys(("tf32", "binary8p3se", "binary8p4se", "e4m3", *FLOATS, *state.fmts)),
        max_selections=MOST_OTHERS,
        **page.bind("fmts"),
        accept_new_options=True,
        placeholder="Choose up to four, or type a name",
        help=HELP,
    )
    formats = tuple(format_named(name) for name in state.fmts)
    if formats:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.selectbox("Rounding", DETERMINISTIC, **page.bind("rounding"), width=190, help="Of these formats alone.")
            overflow_box(page, formats)
            st.selectbox("NaN", NAN_RULES, **page.bind("nan"), width=140, help="What NaN becomes in these formats.")
        st.caption(
            "The last columns follow these three rules of lowprec.cast, which are not attributes of ONNX's Cast: "
            "neither the opset nor saturate concerns them."
        )
    overflow = None if state.overflow == BY_WIDTH else state.overflow
    others = table_view.OtherColumns(formats, state.rounding, overflow, state.nan)
    st.caption(
        "A cell is the code in hexadecimal and its value. "
        f"A frame marks a result that differs at opset {OPSETS[-1]}. ε: to the next number of 53 bits, as float64 has "
        f"them."
    )
    for saturate, sentence in SENTENCES.items():
        name = "Formats that saturate does not concern" if saturate is None else f"saturate = {int(saturate)}"
        st.header(name, anchor=False)
        st.caption(sentence)
        layout.show(
            "pages/saturation/saturation_table",
            table=table_view.floats(state.opset, saturate, others),
            label=f"Casts: {name}",
        )

    st.header("Power-of-two scales: round_mode and saturate", anchor=False)
    powers = table_view.powers(state.opset)
    if powers is None:
        st.info("Cast has them since opset 24.", icon=":material/info:")
    else:
        st.caption(
            "float8_e8m0fnu has powers of two alone. round_mode decides between two of them, saturate beyond their "
            "ends; "
            "the sign of x is ignored."
        )
        layout.show("pages/saturation/saturation_table", table=powers, label="Power-of-two scales")

    st.header("Integers and bool: truncated, then wrapped", anchor=False)
    st.caption(
        "The fraction is cut off and the lowest bits are kept: 200 becomes -56 as int8. NaN and Inf become 0 in "
        "integers. "
        "bool is 0 for 0 alone."
    )
    layout.show("pages/saturation/saturation_table", table=table_view.integers(state.opset), label="Integers")
    layout.evidence_section(evidence.of_overflow(state.opset), lambda: evidence.check_overflow(state.opset), "target")
    layout.copy_section(page, "saturation", *snippets.of_opset(state.opset, others))
