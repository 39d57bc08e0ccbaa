"""One setting: a tensor, quantized and dequantized; its errors, scales and elements."""

from __future__ import annotations

import numpy as np
import streamlit as st

from ...shared import chart, layout
from ...shared.controls import Controls
from ...shared.numbers import decibels, number
from . import settings, snippets, view
from .chart import code_counts, error_map
from .controls import show_setting
from .evidence import show_evidence
from .settings import scale_sentences
from .state import Quantize
from .tensor import Tensor

__all__ = ["show_section"]

_ROWS = 24


def show_section(page: Controls[Quantize], tensor: Tensor) -> tuple[str, str]:
    """Draw the controls of a setting and what it gives; return the Python and ONNX code that repeat it."""
    quantized = show_setting(page, tensor.values)
    _show_figures(quantized)
    note = f"; {tensor.note}" if tensor.note else ""
    about = f"x: {tensor.format.name} of shape {tensor.values.shape}{note}."
    st.caption(f"{about} {scale_sentences(quantized.settings)}")
    left, right = st.columns(2, gap="large")
    with left:
        st.header("Use of the codes", anchor=False)
        chart.show(code_counts(quantized), "How many elements have each code, in the order of the codes' values")
    with right:
        _show_errors(quantized)
    left, right = st.columns(2, gap="large")
    with left:
        st.header("Scales", anchor=False)
        layout.show(
            "pages/quantize/quantization_scales", settings=quantized.settings, slices=view.slices(quantized, _ROWS)
        )
        st.caption(f"{min(_ROWS, quantized.scale.size)} of {quantized.scale.size}")
    with right:
        st.header("Elements", anchor=False)
        rows = view.elements(quantized, _ROWS)
        layout.show("pages/quantize/quantization_elements", fmt=quantized.settings.fmt, elements=rows)
        st.caption(f"{min(_ROWS, quantized.x.size)} of {quantized.x.size}")
    show_evidence(tensor, quantized)
    return snippets.of_quantization(page.state, tensor, quantized.settings)


def _show_figures(quantized: view.Quantized) -> None:
    with st.container(horizontal=True):
        for name, text, help_ in (
            ("SQNR", decibels(quantized.sqnr_db), "10 log₁₀ of the power of x over that of the error."),
            ("largest |error|", number(quantized.max_abs_error), "Of finite elements."),
            ("saturated", f"{quantized.saturated:.2%}", "Elements that round beyond the range of the format."),
            ("became zero", f"{quantized.flushed:.2%}", "Elements in range, not zero, that become zero."),
            ("bits per value", f"{quantized.bits_per_value:.4g}", "With the scales, zero points and global scale."),
        ):
            st.metric(name, text, help=help_, width="content")
        if quantized.global_scale is not None:
            st.metric("global scale", number(quantized.global_scale), help="One float32 for all blocks.")
        if quantized.not_finite:
            help_ = "In x or after dequantization; they have no error."
            if quantized.settings.scheme != settings.LINEAR:
                help_ += " NaN or Inf in a block makes the whole block NaN."
            st.metric("NaN or Inf", quantized.not_finite, help=help_)


def _show_errors(quantized: view.Quantized) -> None:
    st.header("Errors", anchor=False)
    cells, down, across = view.tiles(quantized)
    chart.show(error_map(cells, down, across), "Size of the error of each element, by row and column")
    if not cells[~np.isnan(cells)].any():
        st.caption("No element has an error.")
    if down * across > 1:
        st.caption(f"Each cell is the largest error of {down} × {across} elements.")
