"""All quotients so close to a midpoint beside a tie that a product with a reciprocal might round to another code."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class Hard(NamedTuple):
    """float32 values and scales, and the odd number of each: x / scale lies within a float32 step of odd / 2."""

    x: np.ndarray
    scale: np.ndarray
    odd: np.ndarray


def _midpoints(odd: int) -> Iterator[tuple[int, int]]:
    """Yield both midpoints between odd / 2 and its float32 neighbours, as (m, exponent): m * 2**exponent, 25 bits."""
    length = odd.bit_length()
    yield (odd << (25 - length)) + 1, length - 26
    # Below a power of two float32 numbers are twice as close.
    yield ((odd << (25 - length)) - 1, length - 26) if odd > 1 else ((1 << 25) - 1, -26)


@functools.cache
def hardest_quotients() -> Hard:
    """Return all x and scales whose quotients lie next to a midpoint between a tie and its neighbour.

    A tie of a target is an odd number times a power of two: for integers of 8 bits a half, an odd number of 9 bits at
    most; for a float with k mantissa bits one of k + 2 bits at most, fewer where it is subnormal, which is 9 for
    bfloat16 and fewer for what has 8 bits. The list has every odd number of 9 bits. Powers of two change nothing: ties
    are at least 2**-38 and scales more than 2**-60, which makes remainders multiples of 2**-(38 + 23 + 60 + 23), far
    from where float32 underflows; what is nearer to it has the code 0.

    x, scale and m are integers of 24, 24 and 25 bits times powers of two, m an odd one: odd * 2**t plus or minus 1, for
    the last of its bits is worth half a step of float32. x / scale = m + r / scale, so x * 2**c - scale * m = r, where
    c is 24 or 25: modulo 2**c, each r has one scale, and that scale one x. In steps of float32 x / scale is
    r / (2 * scale) away from m: less than 3.5 * 2**-24 means that r is less than 7. Here r goes to 15.
    """
    found = []
    for odd in range(1, 512, 2):
        for m, exponent in _midpoints(odd):
            for c in (24, 25):
                inverse = pow(m, -1, 1 << c)
                for r in range(-15, 16):
                    scale = r * -inverse % (1 << c)
                    x = (scale * m + r) >> c
                    if 1 << 23 <= scale < 1 << 24 and 1 << 23 <= x < 1 << 24:
                        found.append((x, scale, c + exponent, odd))
    x, scale, exponent, odd = np.array(found).T
    return Hard(np.ldexp(x.astype(np.float32), exponent), scale.astype(np.float32), odd)
