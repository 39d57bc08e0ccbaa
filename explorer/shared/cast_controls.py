"""The controls of a rounding: ONNX's Cast and its attributes, or a rounding and an overflow rule beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from lowprec import Format
from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import ROUND_MODES

from .cast_options import BY_WIDTH, ONNX, OVERFLOW_CHOICES, ROUNDING_CHOICES, CastOptions, cast_options, overflow_of
from .controls import Controls

__all__ = ["cast_controls", "options_of", "overflow_box", "rounding_box"]

_WIDTH = 190


def rounding_box(page: Controls[Any]) -> None:
    """Show the list of roundings."""
    st.selectbox(
        "Rounding",
        ROUNDING_CHOICES,
        **page.bind("rounding"),
        format_func=lambda name: "ONNX (Cast)" if name == ONNX else name,
        width=_WIDTH,
        help="Which neighbour a number becomes: by Cast's rule, or by the `rounding` of lowprec.cast.",
    )


def overflow_box(page: Controls[Any], formats: Sequence[Format]) -> None:
    """Show the list of overflow rules, if a target is a float; the default depends on its width."""
    usual = " or ".join(sorted({overflow_of(fmt, BY_WIDTH) for fmt in formats if fmt.is_float}))
    if not usual:
        return
    texts = {name: f"default: {usual}" if name == BY_WIDTH else name for name in OVERFLOW_CHOICES}
    st.selectbox(
        "Overflow",
        OVERFLOW_CHOICES,
        **page.bind("overflow", text=texts[page.state.overflow]),
        format_func=texts.__getitem__,
        width=_WIDTH + 40,
        help="What becomes of Inf, and of what rounds beyond the largest value: `overflow` of lowprec.cast.",
    )


def cast_controls(page: Controls[Any], targets: Sequence[Format], *, has_opset: bool = True) -> None:
    """Show the rounding and what goes with it: saturate, round_mode and opset with ONNX's, else the overflow rule.

    Formats that ONNX lacks have no opset.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        rounding_box(page)
        if page.state.rounding != ONNX:
            overflow_box(page, targets)
            return
        st.selectbox(
            "round_mode", ROUND_MODES, **page.bind("round_mode"), width=120, help="Concerns formats without zero alone."
        )
        if has_opset:
            st.selectbox("opset", range(NEWEST, 18, -1), **page.bind("opset"), width=90)
        st.toggle("saturate", **page.bind("saturate"), help="Up to 8 bits: too large numbers become the largest value.")


def options_of(state: Any) -> CastOptions:
    """Return the options of a conversion that a page's state means."""
    return cast_options(state.saturate, state.round_mode, state.opset, state.rounding, state.overflow)
