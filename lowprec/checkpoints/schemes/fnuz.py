"""FP8 for MI300 and back: formats whose codes mean half as much as those of OCP's, so scales are doubled.

A code of float8_e4m3fnuz has half the value of the same code of float8_e4m3fn, but for three: 80 is NaN instead of -0,
and 7F and FF are numbers, 240 and -240, instead of NaN. float8_e5m2fnuz and float8_e5m2 are such a pair too.

Source: vLLM, normalize_e4m3fn_to_e4m3fnuz; ONNX, "Float stored in 8 bits".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...ops.codes import decode, encode
from ...spec.formats import FLOAT8_E4M3FN, FLOAT8_E4M3FNUZ, FLOAT8_E5M2, FLOAT8_E5M2FNUZ, Format

__all__ = ["FN", "FNUZ", "CodeMap", "code_map", "multiply_scales", "requantize"]

Array = np.ndarray[Any, Any]

FNUZ = {FLOAT8_E4M3FN: FLOAT8_E4M3FNUZ, FLOAT8_E5M2: FLOAT8_E5M2FNUZ}
"""The formats of MI300 for those of OCP."""

FN = {fnuz: fn for fn, fnuz in FNUZ.items()}
"""The formats of OCP for those of MI300."""


@dataclass(frozen=True, eq=False, slots=True)
class CodeMap:
    """How codes of one format become codes of another.

    Attributes
    ----------
    codes : numpy.ndarray
        256 codes of the target.
    factor : float
        What scales are multiplied by, a power of two.
    nonfinite, beyond : numpy.ndarray
        256 truth values: the codes that are no numbers in the source but are in the target; those that are numbers for
        which the target has no code at that scale.
    """

    codes: Array
    factor: float
    nonfinite: Array
    beyond: Array


@lru_cache
def code_map(source: Format, target: Format) -> CodeMap:
    """Return how codes of a format become codes of its pair.

    −0 becomes 0 where the target has no −0, and the NaN of the formats of MI300 the canonical NaN of the target.
    """
    factor = 2.0 ** (target.bias - source.bias)
    before = np.array([source.value(code) for code in range(256)])
    after = np.array([target.value(code) for code in range(256)]) * factor
    codes = np.arange(256, dtype=np.uint8)
    codes[before == 0] &= 0xFF if target.has_negative_zero else target.magnitude_mask
    different = (before != after) & (before != 0)
    finite = np.isfinite(before)
    if source in FN and target.nan_code is not None:
        codes[~finite] = target.nan_code
    return CodeMap(codes, factor, different & ~finite & (source in FNUZ), different & finite)


def requantize(codes: Array, source: Format, target: Format) -> Array:
    """Return codes rounded to the target at the scale that they have; −0, NaN and range are those of Cast."""
    values = np.asarray(decode(codes, source, to=np.float32))
    return np.asarray(encode(values, target)).view(np.uint8)


def multiply_scales(scales: Array, fmt: Format, factor: float) -> tuple[Array, bool]:
    """Return scales times a power of two, as codes of their format, and whether that is exact for all of them."""
    products = np.asarray(decode(np.ascontiguousarray(scales), fmt, to=np.float64)) * factor
    codes = np.asarray(encode(products, fmt)).view(fmt.code_dtype)
    return codes, bool(np.array_equal(np.asarray(decode(codes, fmt, to=np.float64)), products))
