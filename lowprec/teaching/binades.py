"""The binades of a format: the significant bits, the step and the number of values in each."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ..reference.number_text import binade_of
from ..spec.formats import Kind
from .format_facts import format_facts

__all__ = ["Binade", "binades"]


class Binade(NamedTuple):
    """The values v of a format with ``2**exponent <= v < 2**(exponent + 1)``.

    Attributes
    ----------
    exponent : int
        The exponent of the power of two where it begins.
    significant_bits : int
        Bits of its values, the leading one included.
    step : Fraction
        The distance between its values.
    values : int
        How many values it has: 2**(significant_bits - 1), fewer in the last one of most formats.
    """

    exponent: int
    significant_bits: int
    step: Fraction
    values: int


def binades(fmt: object, /) -> tuple[Binade, ...]:
    """Return the binades that hold a positive value, from the smallest up.

    The significant bits shrink to one in the subnormals of a float, and in an integer towards 1.

    Parameters
    ----------
    fmt : str, int, dtype or Format
        A float, integer or bool format.

    Returns
    -------
    tuple of Binade
        Exponent, significant bits, step and number of values of each.

    Raises
    ------
    ValueError
        If `fmt` is no format, or holds texts or complex numbers.

    Notes
    -----
    Source: the row's own ``source``.

    Examples
    --------
    >>> [(binade.exponent, str(binade.step), binade.values) for binade in binades("float4_e2m1fn")]
    [(-1, '1/2', 1), (0, '1/2', 2), (1, '1', 2), (2, '2', 2)]
    """
    facts = format_facts(fmt)
    row, powers = facts.format, range(binade_of(facts.smallest), binade_of(facts.largest) + 1)
    found = []
    for power in powers:
        bits = power + 1
        if row.kind is Kind.FLOAT:  # the subnormals have the step of the first binade
            bits = min(power - (row.has_zero - row.bias - row.mantissa_bits) + 1, row.mantissa_bits + 1)
        last = power == powers[-1]
        values = facts.values_in_last_binade if last else 2 ** (bits - 1)
        found.append(Binade(power, bits, Fraction(2) ** (power - bits + 1), values))
    return tuple(found)
