"""Scales from values: `absmax_scale` and `minmax_scale`, and the rules for scales that are powers of two."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..arrays.array_memory import to_host, to_library
from ..arrays.libraries import Array, call_back, is_dask, is_traced, namespace
from ..arrays.storage_dtypes import format_of, storage_dtype
from ..arrays.torch_tensors import dispatched, eager, transformed
from ..backends.largest_magnitudes import find_range
from ..backends.prepared_calls import ABSMAX, MINMAX, remember, run_known, scale_call
from ..plans.quantize_plan import absmax_formats, minmax_format
from ..plans.scale_shapes import Groups, scale_groups
from ..spec.formats import FLOAT32, Format
from ..spec.scale_rules import (
    SCALE_RULES,
    ScaleRuleName,
    power_codes,
    range_formula,
    range_scales,
    symmetric_formula,
    symmetric_scales,
)
from .encode_pack import encode

__all__ = ["SCALE_RULES", "absmax_scale", "largest_magnitudes", "minmax_scale", "scale_codes"]

_SINGLE = FLOAT32
_CHUNK = 1 << 16
_Rule = Callable[..., "np.ndarray[Any, Any]"]


def largest_magnitudes(
    x: np.ndarray[Any, Any],
    *,
    axis: int | Sequence[int] | None = None,
    block_size: int | Sequence[int] = 0,
    source: object = None,
) -> np.ndarray[Any, Any]:
    """Return the largest finite magnitudes of what shares a scale, in float64; 0 where none is finite.

    For who sees an array chunk by chunk: `np.maximum` merges those of chunks, and `scale_codes` makes of them what
    `absmax_scale` makes of the whole.

    Parameters
    ----------
    x : numpy.ndarray
        As `absmax_scale` takes it, or codes of `source`.
    axis, block_size
        As in `absmax_scale`.
    source : str, int, dtype or Format, optional
        The format of `x` where its dtype only carries the codes.
    """
    (found,) = find_range(x, format_of(x.dtype, source), scale_groups(x.ndim, axis, block_size))
    return np.asarray(found)


def scale_codes(largest: Any, to: Format, fmt: Format, rule: str = "floor") -> np.ndarray[Any, Any]:
    """Return the codes of the scales that take the largest magnitudes, float64, to the largest value of a format.

    `absmax_scale` says what these are. Many are computed in chunks: what lies between stays in a core's cache.
    """
    largest = np.asarray(largest)
    if largest.size > _CHUNK:
        flat, codes = largest.reshape(-1), np.empty(largest.size, fmt.code_dtype)
        for start in range(0, flat.size, _CHUNK):
            codes[start : start + _CHUNK] = scale_codes(flat[start : start + _CHUNK], to, fmt, rule)
        return codes.reshape(largest.shape)
    if not fmt.has_zero:
        return power_codes(largest, to, fmt, rule)
    return np.asarray(encode(symmetric_scales(largest, to, fmt), fmt))


@eager
def absmax_scale(
    x: Array,
    to: object,
    *,
    axis: int | Sequence[int] | None = None,
    block_size: int | Sequence[int] = 0,
    scale_format: object = "float32",
    scale_rule: ScaleRuleName | None = None,
) -> Array:
    """Return the scales that take the largest magnitudes to the largest value of a format; for `quantize_linear`.

    The scale is the largest finite magnitude of the elements that share it, over the largest value of `to`: computed in
    float64, rounded once to `scale_format` and kept between its smallest and its largest positive value. NaN and Inf
    are left out. Where no element is finite and not zero the scale is 1; code 00 of float8_e8m0fnu. -0 is 0.

    Parameters
    ----------
    x : array
        Integers or floats of any format, any shape and strides.
    to : str, int, dtype or Format
        The format that `x` will be quantized to: a signed one.
    axis : int or two ints, optional
        None: one scale. An axis: a scale for each of its indices, or with `block_size` for each block along it. Two
        axes: a scale for each tile of two block sizes.
    block_size : int or two ints
        Elements along each axis that share a scale, the last of which may be fewer; 0 for whole slices.
    scale_format : str, int, dtype or Format
        float32, float16, bfloat16 or float8_e8m0fnu.
    scale_rule : {"floor", "ceil", "rceil", "even", "nearest"}, optional
        For float8_e8m0fnu; None is ``"floor"``. With the largest magnitude a and the largest value M = 2**emax * m of
        `to`, the exponent is floor(log2 a) - emax, ceil(log2 a) - emax, the least E with a <= M * 2**E,
        floor(log2 a') - emax with a' rounded to the mantissa of `to`, ties away, or floor(log2 a + 1/2) - emax.

    Returns
    -------
    array
        The scales, in the library and on the device of `x`, in the storage dtype of `scale_format`: 0-d, 1-D, or of
        the shape of `x` with the axes divided by the block sizes and rounded up.

    Raises
    ------
    TypeError
        If `x` is no array, or holds what is no number.
    ValueError
        If `to` is unsigned, or a parameter is out of its range.

    Notes
    -----
    Source: OCP Microscaling Formats (MX) 1.0, section 6.3, for ``"floor"``; docs/blocks.md for the others.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> x = np.array([[0.5, -1.5, 3.0, 6.5], [100.0, -30.0, np.inf, 0.0]], np.float32)
    >>> scale = lp.absmax_scale(x, "int8", axis=0)
    >>> lp.quantize_linear(x, scale, axis=0, output_dtype="int8").tolist()
    [[10, -29, 59, 127], [127, -38, 127, 0]]
    >>> lp.absmax_scale(x, "float4_e2m1fn", axis=1, block_size=2, scale_format="float8_e8m0fnu").tolist()
    [[0.25, 1.0], [16.0, 5.877471754111438e-39]]
    """
    given, in_numpy = (to, axis, block_size, scale_format, scale_rule), type(x) is np.ndarray
    if (in_numpy or not transformed()) and (known := run_known(ABSMAX, x, given)) is not None:
        return known[0]
    if not in_numpy and dispatched(x):
        from .. import torch_ops

        how = {"scale_format": scale_format, "scale_rule": scale_rule}
        return torch_ops.absmax_scale(x, to, axis=axis, block_size=block_size, **how)
    namespace(x)
    target, fmt = absmax_formats(to, scale_format, scale_rule)
    named = "floor" if scale_rule is None else scale_rule
    held, groups = format_of(x.dtype), scale_groups(x.ndim, axis, block_size)
    (scale,) = _found(x, held, groups, {partial(scale_codes, to=target, fmt=fmt, rule=named): fmt})
    formula = symmetric_formula(target, fmt, named)
    remember(ABSMAX, x, given, partial(scale_call, x, held, groups, formula, (fmt,)))
    return scale


@eager
def minmax_scale(
    x: Array, to: object, *, axis: int | Sequence[int] | None = None, block_size: int | Sequence[int] = 0
) -> tuple[Array, Array]:
    """Return the scales and zero points that take ranges to the range of an integer format; for `quantize_linear`.

    As DynamicQuantizeLinear computes them, with the range of `to`: the range of the finite elements is widened to hold
    0, ``scale = (max - min) / (qmax - qmin)``, ``zero_point = round(qmin - min / scale)``, clamped; in float32. NaN and
    Inf are left out, -0 is 0. Where no element is finite and not zero, and where the scale rounds to 0, they are 1 and
    0. A range beyond float32 gives the largest float32.

    Parameters
    ----------
    x : array
        Integers or floats of any format, any shape and strides; rounded to float32.
    to : str, int, dtype or Format
        The integer format of 2 to 16 bits that `x` will be quantized to.
    axis, block_size
        As in `absmax_scale`.

    Returns
    -------
    scale, zero_point : array
        float32 and `to`, in the library and on the device of `x`; shaped as `absmax_scale` shapes them.

    Raises
    ------
    TypeError
        If `x` is no array, or holds what is no number.
    ValueError
        If a parameter is out of its range.

    Notes
    -----
    Source: ONNX DynamicQuantizeLinear, version 11.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> x = np.array([-1.0, 0.0, 1.55, np.nan], np.float32)
    >>> scale, zero_point = lp.minmax_scale(x, "uint8")
    >>> scale.item(), zero_point.item()
    (0.009999999776482582, 100)
    >>> lp.quantize_linear(x[:3], scale, zero_point).tolist()
    [0, 100, 255]
    """
    given, in_numpy = (to, axis, block_size), type(x) is np.ndarray
    if (in_numpy or not transformed()) and (known := run_known(MINMAX, x, given)) is not None:
        return known[0], known[1]
    if not in_numpy and dispatched(x):
        from .. import torch_ops

        return torch_ops.minmax_scale(x, to, axis=axis, block_size=block_size)
    namespace(x)
    target = minmax_format(to)
    rules: dict[_Rule, Format] = {partial(_range_scale, to=target): _SINGLE, partial(_range_zero, to=target): target}
    held, groups = format_of(x.dtype), scale_groups(x.ndim, axis, block_size)
    scale, zero = _found(x, held, groups, rules, both=True)
    remember(MINMAX, x, given, partial(scale_call, x, held, groups, range_formula(target), (_SINGLE, target)))
    return scale, zero


def _range_scale(low: Any, high: Any, *, to: Format) -> np.ndarray[Any, Any]:
    return range_scales(low, high, to)[0].view(np.uint32)


def _range_zero(low: Any, high: Any, *, to: Format) -> np.ndarray[Any, Any]:
    return np.asarray((range_scales(low, high, to)[1] & to.code_mask).astype(to.code_dtype))


def _carried(codes: np.ndarray[Any, Any], fmt: Format, dtype: Any) -> np.ndarray[Any, Any]:
    """Return codes as a NumPy dtype that carries the format: its own, its codes', or its values' where it is narrow."""
    if fmt.is_integer and fmt.bits < 8 and dtype != fmt.dtype:
        codes = ((codes.astype(np.int16) ^ fmt.sign_mask) - fmt.sign_mask).astype(codes.dtype)
    return codes.view(dtype)


def _from_ends(*ends: Any, rule: _Rule, fmt: Format, storage: Any) -> np.ndarray[Any, Any]:
    return _carried(rule(*(np.asarray(end) for end in ends)), fmt, storage)


def _from_host(x: Any, *, held: Format, groups: Groups, both: bool, **how: Any) -> np.ndarray[Any, Any]:
    return _from_ends(*find_range(x, held, groups, both=both), **how)


def _found(
    x: Any, held: Format, groups: Groups, rules: Mapping[_Rule, Format], *, both: bool = False
) -> tuple[Any, ...]:
    """Return what each rule makes of the ranges of groups of `x`, in the library of `x`."""
    xp = namespace(x)
    how = [{"rule": rule, "fmt": fmt, "storage": storage_dtype(fmt, xp)} for rule, fmt in rules.items()]
    if is_traced(x):
        shape = groups.shape_of(tuple(x.shape))
        tasks = [partial(_from_host, held=held, groups=groups, both=both, **one) for one in how]
        return tuple(
            call_back(task, shape, one["storage"], x, elementwise=False) for task, one in zip(tasks, how, strict=True)
        )
    ends = find_range(x, held, groups, both=both)
    if is_dask(x):
        mapped = importlib.import_module("dask.array").map_blocks
        return tuple(
            mapped(_from_ends, *ends, meta=np.empty((0,) * ends[0].ndim, one["storage"]), **one) for one in how
        )
    host_ends = [to_host(end).view(np.float64) for end in ends]
    return tuple(to_library(np.asarray(rule(*host_ends)), fmt, x) for rule, fmt in rules.items())
