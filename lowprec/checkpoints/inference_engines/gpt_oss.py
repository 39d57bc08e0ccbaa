"""Quantization with the arithmetic of triton_kernels, which made gpt-oss: MXFP4 whose scales are rounded up.

`downcast_to_mxfp_torch` with ROUND_UP, computed in float32: a scale is the largest magnitude over the largest code,
rounded up to a power of two, so that no number is beyond the codes. The scale of a group of zeros has the code 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._float_mode import default_mode
from ...ops.quantize import quantize_linear
from ...spec.formats import Format
from .magnitudes import float_magnitudes, scales_by_rule
from .scheme import Scheme
from .tool import Tool

__all__ = ["TOOL", "quantize", "rule"]

Array = np.ndarray[Any, Any]

_FRACTION_BITS = 23


@default_mode
def quantize(
    x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None, *, scale_rule: str | None = None
) -> tuple[Array, Array]:
    """Return exponents of scales, and codes, two to a byte.

    Numbers that are rounded to 0 keep their signs, as does −0.

    Parameters
    ----------
    x : numpy.ndarray
        Rows of a weight as unsigned codes of `fmt`, of whole groups.
    fmt : Format
        bfloat16, float16 or float32.
    scheme : Scheme
        How they are to be stored.
    second : None
        There is no second scale.
    scale_rule : str, optional
        The rule of `absmax_scale` for scales that are powers of two; None for the tool's own.

    Returns
    -------
    scales, codes : numpy.ndarray
        Codes of float8_e8m0fnu, a row and a column to each group; rows of bytes.

    Raises
    ------
    NotFiniteError
        If an element is a NaN or an infinity.
    """
    group = scheme.grid.columns
    scales = _scales(x, fmt, scheme) if scale_rule is None else scales_by_rule(x, fmt, scheme, scale_rule)
    # A scale of code 0 is a power of two here, and a factor of 0 in the tool: its group is rounded to 0 by both.
    factors, to = scales.view(scheme.scale.dtype), scheme.codes
    codes = quantize_linear(x.view(fmt.dtype), factors, axis=1, block_size=group, output_dtype=to, packed=True)
    return scales, np.asarray(codes).reshape(len(x), -1)


def _scales(x: Array, fmt: Format, scheme: Scheme) -> Array:
    ratio = (float_magnitudes(x, fmt, scheme.grid) / np.float32(scheme.codes.max)).view(np.uint32)
    return ((ratio + np.uint32((1 << _FRACTION_BITS) - 1)) >> _FRACTION_BITS).astype(np.uint8)


def rule(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of scales and codes."""
    return (
        f"scale  = absmax / {scheme.codes.max:g}, in float32, rounded up to a power of two; byte 0 for zeros",
        f"code   = {scheme.codes.name}(x / scale)",
        "value  = code * scale",
    )


TOOL = Tool("triton_kernels", quantize, rule=rule, takes_scale_rule=True)
