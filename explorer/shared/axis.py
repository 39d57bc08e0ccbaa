"""Round numbers on an axis: multiples of 1, 2 or 5 times a power of ten, or powers of ten; places for labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

__all__ = ["log_ticks", "spread", "ticks"]

_STEPS = (1, 2, 5, 10)


def ticks(low: Fraction, high: Fraction, most: int) -> tuple[Fraction, ...]:
    """Return round numbers from one number to a larger one, evenly spaced, at most so many.

    Examples
    --------
    >>> [str(number) for number in ticks(Fraction(-1, 16), Fraction(1, 16), 5)]
    ['-1/20', '0', '1/20']
    >>> [int(number) for number in ticks(Fraction(0), Fraction(2), 3)]
    [0, 1, 2]
    """
    power = Fraction(10) ** (math.floor(math.log10((high - low) / most)) - 1)
    while True:
        for digit in _STEPS:
            step = digit * power
            first, last = math.ceil(low / step), math.floor(high / step)
            if last - first < most:
                return tuple(number * step for number in range(first, last + 1))
        power *= 10


def log_ticks(low: Fraction, high: Fraction, most: int) -> tuple[Fraction, ...]:
    """Return round numbers from a positive number to a larger one, about evenly spaced on a logarithmic axis.

    Powers of ten, of which some are left out where they are many; 1, 2 and 5 times these where they are few.

    Examples
    --------
    >>> [str(number) for number in log_ticks(Fraction(1, 2), Fraction(4), 6)]
    ['1/2', '1', '2']
    >>> [int(number) for number in log_ticks(Fraction(1), Fraction(10**6), 4)]
    [1, 100, 10000, 1000000]
    """
    first, last = math.floor(_log10(low)), math.ceil(_log10(high))
    finest = [digit * Fraction(10) ** power for power in range(first, last + 1) for digit in (1, 2, 5)]
    shown = [number for number in finest if low <= number <= high]
    every = 1
    while len(shown) > most:
        shown = [Fraction(10) ** power for power in range(first, last + 1) if power % every == 0]
        shown = [number for number in shown if low <= number <= high]
        every += 1
    return tuple(shown)


def _log10(number: Fraction) -> float:
    return math.log10(number.numerator) - math.log10(number.denominator)


def spread(wanted: Sequence[float], gap: float, top: float, bottom: float) -> list[float]:
    """Return places for labels, each near the one that it wants, none over another, `gap` apart where there is room.

    Examples
    --------
    >>> spread([10, 12, 90], 20, 0, 100)
    [10, 30, 90]
    """
    gap = min(gap, (bottom - top) / max(len(wanted), 1))
    placed = dict.fromkeys(range(len(wanted)), 0.0)
    last = top - gap
    order = sorted(placed, key=lambda index: wanted[index])
    for rank, index in enumerate(order):
        room = bottom - gap * (len(order) - 1 - rank)
        last = placed[index] = min(max(wanted[index], last + gap), room)
    return list(placed.values())
