"""The random numbers of stochastic rounding in array-API calls: Philox4x32-10 on int64, no product beyond it."""

from __future__ import annotations

import math
from typing import Any

from ..spec.rounding_modes import Stream, slot_bits
from .array_api_values import HALF, LOW, Library

__all__ = ["random_numbers"]

_ROUNDS = 10
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_CALL_BITS = 128  # four words
_DIGIT = 16  # 32-bit numbers are multiplied digit by digit


def _product(multiplier: int, word: Any) -> tuple[Any, Any]:
    """Return the high and the low 32 bits of the product of two 32-bit numbers."""
    mask = (1 << _DIGIT) - 1
    low = (word & mask) * multiplier
    upper = (word >> _DIGIT) * multiplier + (low >> _DIGIT)  # below 2**48 + 2**32
    return upper >> _DIGIT, ((upper & mask) << _DIGIT) | (low & mask)


def _words(calls: Any, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return the four words of each call of Philox4x32-10 with the counter (low, high, 0, 0)."""
    words = calls & LOW, calls >> HALF, calls & 0, calls & 0
    keys = [seed & LOW, seed >> HALF]
    for _ in range(_ROUNDS):
        high_0, low_0 = _product(_MULTIPLIERS[0], words[0])
        high_2, low_2 = _product(_MULTIPLIERS[1], words[2])
        words = high_2 ^ words[1] ^ keys[0], low_2, high_0 ^ words[3] ^ keys[1], low_0
        keys = [(key + step) & LOW for key, step in zip(keys, _KEY_STEPS, strict=True)]
    return words


def random_numbers(stream: Stream, bits: int, shape: tuple[int, ...], lib: Library) -> Any:
    """Return the random numbers of an array's elements.

    Parameters
    ----------
    stream : Stream
        The seed, and the place of the first element.
    bits : int
        How many random bits each number has, 1 to 32.
    shape : tuple of int
        The shape of the array; its elements count in C order.
    lib : Library
        Where the numbers are computed.

    Returns
    -------
    array
        int64 of that shape.

    Notes
    -----
    Source: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC11); Random123.

    Examples
    --------
    >>> import array_api_compat.numpy as xp
    >>> [hex(number) for number in random_numbers(Stream(0), 16, (3,), Library(xp, "cpu")).tolist()]
    ['0xe8d5', '0x6627', '0xc58d']
    """
    xp, slot, size = lib.xp, slot_bits(bits), math.prod(shape)
    in_call = _CALL_BITS // slot
    first_call, skipped = divmod(stream.offset, in_call)
    calls = xp.arange(-(-(skipped + size) // in_call), dtype=xp.int64, device=lib.device) + first_call
    mask = (1 << slot) - 1
    slots = [(word >> shift) & mask for word in _words(calls, stream.seed) for shift in range(0, HALF, slot)]
    numbers = xp.reshape(xp.stack(slots, axis=-1), (-1,))[skipped : skipped + size]
    return xp.reshape(numbers >> (slot - bits), shape)
