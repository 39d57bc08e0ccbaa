"""The oracle of Cast for every float32 code: runs of consecutive codes that become the same code of the target.

A cast rounds a number to one of its two neighbours, by where it lies between them, and never turns the order of two
numbers round. So on the float32 codes of one sign, which have the order of their magnitudes, the result changes only at
a value of the target or at the middle of two. `cast_runs` places these in integer arithmetic, asks the exact oracle at
both ends of every stretch in between, and refuses a stretch whose ends differ. It has no rule of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..spec.formats import FLOAT32, Format
from .exact_cast import encode
from .exact_values import bracket, decode, finite_count, magnitude_of

__all__ = ["CODES", "Codes", "Runs", "cast_runs", "first_float32", "pack_codes"]

Codes = np.ndarray[Any, Any]

CODES = 1 << 32
"""How many float32 codes there are."""

_SIGN = 1 << 31
_INF = 0x7F800000


class Runs(NamedTuple):
    """What consecutive float32 codes become: each of `codes` as often as `lengths` says."""

    lengths: Codes
    codes: Codes

    @property
    def key(self) -> tuple[bytes, bytes]:
        """What equal runs have in common."""
        return self.lengths.tobytes(), self.codes.tobytes()

    def expand(self) -> Codes:
        """Return a code for every input."""
        return np.repeat(self.codes, self.lengths)


def first_float32(magnitude: Fraction) -> int:
    """Return the first code of float32, without sign, whose value is not below a magnitude; Inf's and later beyond.

    Examples
    --------
    >>> hex(first_float32(Fraction(1))), hex(first_float32(Fraction(1, 3))), first_float32(Fraction(1, 2**160))
    ('0x3f800000', '0x3eaaaaab', 1)
    """
    top, bottom = magnitude.numerator, magnitude.denominator
    if not top:
        return 0
    exponent = top.bit_length() - bottom.bit_length()
    if top << max(-exponent, 0) < bottom << max(exponent, 0):
        exponent -= 1
    exponent = max(exponent, -126)  # the subnormals have the step of the first binade
    shift = 23 - exponent
    steps = -(-(top << max(shift, 0)) // (bottom << max(-shift, 0)))  # rounded up
    return ((exponent + 126) << 23) + steps


def _places(target: Format, low: Fraction, high: Fraction) -> Iterator[Fraction]:
    """Yield the values of the target around two magnitudes and between them, and the middles of those."""
    first, last = max(bracket(low, target)[0], 0), min(bracket(high, target)[1], finite_count(target))
    for code in range(first, last + 1):
        value = magnitude_of(code, target)
        yield value
        if code < last:
            yield (value + magnitude_of(code + 1, target)) / 2


def _stretches(target: Format, first: int, end: int) -> list[int]:
    """Return where stretches of magnitude codes of float32 begin, then `end`: within each the result is the same."""
    cuts = {first, end, 1}  # zero is a stretch by itself
    finite = min(end, _INF)
    if first < finite:
        low, high = (decode(code, FLOAT32).magnitude for code in (first, finite - 1))
        for place in _places(target, low, high):
            code = first_float32(place)
            cuts.add(code)
            if code < _INF and decode(code, FLOAT32).magnitude == place:
                cuts.add(code + 1)
    cuts |= {_INF, _INF + 1}  # then Inf, then the NaNs, whose payloads the exact oracle does not know
    return sorted(cut for cut in cuts if first <= cut <= end)


def cast_runs(target: Format, options: Mapping[str, Any], first: int, end: int) -> Runs:
    """Return what the float32 codes from `first` to below `end`, all of one sign, become.

    `target` is a float format of at most 16 bits; `options` are those of `reference.encode`.

    Examples
    --------
    >>> from lowprec import formats
    >>> runs = cast_runs(formats["float4_e2m1fn"], {}, 0x40000000, 0x40C00000)  # 2 to 6: ties at 2.5, 3.5 and 5
    >>> runs.codes.tolist(), [hex(length) for length in runs.lengths.tolist()]
    ([4, 5, 6, 7], ['0x200001', '0x3fffff', '0x400001', '0x1fffff'])
    """
    assert 0 <= first < end <= CODES
    assert target.is_float
    assert target.bits <= 16
    sign = first & _SIGN
    assert (end - 1) & _SIGN == sign
    cuts = _stretches(target, first - sign, end - sign)
    lengths: list[int] = []
    codes: list[int] = []
    for begin, after in pairwise(cuts):
        ends = {encode(decode(sign + code, FLOAT32), target, **options) for code in {begin, after - 1}}
        if len(ends) > 1:
            raise AssertionError(f"{target.name}: {sign + begin:#x} to {sign + after - 1:#x} is more than one run")
        (code,) = ends
        if codes and codes[-1] == code:
            lengths[-1] += after - begin
        else:
            lengths.append(after - begin)
            codes.append(code)
    return Runs(np.array(lengths, np.int64), np.array(codes, target.code_dtype))


def pack_codes(codes: Codes, bits: int) -> Codes:
    """Return codes in the order of ONNX's raw_data: the first in the lowest bits, the tail zero.

    Examples
    --------
    >>> pack_codes(np.array([1, 15, 3], np.uint8), 4).tolist()
    [241, 3]
    """
    each = np.unpackbits(codes.reshape(-1, 1), axis=1, count=bits, bitorder="little")
    return np.packbits(each, bitorder="little")
