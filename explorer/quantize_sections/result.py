"""One setting: a tensor, quantized and dequantized; its errors, scales and elements."""

from __future__ import annotations

import numpy as np
import streamlit as st

from lowprec.spec.opset_rules import NEWEST
from lowprec.spec.round_modes import ROUND_MODES

from .. import charts, code_snippets, page_layout
from ..charts.quantization import code_counts, error_map
from ..controls import Controls
from ..format_names import format_named, is_described
from ..page_states import TARGET_NAMES, Quantize
from ..template_filters import decibels, number
from ..views import quantize as view
from ..views.tensor import Tensor

__all__ = ["show_section"]


def show_section(page: Controls[Quantize], tensor: Tensor) -> tuple[str, str]:
    """Draw the controls of a setting and what it gives; return the Python and ONNX code that repeat it."""
    state, rank = page.state, tensor.values.ndim

    fmt, scale_format = format_named(state.fmt), format_named(state.scale)
    one, two, three, four = st.columns([3, 3, 2, 3])
    page.format_box(one, "Format", "fmt", TARGET_NAMES)
    two.segmented_control("One scale for each", view.GRANULARITIES, required=True, **page.bind("per"))
    axes = [-1, *range(rank)]
    three.selectbox(
        "axis",
        axes if state.axis in axes else [*axes, state.axis],
        **page.bind("axis"),
        format_func=lambda axis: "-1 (the last)" if axis == -1 else str(axis),
        help="The axis along which slices or blocks lie.",
    )
    four.slider("Block size", 1, 256, **page.bind("block"), disabled=state.per != "block")
    five, six, seven, eight, nine = st.columns([3, 2, 2, 2, 2], vertical_alignment="bottom")
    five.selectbox("Format of the scales", [scale.name for scale in view.SCALE_FORMATS], **page.bind("scale"))
    if state.zero_point and fmt.is_integer and not scale_format.has_zero:  # else the rule of OCP MX
        six.selectbox("round_mode", ROUND_MODES, **page.bind("round_mode"), help="Rounds the scales to powers of two.")
    if not is_described(state.fmt):
        seven.selectbox("opset", range(NEWEST, 20, -1), **page.bind("opset"))
    eight.toggle("zero point", **page.bind("zero_point"), disabled=fmt.is_float, help="Integers only: uses both ends.")
    nine.toggle("saturate", **page.bind("saturate"), disabled=not fmt.is_float or fmt.saturates != "asked")

    def settings_of(state: Quantize) -> view.Settings:
        """Return the settings of a state."""
        return view.Settings(
            fmt=fmt,
            granularity=state.per,
            axis=state.axis,
            block_size=state.block,
            scale_format=scale_format,
            asymmetric=state.zero_point,
            round_mode=state.round_mode,
            saturate=state.saturate,
            opset=state.opset,
        )

    if state.per != "tensor":
        page.compute_or_reset(lambda state: view.axis_of(settings_of(state), rank), axis=-1)
    quantized = page.compute_or_reset(lambda state: view.quantize(tensor.values, settings_of(state)), opset=NEWEST)
    with st.container(horizontal=True):
        for name, text, help_ in (
            ("SQNR", decibels(quantized.sqnr_db), "10 log₁₀ of the power of x over that of the error."),
            ("largest |error|", number(quantized.max_abs_error), "Of finite elements."),
            ("saturated", f"{quantized.saturated:.2%}", "Elements that round beyond the range of the format."),
            ("became zero", f"{quantized.flushed:.2%}", "Elements in range, not zero, that become zero."),
            ("bits per value", f"{quantized.bits_per_value:.4g}", "With the scales and zero points."),
        ):
            st.metric(name, text, help=help_, width="content")
        if quantized.not_finite:
            st.metric("NaN or Inf", quantized.not_finite, help="In x or after dequantization; they have no error.")
    note = f"; {tensor.note}" if tensor.note else ""
    scales = "Each scale maps the largest |x| to the largest value of the format."
    if not scale_format.has_zero:
        scales = (
            "Each scale is a power of two, as `lowprec convert` chooses it by the rule of OCP MX: "
            "the exponent of the largest |x| less that of the largest value of the format."
        )
    if quantized.zero_point is not None:
        scales = "Each scale and zero point map the smallest and the largest x to the ends of the format."
    st.caption(f"x: {tensor.format.name} of shape {tensor.values.shape}{note}. {scales}")

    left, right = st.columns(2, gap="large")
    with left:
        st.header("Use of the codes", anchor=False)
        charts.show(code_counts(quantized), "How many elements have each code, in the order of the codes' values")
    with right:
        st.header("Errors", anchor=False)
        cells, down, across = view.tiles(quantized)
        charts.show(error_map(cells, down, across), "Size of the error of each element, by row and column")
        if not cells[~np.isnan(cells)].any():
            st.caption("No element has an error.")
        if down * across > 1:
            st.caption(f"Each cell is the largest error of {down} × {across} elements.")
    left, right = st.columns(2, gap="large")
    with left:
        st.header("Scales", anchor=False)
        page_layout.show("quantization_scales", settings=quantized.settings, slices=view.slices(quantized, 24))
        st.caption(f"{min(24, quantized.scale.size)} of {quantized.scale.size}")
    with right:
        st.header("Elements", anchor=False)
        page_layout.show("quantization_elements", fmt=fmt, elements=view.elements(quantized, 24))
        st.caption(f"{min(24, quantized.x.size)} of {quantized.x.size}")
    return code_snippets.of_quantization(page.state, tensor, quantized.settings)
