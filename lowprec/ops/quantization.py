"""`quantize`: the scales of an array and the codes that go with them, in one call."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from numpy import ndarray

from ..arrays.libraries import namespace
from ..arrays.torch_tensors import dispatched
from ..spec.formats import BLOCK_FORMATS, NVFP4
from ..spec.memo import CACHED
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, FIRST, NaNName, OverflowName, RoundingName
from ..spec.scale_rules import BlockRuleName
from .blocks import mx_quantize
from .cast import cast
from .nvfp4 import nvfp4_quantize
from .onnx_operators import onnx_quantize_linear
from .quantized import Quantized, register_pytrees
from .quantized_arguments import LINEAR, plan_quantize, scheme_of
from .scales import absmax_scale, minmax_scale

__all__ = ["quantize"]

_plan_known = lru_cache(maxsize=CACHED, typed=True)(plan_quantize)


def quantize(
    x: Any,
    to: object,
    *,
    axis: int | Sequence[int] | None = None,
    block_size: int | Sequence[int] | None = None,
    zero_point: bool = False,
    scale_format: object = None,
    scale_rule: BlockRuleName | None = None,
    packed: bool = False,
    out: Any = None,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
) -> Quantized:
    """Quantize an array: find its scales, and the codes that go with them.

    The scales are those of `absmax_scale`, or with `zero_point` of `minmax_scale`, and the codes those of
    `quantize_linear`; for a block format both are those of `mx_quantize` or `nvfp4_quantize`, with which NaN, Inf and
    -0 do what these functions say. In codes of linear scales NaN is the lowest integer or NaN, Inf the largest value;
    neither counts for a scale.

    Parameters
    ----------
    x : array
        Integers or floats of any format, any shape and strides. float32, float16, bfloat16: divided by the scale as
        `quantize_linear` does. float64 and integers of 32 bits or more: the quotient is in float64, then rounded once.
        Others are cast to float32 first, which holds them exactly. For block formats a float of 16 bits or more;
        float64 is rounded to float32 first for NVFP4.
    to : str, int, dtype or Format
        The format of the codes, an integer of 2 to 16 bits or a float of up to 8 bits; or ``"mxfp8_e4m3"``,
        ``"mxfp8_e5m2"``, ``"mxfp6_e2m3"``, ``"mxfp6_e3m2"``, ``"mxfp4"``, ``"mxint8"`` or ``"nvfp4"``.
    axis : int or two ints, optional
        A scale for each index of this axis; with a block size, for each block along it. Two axes with two block sizes:
        a scale for each tile. None: one scale for the whole array; the last axis where there are blocks.
    block_size : int or two ints, optional
        Elements along the axis that share a scale, the last of which may be fewer. None: 32 for MX, 16 for NVFP4, else
        no blocks.
    zero_point : bool
        Whether the codes have zero points: for integers of 2 to 16 bits, with float32 scales. Unsigned ones need it.
    scale_format : str, int, dtype or Format, optional
        As in `absmax_scale`; None is float32, float8_e8m0fnu for MX, float8_e4m3fn for NVFP4, which have no other.
    scale_rule : str, optional
        As in `absmax_scale` where the scales are powers of two (None is ``"floor"``), as in `nvfp4_quantize` for NVFP4.
    packed : bool
        Return 2-, 4- and 6-bit codes packed in ONNX's order: 1-D uint8.
    out : array or tuple of arrays, optional
        Where the codes go; for a block format a tuple as `mx_quantize` and `nvfp4_quantize` take it.
    rounding, overflow, nan, seed, random_bits, offset
        As in `cast`, for float codes; blocks have no `overflow` and `nan`.

    Returns
    -------
    Quantized
        Codes, scales and what shares them; `dequantize` takes it back.

    Raises
    ------
    TypeError
        If `x` is no array, or holds what is no number.
    ValueError
        If a parameter is out of its range, or does not go with another one.

    Notes
    -----
    Source: ONNX QuantizeLinear, version 28; OCP Microscaling Formats (MX) 1.0; as `nvfp4_quantize`.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> x = np.array([[0.5, -1.5, 3.0, 6.5], [100.0, -30.0, 0.25, 0.0]], np.float32)
    >>> q = lp.quantize(x, "int8", axis=0)
    >>> q
    Quantized(to=int8, shape=(2, 4), axis=0, codes=int8 (2, 4), scale=float32 (2,))
    >>> codes, scale = q
    >>> codes.tolist()
    [[10, -29, 59, 127], [127, -38, 0, 0]]
    >>> q.dequantize().round(1).tolist()
    [[0.5, -1.5, 3.0, 6.5], [100.0, -29.899999618530273, 0.0, 0.0]]
    >>> lp.quantize(x, "mxfp4", block_size=2, packed=True).dequantize().tolist()
    [[0.5, -1.5, 3.0, 6.0], [96.0, -32.0, 0.25, 0.0]]
    """
    asked = axis, block_size, zero_point, scale_format, scale_rule, packed, rounding, overflow, nan
    if type(x) is not ndarray and dispatched(x):
        from . import torch_arguments

        known = torch_arguments.plan_quantize(x.dtype, x.ndim, to, *asked)
        packed_shape = tuple(x.shape) if known[4] else None
    else:
        namespace(x)
        if "jax" in sys.modules or "torch" in sys.modules:
            register_pytrees()
        try:
            known = _plan_known(x.dtype, x.ndim, to, *asked)
        except TypeError:  # what cannot be a key of the cache is named by the checks
            known = plan_quantize(x.dtype, x.ndim, to, *asked)
        packed_shape = tuple(x.shape) if known[4] else None
    target, along, block, has_zero, packs, held, (type_before, precision) = known
    rule: Any = scale_rule
    factor = zero = None
    if scheme_of(target) != LINEAR:
        rules = {"rounding": "nearest_even" if rounding is None else rounding, "seed": seed, "random_bits": random_bits}
        how: dict[str, Any] = {
            "axis": along,
            "block_size": block,
            "offset": offset,
            "packed": packs,
            "out": out,
            **rules,
        }
        if target == NVFP4:
            codes, scale, factor = nvfp4_quantize(x, scale_rule=rule, **how)
        else:
            codes, scale = mx_quantize(x, BLOCK_FORMATS[target].name, scale_rule=rule or "floor", **how)
    else:
        if has_zero:
            scale, zero = minmax_scale(x, target, axis=along, block_size=block)
        else:
            scale = absmax_scale(x, target, axis=along, block_size=block, scale_format=held, scale_rule=rule)
        codes = onnx_quantize_linear(
            x if type_before is None else cast(x, type_before), scale, zero, scale_format=held,
            axis=1 if along is None else along, block_size=block, output_dtype=target, precision=precision,
            packed=packs, rounding=rounding, overflow=overflow, nan=nan, seed=seed, random_bits=random_bits,
            offset=offset, float64_x=precision is not None, out=out,
        )  # fmt: skip
    return Quantized(codes, scale, zero, factor, target, along, block, x.ndim, packed_shape, held)
