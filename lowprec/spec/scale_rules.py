"""The scale rules: how the largest magnitude of a block becomes a scale that is a power of two."""

from __future__ import annotations

import math
from typing import get_args

from .format import Format
from .option_names import ScaleRuleName

__all__ = ["SCALE_RULES", "rule_addend"]

SCALE_RULES: tuple[ScaleRuleName, ...] = get_args(ScaleRuleName)
"""How the largest magnitude of a block becomes the exponent of its scale (OCP MX 1.0, 6.3, is floor)."""

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
