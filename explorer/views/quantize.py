"""Quantize: a tensor to codes and back, by QuantizeLinear, to blocks of OCP MX, or to NVFP4."""

from __future__ import annotations

from typing import Any

import numpy as np

import lowprec as lp
from lowprec import Format
from lowprec.loss import saturates
from lowprec.spec.formats import FLOAT4_E2M1FN, FLOAT64, INT8

from .quantized import Quantized, per_element
from .quantized_parts import Bar, Element, Slice, codebook, elements, slices, tiles
from .scales import (
    GRANULARITIES,
    LINEAR,
    MX,
    MX_FORMATS,
    NVFP4,
    SCALE_FORMATS,
    SCHEMES,
    TARGETS,
    Settings,
    axis_of,
    choose,
    mx_problem,
    mx_settings,
    nvfp4_settings,
    target_problem,
)

__all__ = [
    "GRANULARITIES",
    "LINEAR",
    "MX",
    "MX_FORMATS",
    "NVFP4",
    "SCALE_FORMATS",
    "SCHEMES",
    "TARGETS",
    "Bar",
    "Element",
    "Quantized",
    "Settings",
    "Slice",
    "axis_of",
    "choose",
    "codebook",
    "elements",
    "mx_problem",
    "mx_settings",
    "nvfp4_settings",
    "quantize",
    "slices",
    "target_problem",
    "tiles",
]

Array = np.ndarray[Any, Any]


def quantize(x: Array, settings: Settings) -> Quantized:
    """Quantize a tensor and dequantize it, by the library's own functions of the scheme.

    `x` is float32, float16 or bfloat16 of one dimension or more, with at least one element. ValueError where the
    opset lacks a type, the format is none of the scheme, or the axis or block size does not fit.
    """
    if settings.granularity == "block" and settings.block_size < 1:
        raise ValueError(f"`block_size` must be at least 1; got {settings.block_size}")
    return {LINEAR: _linear, MX: _mx, NVFP4: _nvfp4}[settings.scheme](x, settings)


def _codes(y: Array, fmt: Format) -> Array:
    return np.asarray(np.asarray(y).view(fmt.code_dtype) & fmt.code_mask)


def _exact(values: Array) -> Array:
    return np.asarray(lp.cast(np.asarray(values), FLOAT64))


def _linear(x: Array, settings: Settings) -> Quantized:
    fmt = settings.fmt
    scale, zero_point = choose(x, settings)
    axis = 0 if settings.granularity == "tensor" else axis_of(settings, x.ndim)
    place: dict[str, Any] = {"axis": axis, "block_size": settings.block, "opset": settings.opset}
    rules = settings.rounding_arguments
    beyond_onnx = {**rules, "saturate": True} if rules else {"saturate": settings.saturate}
    y = lp.quantize_linear(x, scale, zero_point, output_dtype=fmt, **place, **beyond_onnx)
    to = None if settings.scale_format.has_zero else x.dtype  # a power of two cannot be the type of the result
    source = fmt if fmt.onnx_enum is None else None  # no dtype says what its codes are
    dequantized = lp.dequantize_linear(y, scale, zero_point, source=source, output_dtype=to, **place)
    exact = _exact(scale)
    zeros = None if zero_point is None else np.asarray(lp.cast(zero_point, "int64"))
    element_scale = per_element(exact, settings, x.shape)
    offset = 0 if zeros is None else per_element(zeros, settings, x.shape)
    precision = settings.scale_format if settings.scale_format.has_zero else "float32"
    beyond = saturates(x, fmt, element_scale, offset, precision=precision, **rules)
    codes, scale_codes = _codes(y, fmt), _codes(scale, settings.scale_format)
    return Quantized(settings, _exact(x), codes, _exact(dequantized), exact, scale_codes, zeros, element_scale, beyond)


def _mx(x: Array, settings: Settings) -> Quantized:
    fmt = settings.fmt
    if problem := mx_problem(fmt):
        raise ValueError(f"`fmt` {problem}")
    place: dict[str, Any] = {"axis": axis_of(settings, x.ndim), "block_size": settings.block_size}
    rules = settings.rounding_arguments
    y, scale = lp.mx_quantize(x, fmt, scale_rule=settings.scale_rule, **place, **rules)
    source = fmt if fmt.onnx_enum is None else None
    dequantized = lp.mx_dequantize(y, scale, source=source, **place)
    exact = _exact(scale)
    element_scale = per_element(exact, settings, x.shape)
    if fmt == INT8:  # an integer is in units of its own
        unit = lp.mx_dequantize(np.ones(x.shape, np.int8), scale, **place)
        beyond = saturates(x, fmt, unit, precision=FLOAT64, symmetric=True, **rules)
    else:
        beyond = saturates(x, fmt, element_scale, precision=FLOAT64, **rules)
    codes, scale_codes = _codes(y, fmt), _codes(scale, settings.scale_format)
    return Quantized(settings, _exact(x), codes, _exact(dequantized), exact, scale_codes, None, element_scale, beyond)


def _nvfp4(x: Array, settings: Settings) -> Quantized:
    fmt = FLOAT4_E2M1FN
    place: dict[str, Any] = {"axis": axis_of(settings, x.ndim), "block_size": settings.block_size}
    rules = settings.rounding_arguments
    y, scale, global_scale = lp.nvfp4_quantize(x, **place, **rules)
    dequantized = lp.nvfp4_dequantize(y, scale, global_scale, **place)
    ones = lp.cast(np.ones(x.shape, np.float32), fmt)
    step = lp.nvfp4_dequantize(ones, scale, global_scale, **place)  # the product of both scales, in float32
    divisor = np.where(step == 0, np.inf, step)  # by the rule of NVFP4 an element over 0 is 0
    return Quantized(
        settings,
        _exact(x),
        _codes(y, fmt),
        _exact(dequantized),
        _exact(scale),
        _codes(scale, settings.scale_format),
        None,
        _exact(step),
        saturates(x, fmt, divisor, **rules),
        global_scale=float(global_scale),
    )
