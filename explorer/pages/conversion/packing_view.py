"""Cast & BitCast: one code cast step by step, its bits read as other formats, and codes packed in bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import lowprec as lp
from lowprec.spec.formats import NUMERIC, Format
from lowprec.spec.packing import packed_bytes

from ...shared.numbers import code_text, place
from .view import code_array

__all__ = [
    "LONGEST_LIST",
    "PACKABLE",
    "BitRun",
    "PackedByte",
    "Packing",
    "codes_or_default",
    "packing",
    "packing_problem",
    "packing_sentence",
    "parse_codes",
]

PACKABLE: tuple[Format, ...] = tuple(fmt for fmt in NUMERIC if fmt.bits < 8)
"""The formats whose codes share bytes."""

_PACKED_WIDTHS = sorted({fmt.bits for fmt in PACKABLE})

LONGEST_LIST = 24
"""How many codes are drawn: six groups of four 6-bit codes."""


def parse_codes(text: str, fmt: Format, parameter: str = "codes") -> tuple[int, ...]:
    """Return the codes of texts split at commas, semicolons and blanks; ValueError names the one at fault."""
    parts = [part for part in re.split(r"[\s,;]+", text[:4000]) if part]
    if not 1 <= len(parts) <= LONGEST_LIST or len(text) > 4000:
        raise ValueError(f"`{parameter}` must be 1 to {LONGEST_LIST} codes or values; got {len(parts)}")
    return tuple(place(part, fmt, f"{parameter}[{index}]").code for index, part in enumerate(parts))


def codes_or_default(text: str, fmt: Format, default: str) -> str:
    """Return a list of codes unchanged if a format has them all, else the default."""
    try:
        parse_codes(text, fmt)
    except ValueError:
        return default
    return text


@dataclass(frozen=True, slots=True)
class BitRun:
    """Neighbouring bits of a byte that belong to one code, by its index, or to none; as text, the highest first."""

    code_index: int | None
    bits: str


@dataclass(frozen=True, slots=True)
class PackedByte:
    """A byte and its bits, the highest first."""

    value: int
    runs: tuple[BitRun, ...]


@dataclass(frozen=True, slots=True)
class Packing:
    """Codes in ONNX's packed order: the `packed` bytes, and for each bit, highest first, the index of its code."""

    format: Format
    codes: tuple[int, ...]
    packed: tuple[int, ...]
    owners: tuple[tuple[int | None, ...], ...]

    @property
    def unused_bits(self) -> int:
        """How many bits of the last byte belong to no code and are 0."""
        return sum(owner is None for byte in self.owners for owner in byte)

    @property
    def bytes(self) -> tuple[PackedByte, ...]:
        """The bytes, the bits of each code together."""
        packed = []
        for byte, owners in zip(self.packed, self.owners, strict=True):
            bits = iter(f"{byte:08b}")
            runs = tuple(BitRun(index, "".join(next(bits) for _ in run)) for index, run in groupby(owners))
            packed.append(PackedByte(byte, runs))
        return tuple(packed)


def packing_problem(fmt: Format) -> str:
    """Return what is wrong with a format whose codes are to share bytes; nothing where they do."""
    widths = f"{', '.join(map(str, _PACKED_WIDTHS[:-1]))} or {_PACKED_WIDTHS[-1]}"
    return "" if fmt.bits in _PACKED_WIDTHS else f"must have {widths} bits to share bytes; {fmt.name} has {fmt.bits}"


def packing(codes: Sequence[int], fmt: Format) -> Packing:
    """Return how codes of 2, 4 or 6 bits share bytes; packing one code at a time shows which bits are its own."""
    packed = lp.pack(code_array(codes, fmt), fmt)
    owners: list[list[int | None]] = [[None] * 8 for _ in range(packed_bytes(len(codes), fmt))]
    for index in range(len(codes)):
        alone = code_array([fmt.code_mask if index == other else 0 for other in range(len(codes))], fmt)
        for byte, bits in enumerate(lp.pack(alone, fmt).tolist()):
            for bit in range(8):
                if bits >> bit & 1:
                    owners[byte][7 - bit] = index
    return Packing(fmt, tuple(codes), tuple(packed.tolist()), tuple(map(tuple, owners)))


def packing_sentence(packing: Packing) -> str:
    """Return which byte the first codes make, up to where codes and bytes begin together again."""
    fmt = packing.format
    codes = packing.codes[: math.lcm(fmt.bits, 8) // fmt.bits]
    packed = packing.packed[: packed_bytes(len(codes), fmt)]
    before = " ".join(code_text(code, fmt) for code in codes)
    after = " ".join(f"0x{byte:02X}" for byte in packed)
    bits = f"the {fmt.bits} lowest bits" if fmt.bits != 4 else "the low nibble"
    rest = "of the first byte"
    if len(codes) > 1:
        rest += ", the second one the high nibble" if fmt.bits == 4 else ", the next one the bits above"
    return f"{before} → {'byte' if len(packed) == 1 else 'bytes'} {after}: the first code takes {bits} {rest}."
