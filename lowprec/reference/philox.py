"""The random numbers of stochastic rounding: Philox4x32-10, and which bits of it an element of an array takes.

`random_word` follows the definition with Python integers, `random_words` computes arrays with NumPy's uint64. Source:
Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (SC11); Random123, ``include/Random123/philox.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..spec.rounding_modes import check_random_bits, make_stream, slot_bits

__all__ = ["philox", "random_word", "random_words"]

_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85  # what the keys grow by: the golden ratio, and the root of 3 less 1, in 32 bits
_ROUNDS = 10
_WORD = 0xFFFF_FFFF


def philox(counter: Sequence[Any], key: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Return the four 32-bit words of Philox4x32-10 for a counter of four words and a key of two.

    The words are Python integers, or uint64 arrays of numbers below 2**32: every product then has 64 bits or fewer.

    Examples
    --------
    >>> [f"{word:08x}" for word in philox((0, 0, 0, 0), (0, 0))]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    a, b, c, d = counter
    k, m = key
    for _ in range(_ROUNDS):
        first, second = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b, c, d = (second >> 32) ^ b ^ k, second & _WORD, (first >> 32) ^ d ^ m, first & _WORD
        k, m = (k + _WEYL[0]) & _WORD, (m + _WEYL[1]) & _WORD
    return a, b, c, d


def random_word(seed: int, n: int, bits: int) -> int:
    """Return the random number of the element at place `n` of a seed's stream: `bits` bits, 1 to 32.

    The stream is the 16 bytes, little-endian, of the calls with the counters 0, 1, 2, … one after the other; the key is
    the seed. Element n takes the n-th slot of 8, 16 or 32 bits, the narrowest that is wide enough, and of it the upper
    bits.

    Examples
    --------
    >>> [f"{random_word(0, n, 16):04x}" for n in range(4)]
    ['e8d5', '6627', 'c58d', 'e169']
    """
    stream, width = make_stream(seed, n), slot_bits(check_random_bits(bits, "bits"))
    call, slot = divmod(stream.offset, 128 // width)
    words = philox((call & _WORD, call >> 32, 0, 0), (stream.seed & _WORD, stream.seed >> 32))
    block = b"".join(word.to_bytes(4, "little") for word in words)
    size = width // 8
    return int.from_bytes(block[slot * size : (slot + 1) * size], "little") >> (width - bits)


def random_words(seed: int, first: int, count: int, bits: int) -> np.ndarray[Any, Any]:
    """Return the random numbers of `count` elements from place `first` on, as uint64.

    Examples
    --------
    >>> random_words(0, 2, 3, 4).tolist(), [random_word(0, n, 4) for n in (2, 3, 4)]
    ([2, 6, 8], [2, 6, 8])
    """
    stream, width = make_stream(seed, first), slot_bits(check_random_bits(bits, "bits"))
    slots = 128 // width
    start, skipped = divmod(stream.offset, slots)
    calls = np.arange((skipped + count + slots - 1) // slots, dtype=np.uint64) + np.uint64(start)
    zero = np.zeros_like(calls)
    key = [np.uint64(part) for part in (stream.seed & _WORD, stream.seed >> 32)]
    words = np.stack(philox((calls & _WORD, calls >> 32, zero, zero), key), axis=-1)
    found = words.astype("<u4").view(f"<u{width // 8}").reshape(-1)[skipped : skipped + count]
    return found.astype(np.uint64) >> np.uint64(width - bits)
