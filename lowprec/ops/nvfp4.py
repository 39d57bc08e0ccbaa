"""`nvfp4_quantize` and `nvfp4_dequantize`: blocks of float4_e2m1fn with scales in float8_e4m3fn and a global one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import generic, ndarray

from .._float_mode import default_mode
from ..arrays.array_memory import to_host, to_library
from ..arrays.libraries import Array, has_host_memory, is_traced, match_library, namespace
from ..arrays.storage_dtypes import format_of
from ..arrays.torch_tensors import dispatched, eager, transformed
from ..backends.backend_choice import dispatch
from ..backends.cublas_scale_order import unswizzle
from ..backends.jobs import block_job
from ..backends.mx_nvfp4_blocks import block_scales, decode_elements
from ..backends.prepared_calls import NVFP4, CallKey, run_known
from ..backends.scales_for_kernels import plain_operand
from ..plans.block_plan import (
    block_axis,
    check_global_scale,
    check_tuple,
    nvfp4_options,
    output_format,
    scale_shape,
)
from ..spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT32, FLOAT64
from ..spec.packing import check_packed, shape_of
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, FIRST, RoundingName
from ..spec.scalar_arguments import as_flag, shown
from ..spec.scale_rules import Nvfp4RuleName, SpecialsName
from .cast import cast
from .mx import check_scales

__all__ = ["global_scale_argument", "nvfp4_dequantize", "nvfp4_quantize"]


@eager
def nvfp4_quantize(
    x: Array,
    *,
    axis: int = -1,
    block_size: int = 16,
    global_scale: Any = None,
    scale_rule: Nvfp4RuleName | None = None,
    rounding: RoundingName = "nearest_even",
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
    specials: SpecialsName = "nan",
    swizzled: bool = False,
    packed: bool = False,
    out: tuple[Any, Any, Any] | None = None,
) -> tuple[Array, Array, Array]:
    """Quantize to NVFP4: float4_e2m1fn in blocks with float8_e4m3fn scales, under one float32 scale for all.

    All steps are in float32, each rounded once, to nearest even but for the last. The global scale g is the largest
    finite magnitude of `x` over 2688, which is 6 * 448: 1 where there is none but 0, 2**-149 where the quotient is 0.
    With a the largest finite magnitude of a block, its scale s is ``(a / 6) / g``, at most 448, in float8_e4m3fn: 00
    where a is 0, else 01 at least. An element is ``x / (g * s)``, rounded to float4_e2m1fn, 6 beyond 6; where g * s is
    0 it is a zero with the sign of x.

    NaN and Inf: with ``specials="nan"`` the scale of their block is NaN, code 7F, and its elements are +0, so that the
    block decodes as NaN. With ``"ignore"`` they do not count for a; NaN is converted as by `cast`, Inf becomes 6.

    Parameters
    ----------
    x : array
        float32, float16, bfloat16 or float64, which is rounded to float32 first; one axis or more, any strides.
    axis : int
        The axis along which blocks lie, ``-ndim`` to ``ndim - 1``.
    block_size : int
        Elements of a block, from 1 up; the last one may have fewer.
    global_scale : array or number, optional
        One positive float32, in the library and on the device of `x`; a Python number is rounded to float32.
    scale_rule : {"torchao", "modelopt", "transformer_engine"}, optional
        None for the rule above, or whose bits the results have. With a the largest magnitude of a block and S the
        inverse of g: torchao's s is ``(a / 6) / g``, 2**-6 at least, an element ``x * ((1 / g) / s)``; ModelOpt's
        ``a / (6 * g)``, 1 where that is 0, 2**-9 at least, and ``x / (s * g)``, +0 where that is 0; Transformer
        Engine's ``a * (S * (1 / 6))`` with S = 2688 over the largest magnitude of `x`, and
        ``x * min(1 / (s * (1 / S)), 3.4e38)``. g is ``1 / S`` then.
    rounding, seed, random_bits, offset
        As in `cast`. Random numbers belong to the elements as they stand in `x`, in C order; scales take none.
    specials, swizzled, packed
        As in `mx_quantize`.
    out : tuple of three arrays, optional
        Where the results go: of the library, device, shape and dtype that they would have, each element in memory of
        its own.

    Returns
    -------
    elements : array
        The shape of `x`, in its library and on its device, with the dtype `storage_dtype` says for float4_e2m1fn.
    scales : array
        float8_e4m3fn, in the shape of `x` with the axis divided by the block size and rounded up.
    global_scale : array
        float32, 0-d.

    Raises
    ------
    TypeError
        If `x` or `global_scale` is no array.
    ValueError
        If a parameter is out of its range, or `x` is no float of 16 bits or more.

    Notes
    -----
    Source: NVIDIA cuDNN and cuBLAS documentation of block scaling for FP4 (blocks of 16, E4M3 scales); the steps are
    lowprec's own.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> x = np.array([0.5, -1.0, 3.0, 0.25, 96.0, 0.0, -24.0, 48.0], np.float32)
    >>> elements, scales, global_scale = lp.nvfp4_quantize(x, block_size=4, global_scale=0.25)
    >>> elements.tolist(), scales.tolist(), global_scale.item()
    ([1.0, -2.0, 6.0, 0.5, 6.0, 0.0, -1.5, 3.0], [2.0, 64.0], 0.25)
    >>> lp.nvfp4_dequantize(elements, scales, global_scale, block_size=4).tolist()
    [0.5, -1.0, 3.0, 0.25, 96.0, 0.0, -24.0, 48.0]
    """
    given = axis, block_size, scale_rule, rounding, random_bits, specials, swizzled, packed
    in_numpy = type(x) is ndarray
    if in_numpy or not transformed():
        known = run_known(NVFP4, x, given, global_scale, out, (seed, offset))
        if known is not None:
            return known[0], known[1], known[2]
    options = {
        "axis": axis, "block_size": block_size, "scale_rule": scale_rule, "rounding": rounding, "seed": seed,
        "random_bits": random_bits, "offset": offset, "specials": specials, "swizzled": swizzled, "packed": packed,
    }  # fmt: skip
    if not in_numpy and dispatched(x, global_scale, *(out if isinstance(out, tuple) else ())):
        from .. import torch_ops

        return torch_ops.nvfp4_quantize(x, global_scale=global_scale, out=out, **options)
    namespace(x)
    checked = nvfp4_options(x.dtype, x.ndim, **options)
    if checked.plan.source == FLOAT64:
        return nvfp4_quantize(cast(x, FLOAT32), global_scale=global_scale, out=out, **options)  # type: ignore[arg-type]
    factor = None if global_scale is None else global_scale_argument(global_scale, x)
    targets = None if out is None else check_tuple(out, 3)
    key = None if isinstance(global_scale, generic) else CallKey(NVFP4, given, global_scale)
    elements, scales, factor = dispatch(block_job(x, checked, factor, targets, key))
    return elements, scales, factor


@eager
def nvfp4_dequantize(
    elements: Array,
    scales: Any,
    global_scale: Any,
    *,
    axis: int = -1,
    block_size: int = 16,
    output_dtype: object = "float32",
    packed: bool = False,
    shape: int | Sequence[int] | None = None,
    swizzled: bool = False,
) -> Array:
    """Return the values of NVFP4: elements times the product of their scale and the global scale.

    That product is rounded to float32, the value as well, and once more to the type of the result. A block whose scale
    is NaN is NaN as a whole; -0 keeps its sign.

    Parameters
    ----------
    elements : array
        float4_e2m1fn, or uint8 that carries its codes; 1-D uint8 where `packed`.
    scales : array
        float8_e4m3fn, or uint8 that carries its codes: one for each block.
    global_scale : array or number
        One positive float32.
    axis, block_size
        As in `nvfp4_quantize`.
    output_dtype : str, int, dtype or Format
        float32, float16 or bfloat16.
    packed : bool
        Whether the elements are packed in ONNX's order.
    shape : int or sequence of int, optional
        The shape of the values; needed where packed, and only there.
    swizzled : bool
        Whether the scales are in tiles, as `mx_quantize` says.

    Returns
    -------
    array
        The shape of the elements, or `shape`, in their library and on their device.

    Raises
    ------
    TypeError
        If an argument is no array.
    ValueError
        If shapes do not fit, or a parameter is out of its range.

    Notes
    -----
    Source: as `nvfp4_quantize`.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> scales = np.array([1.0, 2.0], np.float32)
    >>> elements = lp.cast(np.array([0.5, -6.0, 1.5, 3.0], np.float32), "float4_e2m1fn")
    >>> lp.nvfp4_dequantize(elements, lp.cast(scales, "float8_e4m3fn"), 0.5, block_size=2).tolist()
    [0.25, -3.0, 1.5, 3.0]
    """
    if type(elements) is not ndarray and dispatched(elements, scales, global_scale):
        from .. import torch_ops

        return torch_ops.nvfp4_dequantize(
            elements, scales, global_scale, axis=axis, block_size=block_size, output_dtype=output_dtype,
            packed=packed, shape=shape, swizzled=swizzled,
        )  # fmt: skip
    namespace(elements, "elements")
    target = output_format(output_dtype)
    lengths = None
    if as_flag(packed, "packed"):
        lengths = shape_of(shape)
        check_packed(elements, FLOAT4_E2M1FN, lengths, "elements", "elements")
    elif shape is not None:
        raise ValueError(f"`shape` must be None unless the elements are packed; got {shown(shape)}")
    else:
        format_of(elements.dtype, FLOAT4_E2M1FN, ("elements", "elements"))
    whole = tuple(elements.shape) if lengths is None else lengths
    where, block = block_axis(len(whole), axis, block_size, "elements")
    wanted, tiles = scale_shape(whole, where, block), as_flag(swizzled, "swizzled")
    scales = check_scales(scales, elements, FLOAT8_E4M3FN, wanted, where if tiles else None)
    divisors = block_scales(scales, global_scale_argument(global_scale, elements))
    if tiles:
        divisors = unswizzle(namespace(divisors).reshape(divisors, (-1,)), wanted, where)
    return decode_elements(elements, divisors, FLOAT4_E2M1FN, (where, block), target, lengths)


@default_mode
def _check_factor(factor: np.ndarray[Any, Any], given: float | None = None) -> None:
    value = float(factor)
    if not 0 < value < math.inf:
        got = value if given is None else given
        raise ValueError(f"`global_scale` must be a positive finite float32; got {shown(got)}")


@default_mode
def _single(number: Any) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(number if -1e39 < number < 1e39 else math.inf, np.float32)


def global_scale_argument(global_scale: Any, x: Any) -> Any:
    """Return the global scale as a 0-d float32 array of the library of `x`, or raise TypeError or ValueError.

    It must be positive and finite; what a traced or a lazy array or one on a device holds is not looked at.
    """
    xp = namespace(x)
    global_scale = plain_operand(global_scale, None, "global_scale")
    if isinstance(global_scale, (int, float)):
        rounded = _single(global_scale)
        _check_factor(rounded, global_scale)
        return to_library(rounded.view(np.uint32), FLOAT32, x)
    factor = match_library(global_scale, x, "global_scale")
    check_global_scale(factor.dtype, tuple(factor.shape))
    if has_host_memory(factor) and not is_traced(factor):
        _check_factor(to_host(factor).view(np.float32).reshape(()))
    return xp.reshape(factor, ())
