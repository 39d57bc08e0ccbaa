"""`mx_quantize` and `mx_dequantize`: blocks whose scale is a power of two, by OCP Microscaling Formats (MX)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from ..arrays.libraries import Array, match_library, namespace
from ..arrays.torch_tensors import dispatched, eager, transformed
from ..backends.backend_choice import dispatch
from ..backends.jobs import block_job
from ..backends.mx_nvfp4_blocks import decode_elements
from ..backends.prepared_calls import MX, CallKey, run_known
from ..plans.block_plan import (
    block_axis,
    check_scale_shape,
    check_tuple,
    held_elements,
    mx_options,
    output_format,
    scale_shape,
)
from ..spec.formats import FLOAT4_E2M1FN, FLOAT8_E8M0FNU, Format
from ..spec.packing import check_packed, shape_of
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, FIRST, RoundingName
from ..spec.scalar_arguments import as_flag, shown
from ..spec.scale_rules import ScaleRuleName, SpecialsName

__all__ = ["check_scales", "mx_dequantize", "mx_quantize"]


_ELEMENT = FLOAT4_E2M1FN.name


@eager
def mx_quantize(
    x: Array,
    to: object = _ELEMENT,
    *,
    axis: int = -1,
    block_size: int = 32,
    scale_rule: ScaleRuleName = "floor",
    rounding: RoundingName = "nearest_even",
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
    specials: SpecialsName = "nan",
    swizzled: bool = False,
    packed: bool = False,
    out: tuple[Any, Any] | None = None,
) -> tuple[Array, Array]:
    """Quantize to blocks that share a power of two as their scale, as OCP MX does, along any axis.

    The scale of a block is ``2**E`` in float8_e8m0fnu, with E from -127 to 127 found from the largest finite magnitude
    a by `scale_rule`; code 00 where all are zeros, which keep their sign. The elements are ``x / 2**E``, exact, rounded
    once; beyond the largest value M of `to` they are M.

    NaN and Inf: with ``specials="nan"`` the scale of their block is NaN, code FF, and its elements are +0, so that the
    block decodes as NaN. With ``"ignore"`` they do not count for a; NaN is converted as by `cast`, Inf becomes M.

    Parameters
    ----------
    x : array
        float32, float16, bfloat16 or float64, with one axis or more, any strides.
    to : str, int, dtype or Format
        The format of the elements: a float of up to 32 bits that has a zero, or int8, whose elements are integers from
        -127 to 127 in units of 1/64 (MXINT8).
    axis : int
        The axis along which blocks lie, ``-ndim`` to ``ndim - 1``.
    block_size : int
        Elements of a block, from 1 up; the last one may have fewer.
    scale_rule : {"floor", "ceil", "rceil", "even", "nearest"}
        How a becomes E; `absmax_scale` has the rules.
    rounding, seed, random_bits, offset
        As in `cast`. Random numbers belong to the elements as they stand in `x`, in C order; scales take none.
    specials : {"nan", "ignore"}
        What NaN and Inf do to their block.
    swizzled : bool
        Return the scales 1-D in the tiles of 128 rows and 4 columns that cuBLAS reads, padded with code 00: a column
        for each block along the axis, a row for each index of the other axes in C order. The scale at (outer, inner) of
        a tile has the offset ``(outer % 32) * 16 + (outer // 32) * 4 + inner``.
    packed : bool
        Return 2-, 4- and 6-bit elements packed in ONNX's order: 1-D uint8, in C order of `x`.
    out : tuple of two arrays, optional
        Where the results go: of the library, device, shape and dtype that they would have, each element in memory of
        its own.

    Returns
    -------
    elements : array
        The shape of `x`, in its library and on its device, with the dtype `storage_dtype` says.
    scales : array
        float8_e8m0fnu, in the shape of `x` with the axis divided by the block size and rounded up.

    Raises
    ------
    TypeError
        If `x` is no array.
    ValueError
        If a parameter is out of its range, or `x` is no float of 16 bits or more.

    Notes
    -----
    Source: OCP Microscaling Formats (MX) 1.0, sections 5 and 6.3.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> x = np.array([0.3, -1.0, 5.0, 13.0, 0.0, 100.0, np.nan], np.float32)
    >>> elements, scales = lp.mx_quantize(x, block_size=4)
    >>> elements.tolist(), scales.tolist()
    ([0.0, -0.5, 2.0, 6.0, 0.0, 0.0, 0.0], [2.0, nan])
    >>> lp.mx_dequantize(elements, scales, block_size=4).tolist()
    [0.0, -1.0, 4.0, 12.0, nan, nan, nan]
    """
    given = to, axis, block_size, scale_rule, rounding, random_bits, specials, swizzled, packed
    in_numpy = type(x) is ndarray
    if in_numpy or not transformed():
        known = run_known(MX, x, given, None, out, (seed, offset))
        if known is not None:
            return known[0], known[1]
    options = {
        "axis": axis, "block_size": block_size, "scale_rule": scale_rule, "rounding": rounding, "seed": seed,
        "random_bits": random_bits, "offset": offset, "specials": specials, "swizzled": swizzled, "packed": packed,
    }  # fmt: skip
    if not in_numpy and dispatched(x, *(out if isinstance(out, tuple) else ())):
        from .. import torch_ops

        return torch_ops.mx_quantize(x, to, out=out, **options)
    namespace(x)
    checked = mx_options(x.dtype, x.ndim, to, **options)
    targets = None if out is None else check_tuple(out, 2)
    elements, scales = dispatch(block_job(x, checked, None, targets, CallKey(MX, given)))
    return elements, scales


@eager
def mx_dequantize(
    elements: Array,
    scales: Any,
    *,
    source: object = None,
    axis: int = -1,
    block_size: int = 32,
    output_dtype: object = "float32",
    packed: bool = False,
    shape: int | Sequence[int] | None = None,
) -> Array:
    """Return the values of MX blocks: elements times their scales.

    The product is rounded to float32, and once more to the type of the result. A block whose scale is NaN is NaN as a
    whole; NaN and Inf elements keep their meaning, -0 its sign.

    Parameters
    ----------
    elements : array
        What `mx_quantize` returned first; 1-D uint8 where `packed`. int8 is MXINT8.
    scales : array
        float8_e8m0fnu, or uint8 that carries its codes: one for each block.
    source : str, int, dtype or Format, optional
        The format of the elements where their dtype only carries the codes; needed where `packed`.
    axis, block_size
        As in `mx_quantize`.
    output_dtype : str, int, dtype or Format
        float32, float16 or bfloat16.
    packed : bool
        Whether the elements are packed in ONNX's order.
    shape : int or sequence of int, optional
        The shape of the values; needed where packed, and only there.

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
    Source: OCP Microscaling Formats (MX) 1.0, section 6.2.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> elements, scales = lp.mx_quantize(np.array([0.5, -3.0, 40.0, 96.0], np.float32), "int8", block_size=2)
    >>> elements.tolist(), scales.tolist()
    ([16, -96, 40, 96], [2.0, 64.0])
    >>> lp.mx_dequantize(elements, scales, block_size=2).tolist()
    [0.5, -3.0, 40.0, 96.0]
    """
    if type(elements) is not ndarray and dispatched(elements, scales):
        from .. import torch_ops

        return torch_ops.mx_dequantize(
            elements, scales, source=source, axis=axis, block_size=block_size, output_dtype=output_dtype,
            packed=packed, shape=shape,
        )  # fmt: skip
    namespace(elements, "elements")
    target, packs = output_format(output_dtype), as_flag(packed, "packed")
    fmt = held_elements(elements.dtype, source, packs)
    lengths = None
    if packs:
        lengths = shape_of(shape)
        check_packed(elements, fmt, lengths, "elements", "source")
    elif shape is not None:
        raise ValueError(f"`shape` must be None unless the elements are packed; got {shown(shape)}")
    whole = tuple(elements.shape) if lengths is None else lengths
    where, block = block_axis(len(whole), axis, block_size, "elements")
    scales = check_scales(scales, elements, FLOAT8_E8M0FNU, scale_shape(whole, where, block))
    return decode_elements(elements, scales, fmt, (where, block), target, lengths)


def check_scales(scales: Any, like: Any, fmt: Format, wanted: tuple[int, ...], swizzled_axis: int | None = None) -> Any:
    """Return the scales as an array of the library of `like`, or raise unless they are of a format and a shape.

    In tiles, where the axis of the blocks is given, they are flat, or in any shape with as many of them.
    """
    scales = match_library(scales, like, "scales")
    check_scale_shape(scales.dtype, tuple(scales.shape), fmt, wanted, swizzled_axis)
    return scales
