"""Side by side: two to four settings on the tensor, which one loses least, and their errors by the size of x."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import streamlit as st

from ...shared import chart, layout
from ...shared.controls import Controls
from . import snippets
from .chart import errors_by_size
from .settings import MX, SUGGESTED, mx_problem, parse_settings, settings_text
from .side_by_side_view import Row, compare, measure, verdict
from .state import MOST_SIDE_BY_SIDE, Quantize
from .tensor import Tensor

__all__ = ["HELP", "show_section"]

_FULL = f"{MOST_SIDE_BY_SIDE} settings are the most: remove one to add it."

_REMEMBERED = 64
"""Rows, each for one setting on one tensor."""

HELP = (
    "A scheme or a format, then options. mxfp4, mxfp6_e2m3, mxfp6_e3m2, mxfp8_e4m3, mxfp8_e5m2, mxint8: rule=, block=. "
    "nvfp4: block=. A format such as int4 or float8_e4m3fn: per=tensor, per=axis or block=; scale=, zero_point=1. "
    "All: axis=, rounding=, seed=."
)


def show_section(page: Controls[Quantize], tensor: Tensor) -> tuple[str, str]:
    """Draw the settings, their table and their errors; return the Python code that repeats it."""
    _show_controls(page)
    digest = sha256(tensor.values.tobytes()).hexdigest()
    rows, problems = compare(
        tensor.values, page.state.compared, lambda x, text: _measured(text, digest, x.shape, str(x.dtype), x)
    )
    layout.show("pages/quantize/quantization_settings", rows=rows, problems=problems, verdict=verdict(rows))
    if not rows:
        return "", ""
    if any(row.not_finite for row in rows):
        st.caption("SQNR and errors are those of elements that are finite before and after.")
    st.header("Errors by the size of the element", anchor=False)
    chart.show(errors_by_size(rows), "The error of each setting, for elements from the smallest to the largest")
    st.caption("Each step is a group of equally many elements: the root of the mean of their squared errors.")
    chosen = {row.text: parse_settings(row.text) for row in rows}
    return snippets.of_comparison_of_settings(page.state, tensor, chosen)


@st.cache_data(max_entries=_REMEMBERED, show_spinner=False)
def _measured(text: str, digest: str, shape: tuple[int, ...], dtype: str, _x: Any) -> Row:
    return measure(_x, text)


def _show_controls(page: Controls[Quantize]) -> None:
    chosen = page.state.compared
    box, button = st.columns([5, 2], vertical_alignment="bottom")
    box.multiselect(
        "Settings",
        [*SUGGESTED, *(text for text in chosen if text not in SUGGESTED)],
        **page.bind("compared"),
        max_selections=MOST_SIDE_BY_SIDE,
        accept_new_options=True,
        help=HELP,
    )
    own = page.state.settings()
    if own.scheme == MX and mx_problem(own.fmt):
        return
    text, is_full = settings_text(own), len(chosen) == MOST_SIDE_BY_SIDE
    button.button(
        f"Add {text}",
        help=f"The setting of the section One setting. {_FULL if is_full else ''}",
        disabled=text in chosen or is_full,
        on_click=lambda: page.set(compared=(*chosen, text)),
    )
