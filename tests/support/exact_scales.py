"""Scales by their definition, in fractions: what `absmax_scale` must return, and which elements share a scale."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import reference


def exponent_of(value: Fraction) -> int:
    """Return the floor of the binary logarithm of a positive number."""
    found = value.numerator.bit_length() - value.denominator.bit_length()
    return found if value >= Fraction(2) ** found else found - 1


def scale_exponent(a: Fraction, largest: Fraction, mantissa_bits: int, rule: str) -> int:
    """Return E of the scale 2**E by the definition of a rule, for elements of this largest value."""
    emax, e = exponent_of(largest), exponent_of(a)
    if rule == "floor":
        found = e - emax
    elif rule == "ceil":
        found = e - emax + (a > Fraction(2) ** e)
    elif rule == "rceil":
        found = next(n for n in range(e - emax - 2, e - emax + 3) if a <= largest * Fraction(2) ** n)
    elif rule == "even":
        step = Fraction(2) ** (e - mantissa_bits)
        found = exponent_of(math.floor(a / step + Fraction(1, 2)) * step) - emax
    else:
        found = e - emax + (a * a >= 2 * Fraction(4) ** e)
    return min(max(found, -127), 127)


def power_code(a: Fraction, to: lp.Format, rule: str) -> int:
    """Return the code of an e8m0 scale by its definition."""
    if a == 0:
        return 0
    largest = Fraction(to.max)
    return scale_exponent(a, largest, to.mantissa_bits if to.is_float else exponent_of(largest), rule) + 127


def scale_code(a: Fraction, to: lp.Format, fmt: lp.Format, rule: str) -> int:
    """Return the code of a scale by its definition; the quotient is rounded to float64, then to the format."""
    if not fmt.has_zero:
        return power_code(a, to, rule)
    if a == 0:
        return reference.encode(1.0, fmt)
    quotient = float(a / Fraction(to.max)) if a / Fraction(to.max) < Fraction(2) ** 1024 else math.inf
    return reference.encode(min(max(quotient, fmt.smallest_subnormal), float(fmt.max)), fmt)


def finite(x: np.ndarray[Any, Any], fmt: lp.Format) -> np.ndarray[Any, Any]:
    """Return every element as a fraction, 0 for NaN and Inf."""
    codes = np.asarray(x).view(fmt.code_dtype)
    values = [reference.decode(int(code), fmt) for code in codes.reshape(-1)]
    parts = [
        0 if isinstance(v, reference.Value) and v.special else Fraction(v if isinstance(v, int) else float(v))
        for v in values
    ]
    return np.array([Fraction(part) for part in parts] + [None], object)[:-1].reshape(codes.shape)


def grouped(shape: tuple[int, ...], axis: Any, block_size: Any) -> np.ndarray[Any, Any]:
    """Return the number of the scale of each element, in the order of the scales."""
    if axis is None:
        return np.zeros(shape, int)
    axes, blocks = (one if isinstance(one, tuple) else (one,) for one in (axis, block_size))
    index = np.indices(shape)
    if blocks == (0,):
        return index[axes[0]]
    sizes, places = list(shape), list(index)
    for one, block in zip(axes, blocks, strict=True):
        sizes[one], places[one] = -(-shape[one] // block), index[one] // block
    return np.ravel_multi_index(tuple(places), tuple(sizes))
