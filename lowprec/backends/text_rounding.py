"""Decimals rounded where float64 is too narrow to stand for them: to float64, and by many random bits to float32.

Whether a magnitude becomes its upper neighbour depends on its place between the neighbours, on the last bit of the
lower one, the sign and a random number. The same question is asked of a format that has the integers 0 to 3 alone,
where a float64 is a place precise enough: 33 bits decide, and a sticky bit stands for all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_05UP, Context
from fractions import Fraction
from typing import Any

import numpy as np

from ..plans.plan import Plan, Rule
from ..spec.formats import FLOAT64, Format, Kind, NaNRule
from ..spec.rounding_modes import Stream
from ..spec.special_values import limits_of
from .job import Job

__all__ = ["needs_exact_places", "round_decimals"]

_Array = np.ndarray[Any, Any]

_DEPTH = 50  # bits of a place that are kept; the next one is sticky

_DIGITS = Context(prec=1200, rounding=ROUND_05UP, Emin=-9999, Emax=9999, traps=[])
"""No border between float64 numbers, or between 2**33 parts of such a gap, has more digits: the last one is sticky."""

_INTEGERS = Format(
    "integers 0 to 3", None, None, Kind.FLOAT, 1, 1, 0, True, False, NaNRule.NONE, True, None, None, "here"
)
"""A sign and the magnitudes 0 to 3, which are their codes."""


def needs_exact_places(plan: Plan) -> bool:
    """Whether two decimals that a plan from float64 rounds apart can lie between neighbouring float64 numbers."""
    if plan.rule is not Rule.ROUND or plan.rounding is None:
        return False
    return plan.target.mantissa_bits + max(plan.rounding.random_bits, 1) >= FLOAT64.mantissa_bits - 1


def _lower_neighbour(text: str, fmt: Format) -> tuple[int, float]:
    """Return the magnitude code of the next value not above a finite decimal, and the place above it, 0 to 1."""
    number = abs(Fraction(_DIGITS.create_decimal(text.strip())))
    exponent = fmt.emin
    if number:
        exponent = number.numerator.bit_length() - number.denominator.bit_length()
        exponent = max(exponent - (number < Fraction(2) ** exponent), fmt.emin)
    units, remainder = divmod(number / Fraction(2) ** (exponent - fmt.mantissa_bits), 1)
    code = min(((exponent - fmt.emin) << fmt.mantissa_bits) + units, fmt.max_code + 1)
    kept, sticky = divmod(remainder * (1 << _DEPTH), 1)
    return code, math.ldexp(kept + (0.5 if sticky else 0.0), -_DEPTH)


def round_decimals(
    texts: list[str], numbers: _Array, plan: Plan, stream: Stream | None, run: Callable[[Job], Any]
) -> _Array:
    """Return the codes of decimals, each rounded once by the rules of a plan.

    Parameters
    ----------
    texts : list of str
        Decimals, Inf or NaN.
    numbers : ndarray
        The float64 nearest to each.
    plan : Plan
        From float64 to a float that is wider than 16 bits.
    stream : Stream or None
        The random numbers, where the rounding is stochastic.
    run : callable
        What carries out a job on a NumPy array.

    Returns
    -------
    ndarray
        Unsigned codes of the target.
    """
    target, limits, rounding = plan.target, plan.limits, plan.rounding
    assert limits is not None
    assert rounding is not None
    negative, nan = np.signbit(numbers), np.isnan(numbers)
    infinite = np.isinf(numbers)
    infinite[infinite] = ["n" in text.lower() for text, found in zip(texts, infinite.tolist(), strict=True) if found]
    special = (nan | infinite).tolist()
    neighbours = [
        (0, 0.0) if skipped else _lower_neighbour(text, target) for text, skipped in zip(texts, special, strict=True)
    ]
    codes = np.array([code for code, _ in neighbours], np.uint64)
    places = np.array([place for _, place in neighbours], np.float64)

    last = codes & np.uint64(1)
    question = np.copysign(last.astype(np.float64) + places, np.where(negative, -1.0, 1.0))
    asked = Plan(Rule.ROUND, FLOAT64, _INTEGERS, rounding=rounding, limits=limits_of(_INTEGERS, rounding))
    answer = run(Job(question, asked, codes=True, stream=stream)) & _INTEGERS.magnitude_mask
    codes = codes + (answer.astype(np.uint64) - last)

    def limit(pair: tuple[int, int]) -> _Array:
        return np.where(negative, np.uint64(pair[1]), np.uint64(pair[0]))

    result = codes | np.where(negative, np.uint64(target.sign_mask), np.uint64(0))
    result = np.where(codes > target.max_code, limit(limits.overflow), result)
    result = np.where(codes == 0, limit(limits.zero), result)
    result = np.where(infinite, limit(limits.infinity), result)
    result = np.where(nan, limit(limits.nan), result)
    return np.asarray(result.astype(target.code_dtype))
