"""The page Saturation: where each format ends and what a larger number becomes; the tables of Cast below."""

from __future__ import annotations

from typing import Any

import streamlit as st

from lowprec import Format
from lowprec.spec.rounding_modes import NAN_RULES

from ...shared import evidence, layout
from ...shared.browser.picture import picture
from ...shared.cast_controls import overflow_box
from ...shared.cast_options import BY_WIDTH, DETERMINISTIC
from ...shared.controls import Controls
from ...shared.format_names import HELP, format_named
from ...shared.page import FLOATS, OPSETS
from . import picture as drawings
from . import snippets, table_view, view
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
    layout.heading("Saturation", "Where each format ends, and what a larger number becomes.", "Cast")
    with layout.controls():
        st.toggle("saturate", **page.bind("saturate"))
        st.segmented_control("Opset", OPSETS, required=True, **page.bind("opset"))
        st.text_input("Drag the number, or type it", **page.bind("x"), max_chars=1000, width=310)
        with st.popover("+ format"):
            formats = _format_controls(page)
    others = _others(page.state, formats)
    ranges = page.compute_or_reset(
        lambda state: view.ranges(state.x, state.saturate, state.opset, others), x=Saturation().x
    )
    state = page.state
    landings = view.landings(state.saturate, state.opset, others, ranges.negative)
    options = f"saturate {int(state.saturate)}, opset {state.opset}"
    picture(
        drawings.wide(ranges, landings, options),
        drawings.narrow(ranges, landings, options),
        name="saturation", detail=f"{state.x} {options}", on_set=page.take, drag=drawings.drag(ranges, landings),
    )  # fmt: skip
    about = "0, −0, NaN, ±Inf, the last number that fits, the first beyond"
    with layout.more("The tables of Cast", about, key="tables") as section:
        if section.open:
            _tables(state, others)
    layout.evidence_section(
        lambda: evidence.of_overflow(state.opset), lambda: evidence.check_overflow(state.opset), "target"
    )
    layout.copy_section(page, "saturation", *snippets.of_opset(state.opset, others))


def _format_controls(page: Controls[Saturation]) -> tuple[Format, ...]:
    """Show the formats next to ONNX's and their rules; return these formats."""
    state = page.state
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
        st.selectbox("Rounding", DETERMINISTIC, **page.bind("rounding"), help="Of these formats alone.")
        overflow_box(page, formats)
        st.selectbox("NaN", NAN_RULES, **page.bind("nan"), help="What NaN becomes in these formats.")
        st.caption(
            "These formats follow three rules of lowprec.cast, which are not attributes of ONNX's Cast: "
            "neither the opset nor saturate concerns them."
        )
    return formats


def _others(state: Any, formats: tuple[Format, ...]) -> table_view.OtherColumns:
    """Return the formats next to ONNX's with the rules of a state."""
    overflow = None if state.overflow == BY_WIDTH else state.overflow
    return table_view.OtherColumns(formats, state.rounding, overflow, state.nan)


def _tables(state: Saturation, others: table_view.OtherColumns) -> None:
    """Show the tables of ONNX's Cast, computed live."""
    st.caption(
        "A cell is the code in hexadecimal and its value, and opens Anatomy. "
        f"A frame marks a result that differs at opset {OPSETS[-1]}. "
        "ε: to the next number of 53 bits, as float64 has them."
    )
    for saturate, sentence in SENTENCES.items():
        name = "Formats that saturate does not concern" if saturate is None else f"saturate = {int(saturate)}"
        _table(name, sentence, table_view.floats(state.opset, saturate, others), f"Casts: {name}")
    powers = table_view.powers(state.opset)
    name = "Power-of-two scales: round_mode and saturate"
    if powers is None:
        st.header(name, anchor=False)
        st.info("Cast has them since opset 24.", icon=":material/info:")
    else:
        sentence = (
            "float8_e8m0fnu has powers of two alone. round_mode decides between two of them, saturate beyond their "
            "ends; the sign of x is ignored."
        )
        _table(name, sentence, powers, "Power-of-two scales")
    sentence = (
        "The fraction is cut off and the lowest bits are kept: 200 becomes −56 as int8. NaN and Inf become 0 in "
        "integers. bool is 0 for 0 alone."
    )
    _table("Integers and bool: truncated, then wrapped", sentence, table_view.integers(state.opset), "Integers")


def _table(title: str, sentence: str, table: table_view.Table, label: str) -> None:
    st.header(title, anchor=False)
    st.caption(sentence)
    layout.show("pages/saturation/saturation_table", table=table, label=label)
