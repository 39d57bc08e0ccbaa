"""Which values of one format another one holds exactly: how many, in which binades, and their codes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from ..reference.values import Value, binade_of, decode
from ..spec.formats import Format, Kind, as_format
from ..spec.memo import CACHED
from ..spec.operator_versions import NEWEST, check_type
from .format_facts import FormatFacts, format_facts

__all__ = ["HeldBinade", "HeldValues", "values_held"]


class HeldBinade(NamedTuple):
    """The values v of a format with ``2**exponent <= |v| < 2**(exponent + 1)`` and one sign, and those that are held.

    Attributes
    ----------
    exponent : int
        The exponent of the power of two where it begins.
    negative : bool
        Whether these are the negative ones.
    values : int
        How many values the format has there.
    codes : range
        The codes of those that the other format holds, from the smallest magnitude up.
    """

    exponent: int
    negative: bool
    values: int
    codes: range

    @property
    def held(self) -> int:
        """How many of the values are held."""
        return (self.codes.stop - self.codes.start) // self.codes.step  # more than len() counts, in uint64


@dataclass(frozen=True, slots=True)
class HeldValues:
    """Which values of a format another one holds exactly (see `values_held`).

    Attributes
    ----------
    source, target : Format
        The format whose values these are, and the one that holds them or not.
    numbers, held : int
        How many distinct finite values the source has, -0 being 0; how many of them the target holds.
    zero, negative_zero, inf, nan : bool or None
        Whether the target holds 0, -0, both Inf or the one that there is, and any NaN; None where the source has none.
    binades : tuple of HeldBinade
        The values other than 0: the negative ones, then the positive ones, each from the smallest magnitude up.
    """

    source: Format
    target: Format
    numbers: int
    held: int
    zero: bool | None
    negative_zero: bool | None
    inf: bool | None
    nan: bool | None
    binades: tuple[HeldBinade, ...]

    @property
    def lost(self) -> int:
        """How many of the source's finite values the target does not hold."""
        return self.numbers - self.held

    def holds(self, code: int) -> bool:
        """Return whether the target holds what a code of the source stands for, -0, Inf and NaN too."""
        value = decode(code, self.source)
        if value.special or not value.magnitude:
            found = {"nan": self.nan, "inf": self.inf}.get(value.special, self.zero)
            return bool(self.negative_zero if value.negative and not value.special else found)
        if self.source.kind is Kind.BOOL:
            code = 1  # every byte but 0 is True
        bits, power = code % 2**self.source.bits, binade_of(value)
        return any(bits in one.codes for one in self.binades if (one.exponent, one.negative) == (power, value.negative))

    def codes(self) -> Iterator[int]:
        """Yield the codes of the finite values that are held, in the order of `binades`; that of 0 is first."""
        if self.zero:
            yield 0
        for binade in self.binades:
            yield from binade.codes


def values_held(a: object, b: object, /) -> HeldValues:
    """Return which values of format A format B holds exactly: those that a cast from A to B and back keeps.

    Counts are of distinct finite numbers, as in `format_facts`: -0 counts as 0. What B does with the special values of
    A has attributes of its own: -0, Inf and NaN are held where B has them. A format without zero does not hold 0.

    Parameters
    ----------
    a, b : str, int, dtype or Format
        Float, integer or bool formats, of any width; described ones too.

    Returns
    -------
    HeldValues
        The counts, and the codes of A that are held, by binade.

    Raises
    ------
    ValueError
        If one is no format, or holds texts or complex numbers.

    Notes
    -----
    Source: the rows' own ``source``; in a binade both formats have multiples of powers of two.

    Examples
    --------
    >>> found = values_held("float16", "float8_e4m3fn")
    >>> found.numbers, found.held, found.inf, found.nan
    (63487, 253, False, True)
    >>> values_held("int8", "float8_e4m3fn").held, values_held("float8_e4m3fn", "float8_e8m0fnu").held
    (80, 18)
    >>> [hex(code) for code in values_held("float4_e2m1fn", "int4").codes()]
    ['0x0', '0xa', '0xc', '0xd', '0xe', '0xf', '0x2', '0x4', '0x5', '0x6', '0x7']
    """
    rows = as_format(a, parameter="a"), as_format(b, parameter="b")
    for name, row in zip("ab", rows, strict=True):
        check_type(row, NEWEST, name)
    return _held(*rows)


_facts = lru_cache(maxsize=CACHED)(format_facts)


@lru_cache(maxsize=CACHED)
def _held(source: Format, target: Format) -> HeldValues:
    facts, other = _facts(source), _facts(target)
    found = tuple(one for negative in (True, False) for one in _binades(negative, facts, other))
    has_zero, holds_zero = (row.has_zero or not row.is_float for row in (source, target))
    zero = holds_zero if has_zero else None
    both_infs = bool(other.inf_codes) and (target.signed or not source.signed)
    return HeldValues(
        source=source,
        target=target,
        numbers=facts.numbers,
        held=sum(one.held for one in found) + bool(zero),
        zero=zero,
        negative_zero=None if facts.negative_zero is None else other.negative_zero is not None,
        inf=both_infs if facts.inf_codes else None,
        nan=bool(other.nan_codes) if facts.nan_codes else None,
        binades=found,
    )


def _end(negative: bool, facts: FormatFacts) -> Fraction:
    """Return the largest magnitude of a sign, 0 where a format has none."""
    if not negative:
        return facts.largest.magnitude
    return facts.lowest.magnitude if facts.lowest.negative else Fraction(0)


def _binades(negative: bool, facts: FormatFacts, other: FormatFacts) -> Iterator[HeldBinade]:
    own = _end(negative, facts)
    if not own:
        return
    shared = min(own, _end(negative, other))
    first, last = binade_of(facts.smallest), binade_of(Value(own))
    last_shared = binade_of(Value(shared)) if shared else first - 1
    for power in range(first, last + 1):
        fine, coarse = (_step_exponent(power, one.format) for one in (facts, other))
        values = _count(power, fine, own, last)
        held = _count(power, max(fine, coarse), shared, last_shared)
        stride = 2 ** max(coarse - fine, 0)
        code = _code(power, fine, negative, facts.format)
        if facts.format.kind is not Kind.FLOAT and negative:  # two's complement: the magnitude grows as the code falls
            stride = -stride
        yield HeldBinade(power, negative, values, range(code, code + held * stride, stride))


def _step_exponent(power: int, fmt: Format) -> int:
    """Return the exponent of the distance between values in a binade."""
    return max(power, fmt.has_zero - fmt.bias) - fmt.mantissa_bits if fmt.kind is Kind.FLOAT else 0


def _count(power: int, step: int, end: Fraction, last: int) -> int:
    """Return how many multiples of ``2**step`` lie in the binade of ``2**power``, up to an end in the binade `last`."""
    if step > power or power > last:
        return 0
    return 1 << power - step if power < last else int((end - Fraction(2) ** power) // Fraction(2) ** step) + 1


def _code(power: int, step: int, negative: bool, fmt: Format) -> int:
    """Return the code of plus or minus a power of two."""
    if fmt.kind is not Kind.FLOAT:
        return int(2**fmt.bits - 2**power if negative else 2**power)
    is_normal = power + fmt.bias >= fmt.has_zero
    magnitude = power + fmt.bias << fmt.mantissa_bits if is_normal else 1 << power - step
    return int(magnitude + 2 ** (fmt.bits - 1) * negative)
