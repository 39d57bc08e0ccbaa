"""The controls of Quantize that choose one setting: the scheme, and what the scheme leaves open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import ROUND_MODES, ROUNDINGS, STOCHASTIC
from lowprec.spec.scale_rules import SCALE_RULES

from .controls import Controls
from .format_names import format_named, is_described
from .page_states import SCHEMES, TARGET_NAMES, Quantize
from .views.quantize import Quantized, quantize
from .views.scales import GRANULARITIES, LINEAR, MX, MX_FORMATS, NVFP4, SCALE_FORMATS, axis_of, mx_problem

__all__ = ["show_setting"]

_LABELS = {LINEAR: "ONNX QuantizeLinear", MX: "OCP MX", NVFP4: "NVFP4"}
_WIDTH = 190


def show_setting(page: Controls[Quantize], values: np.ndarray[Any, Any]) -> Quantized:
    """Show the controls of the chosen scheme and return what it makes of a tensor; the page's state is the setting."""
    page.compute_or_reset(_check_element, fmt=Quantize().fmt)
    if page.state.settings().granularity != "tensor":
        page.compute_or_reset(lambda state: axis_of(state.settings(), values.ndim), axis=-1)
    quantized = page.compute_or_reset(lambda state: quantize(values, state.settings()), opset=NEWEST)
    st.segmented_control(
        "Scheme", SCHEMES, required=True, **page.bind("scheme", _with_a_format), format_func=lambda name: _LABELS[name]
    )
    {LINEAR: _linear, MX: _mx, NVFP4: _nvfp4}[page.state.scheme](page, values.ndim)
    return quantized


def _check_element(state: Quantize) -> None:
    if state.scheme == MX and (problem := mx_problem(format_named(state.fmt))):
        raise ValueError(f"`fmt` {problem}")


def _with_a_format(_: Quantize, new: Quantize) -> Quantize:
    """Return a state whose format its scheme has."""
    is_wrong = new.scheme == MX and mx_problem(format_named(new.fmt))
    return replace(new, fmt=Quantize().fmt) if is_wrong else new


def _at_the_newest_opset(_: Quantize, new: Quantize) -> Quantize:
    """Return a state for a rounding: that of ONNX alone has opsets and `saturate`."""
    return new if new.rounding == ROUNDINGS[0] else replace(new, opset=NEWEST, saturate=True)


def _linear(page: Controls[Quantize], rank: int) -> None:
    state = page.state
    fmt, settings = format_named(state.fmt), state.settings()
    one, two, three, four = st.columns([3, 3, 2, 3])
    page.format_box(one, "Format", "fmt", TARGET_NAMES)
    two.segmented_control("One scale for each", GRANULARITIES, required=True, **page.bind("per"))
    if state.per != "tensor":
        _axis_box(page, three, rank)
    if state.per == "block":
        four.slider("Block size", 1, 256, **page.bind("block"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = [scale.name for scale in SCALE_FORMATS]
        st.selectbox("Format of the scales", names, **page.bind("scale"), width=_WIDTH)
        if settings.has_scale_rule:
            _rule_box(page)
        if settings.has_zero_point and not settings.scale_format.has_zero:
            help_ = "Rounds the scales to powers of two."
            st.selectbox("round_mode", ROUND_MODES, **page.bind("round_mode"), width=120, help=help_)
        if settings.takes_rounding:
            _rounding_boxes(page)
        if not is_described(state.fmt) and not settings.rounding_arguments:
            st.selectbox("opset", range(NEWEST, 20, -1), **page.bind("opset"), width=90)
        if fmt.is_integer:
            st.toggle("zero point", **page.bind("zero_point"), help="Uses both ends of the format.")
        if fmt.is_float and fmt.saturates == "asked" and not settings.rounding_arguments:
            st.toggle("saturate", **page.bind("saturate"), help="Too large numbers become the largest value.")


def _mx(page: Controls[Quantize], rank: int) -> None:
    one, two, three = st.columns([3, 2, 4])
    page.format_box(one, "Format", "fmt", [fmt.name for fmt in MX_FORMATS])
    _axis_box(page, two, rank)
    three.slider("Block size", 1, 256, **page.bind("block"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _rule_box(page)
        _rounding_boxes(page)


def _nvfp4(page: Controls[Quantize], rank: int) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _axis_box(page, st, rank, width=_WIDTH)
        _rounding_boxes(page)


def _axis_box(page: Controls[Quantize], place: Any, rank: int, **layout: Any) -> None:
    axes, chosen = [-1, *range(rank)], page.state.axis
    place.selectbox(
        "axis",
        axes if chosen in axes else [*axes, chosen],
        **page.bind("axis"),
        format_func=lambda axis: "-1 (the last)" if axis == -1 else str(axis),
        help="The axis along which slices or blocks lie.",
        **layout,
    )


def _rule_box(page: Controls[Quantize]) -> None:
    help_ = "How the largest |x| of a block becomes its scale, a power of two."
    st.selectbox("Scale rule", SCALE_RULES, **page.bind("scale_rule"), width=_WIDTH, help=help_)


def _rounding_boxes(page: Controls[Quantize]) -> None:
    help_ = "Which neighbour an element over its scale becomes."
    box = page.bind("rounding", _at_the_newest_opset)
    st.selectbox("Rounding", ROUNDINGS, **box, width=_WIDTH, help=help_)
    if page.state.rounding in STOCHASTIC:
        help_ = "The same seed gives the same random numbers."
        st.number_input("Seed of the rounding", 0, 9999, step=1, **page.bind("rounding_seed"), width=_WIDTH, help=help_)
