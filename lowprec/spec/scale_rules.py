"""How a largest magnitude or a range becomes a scale."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from .. import _kernels
from .formats import Format
from .memo import CACHED

__all__ = [
    "BlockRuleName",
    "MODELOPT",
    "NVFP4_RULES",
    "Nvfp4RuleName",
    "OWN_RULE",
    "SCALE_RULES",
    "SPECIALS",
    "ScaleRuleName",
    "SpecialsName",
    "TORCHAO",
    "TRANSFORMER_ENGINE",
    "global_formula",
    "global_scale",
    "power_codes",
    "range_formula",
    "range_scales",
    "rule_addend",
    "symmetric_formula",
    "symmetric_scales",
]


ScaleRuleName = Literal["floor", "ceil", "rceil", "even", "nearest"]
SCALE_RULES: tuple[ScaleRuleName, ...] = get_args(ScaleRuleName)
"""How the largest magnitude of a block becomes the exponent of its scale (OCP MX 1.0, 6.3, is floor)."""

Nvfp4RuleName = Literal["torchao", "modelopt", "transformer_engine"]
NVFP4_RULES: tuple[str, ...] = get_args(Nvfp4RuleName)
"""Whose bits `nvfp4_quantize` has, where they are not the ones of its own rule."""

TORCHAO, MODELOPT, TRANSFORMER_ENGINE = NVFP4_RULES
OWN_RULE = "quotient"

BlockRuleName = ScaleRuleName | Nvfp4RuleName
"""The rule of a block format, MX or NVFP4."""

SpecialsName = Literal["nan", "ignore"]
SPECIALS: tuple[SpecialsName, ...] = get_args(SpecialsName)
"""What a block with NaN or Inf becomes: NaN as a whole, or the block without them."""

_Array = np.ndarray[Any, Any]
_BYTE = np.dtype(np.uint8)
_FRACTION_BITS = 52


def rule_addend(to: Format, rule: str, fraction_bits: int = _FRACTION_BITS) -> tuple[int, int]:
    """Return what is added to the bits of a magnitude, and the emax of a format; the sum's exponent less emax is E.

    Parameters
    ----------
    to : Format
        The format of the elements.
    rule : str
        One of `SCALE_RULES`.
    fraction_bits : int
        Of the float that holds the magnitude: no fewer than `to` has mantissa bits.

    Examples
    --------
    >>> from lowprec.spec.formats import FLOAT4_E2M1FN
    >>> rule_addend(FLOAT4_E2M1FN, "rceil", 3)  # 6 is 0b1.100 * 2**2: from 0b1.101 up the rule rounds up
    (3, 2)
    """
    significand, exponent = math.frexp(float(to.max))
    emax, one = exponent - 1, 1 << fraction_bits
    mantissa_bits = to.mantissa_bits if to.is_float else emax
    sqrt2 = math.isqrt(2 << 2 * fraction_bits) + 1 - one  # the first fraction above that of the square root of 2
    addend = {  # what carries into the exponent where the rule rounds up
        "floor": 0,
        "ceil": one - 1,
        "rceil": one - 1 - int(math.ldexp(2 * significand - 1, fraction_bits)),
        "even": one >> (mantissa_bits + 1),
        "nearest": one - sqrt2,
    }[rule]
    return addend, emax


# ---- the formulas, which the kernels calculate


@lru_cache(maxsize=CACHED)
def symmetric_formula(to: Format, fmt: Format, rule: str = "floor") -> _kernels.ScaleFormula:
    """Return the formula of a scale in a format for the largest magnitude of what `to` will hold."""
    if fmt.has_zero:
        least, greatest = fmt.smallest_subnormal, float(fmt.max)
        return _kernels.ScaleFormula("symmetric", most=float(to.max), least=least, greatest=greatest)
    addend, emax = rule_addend(to, rule)
    return _kernels.ScaleFormula("power", greatest=fmt.max_code, addend=addend, offset=1023 + emax - fmt.bias)


@lru_cache(maxsize=CACHED)
def range_formula(to: Format) -> _kernels.ScaleFormula:
    """Return the formula of a scale and a zero point for the range of what an integer format will hold."""
    return _kernels.ScaleFormula("range", least=int(to.min), greatest=int(to.max))


@lru_cache(maxsize=CACHED)
def global_formula(element: Format, scale: Format) -> _kernels.ScaleFormula:
    """Return the formula of the global scale of blocks, by the formats of their elements and scales."""
    most = float(element.max) * float(scale.max)
    return _kernels.ScaleFormula("global", most=most, least=2.0**-149, greatest=math.inf)


def _doubles(ends: Any) -> _Array:
    return np.asarray(ends, np.float64, order="C")


def _bytes(x: _Array) -> _Array:
    return x.reshape(-1).view(_BYTE)


def symmetric_scales(largest: Any, to: Format, fmt: Format) -> _Array:
    """Return the scales of largest magnitudes before they are rounded to their format, in float64."""
    largest = _doubles(largest)
    scales = np.empty(largest.shape)
    symmetric_formula(to, fmt).run(None, _bytes(largest), _bytes(scales), None)
    return scales


def power_codes(largest: Any, to: Format, fmt: Format, rule: str) -> _Array:
    """Return the codes of powers of two for largest magnitudes; 0 where there is no magnitude."""
    largest = _doubles(largest)
    codes = np.empty(largest.shape, np.int32)
    symmetric_formula(to, fmt, rule).run(None, _bytes(largest), None, _bytes(codes))
    return np.asarray(codes.astype(fmt.code_dtype))


def range_scales(low: Any, high: Any, to: Format) -> tuple[_Array, _Array]:
    """Return the scales of ranges, float32, and their zero points, int32."""
    low, high = _doubles(low), _doubles(high)
    scales, zeros = np.empty(high.shape, np.float32), np.empty(high.shape, np.int32)
    range_formula(to).run(_bytes(low), _bytes(high), _bytes(scales), _bytes(zeros))
    return scales, zeros


def global_scale(largest: Any, element: Format, scale: Format) -> _Array:
    """Return the global scale of blocks for the largest magnitude of an array: float32, 0-d."""
    largest = _doubles(largest)
    found = np.empty(largest.shape, np.float32)
    global_formula(element, scale).run(None, _bytes(largest), _bytes(found), None)
    return found
