"""How many values of a format lie between two numbers."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction

from ..reference.exact_values import Value, finite_count, magnitude_of
from ..spec.formats import Format, Kind, as_format
from ..spec.opset_rules import NEWEST, check_type

__all__ = ["values_between"]


def values_between(low: object, high: object, fmt: object) -> int:
    """Return how many distinct finite values v of a format have ``low <= v < high``; -0 is 0.

    Parameters
    ----------
    low, high : str, int, float, Fraction or scalar
        The limits, as `Value.of` takes them; Inf for no limit.
    fmt : str, int, dtype or Format
        A float, integer or bool format.

    Returns
    -------
    int
        The number of values, 0 where `high` is not above `low`.

    Raises
    ------
    ValueError
        If a limit is NaN or no number.

    Notes
    -----
    Source: the codes of a format are in the order of their magnitudes.

    Examples
    --------
    >>> values_between(1, 2, "float8_e4m3fn"), values_between("-inf", "inf", "float8_e4m3fn")
    (8, 253)
    """
    row = as_format(fmt)
    check_type(row, NEWEST, "fmt")
    ends = Value.of(low, parameter="low"), Value.of(high, parameter="high")
    for name, end in zip(("low", "high"), ends, strict=True):
        if end.special == "nan":
            raise ValueError(f"`{name}` must be a number; got NaN")
    start, stop = (_count_below(end, row) for end in ends)
    return max(stop - start, 0)


def _count_below(limit: Value, fmt: Format) -> int:
    """Return how many distinct finite values lie below a limit."""
    if fmt.kind is not Kind.FLOAT:
        count = 2 if fmt.kind is Kind.BOOL else 2**fmt.bits
        lowest = -(2 ** (fmt.bits - 1)) if fmt.signed else 0
        wanted = count * (not limit.negative) if limit.special else math.ceil(limit.number) - lowest
        return min(max(wanted, 0), count)
    codes, negatives = range(finite_count(fmt)), (finite_count(fmt) - 1) * fmt.signed

    def magnitude(code: int) -> Fraction:
        return magnitude_of(code, fmt)

    if limit.special:
        return 0 if limit.negative else negatives + len(codes)
    if limit.number > 0:
        return negatives + bisect_left(codes, limit.magnitude, key=magnitude)
    return len(codes) - bisect_right(codes, limit.magnitude, key=magnitude) if fmt.signed else 0
