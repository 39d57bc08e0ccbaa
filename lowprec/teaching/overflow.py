"""Where a float format overflows: the number from which on results lie beyond the largest value, and its neighbours."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ..reference.exact_values import finite_count, magnitude_of
from ..reference.rounding import Place, goes_away
from ..spec.arguments import shown
from ..spec.formats import as_format
from ..spec.option_names import RoundingName
from ..spec.rounding_rules import STOCHASTIC, RoundingOptions, check_rounding

__all__ = ["OverflowEdge", "overflow_edge", "overflow_edges"]

_DIGITS = 53
"""Significant bits of a float64."""


class OverflowEdge(NamedTuple):
    """The positive number at which overflow begins; `overflows` says whether it does so itself."""

    number: Fraction
    overflows: bool


def overflow_edge(fmt: object, *, rounding: RoundingName | None = None) -> OverflowEdge:
    """Return the positive number at which a float format begins to overflow.

    Above it a number rounds beyond the largest value, below it to the largest value or a smaller one. What then becomes
    of it is the matter of `saturate` or `overflow`.

    Parameters
    ----------
    fmt : str, int, dtype or Format
        A float format.
    rounding : str, optional
        A rounding of `lowprec.cast` without random numbers; ONNX's rule if it is not given: to the nearest, ties to the
        even code, and of formats without zero everything above the largest value.

    Returns
    -------
    OverflowEdge
        The number and whether it overflows itself.

    Raises
    ------
    ValueError
        If `fmt` is no float, or `rounding` is stochastic or unknown.

    Notes
    -----
    Source: ONNX Cast; IEEE P3109 interim report 4.0, 4.7.4.

    Examples
    --------
    >>> overflow_edge("float8_e4m3fn"), overflow_edge("float16")
    (OverflowEdge(number=Fraction(464, 1), overflows=False), OverflowEdge(number=Fraction(65520, 1), overflows=True))
    >>> overflow_edge("float8_e4m3fn", rounding="toward_zero")
    OverflowEdge(number=Fraction(480, 1), overflows=True)
    """
    row = as_format(fmt)
    if not row.is_float:
        raise ValueError(f"`fmt` must be a float format; got {row.name}")
    if rounding in STOCHASTIC:
        raise ValueError(f"`rounding` must be one without random numbers; got {shown(rounding)}")
    rules = check_rounding(RoundingOptions(rounding), row, "fmt")
    last = finite_count(row) - 1
    largest, beyond = magnitude_of(last, row), magnitude_of(last + 1, row)
    if rounding is None and not row.has_zero:
        return OverflowEdge(largest, False)
    # A rule without random numbers changes its answer at one place of the step: at its start, its half or its end.
    quarter, half, rest = (goes_away(Place(last, Fraction(part, 4)), False, rules, None)[0] for part in (1, 2, 3))
    if quarter:
        return OverflowEdge(largest, False)
    return OverflowEdge((largest + beyond) / 2, half) if rest else OverflowEdge(beyond, True)


def overflow_edges(fmt: object, *, rounding: RoundingName | None = None) -> tuple[Fraction, Fraction]:
    """Return the last positive number that does not overflow and the first that does, of those with 53 bits.

    They are next to each other among the numbers of 53 significant bits and any exponent: float64 numbers, where these
    are neither subnormal nor beyond its range.

    Parameters
    ----------
    fmt, rounding
        As in `overflow_edge`.

    Returns
    -------
    tuple of Fraction
        Both numbers.

    Raises
    ------
    ValueError
        As `overflow_edge` does.

    Notes
    -----
    Source: that of `overflow_edge`.

    Examples
    --------
    >>> [float(number) for number in overflow_edges("float8_e4m3fn")]
    [464.0, 464.00000000000006]
    >>> [float(number) for number in overflow_edges("float16")]
    [65519.99999999999, 65520.0]
    """
    edge = overflow_edge(fmt, rounding=rounding)
    top, bottom = edge.number.as_integer_ratio()
    exponent = top.bit_length() - bottom.bit_length()
    if edge.number < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** (exponent - _DIGITS + 1)
    below = edge.number // step * step
    if below < edge.number:
        return below, below + step
    if not edge.overflows:
        return below, below + step
    is_power = edge.number == Fraction(2) ** exponent
    return below - (step / 2 if is_power else step), below
