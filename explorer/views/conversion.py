"""Cast & BitCast: one code cast step by step, its bits read as other formats, and codes packed in bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Unpack

import numpy as np

import lowprec as lp
from lowprec import teaching
from lowprec.explanation import Explanation
from lowprec.reference.exact_cast import Value, decode
from lowprec.spec.formats import NUMERIC, Format
from lowprec.spec.operator_versions import NEWEST, Caller, cast_rules
from lowprec.spec.packing import packed_bytes

from .cast_options import CastOptions, options_for
from .numbers import code_text, place, short

__all__ = [
    "CASTABLE",
    "LONGEST_LIST",
    "PACKABLE",
    "BitCasting",
    "BitRun",
    "Conversion",
    "NeighbourRow",
    "PackedByte",
    "Packing",
    "bitcasting",
    "bitcastings",
    "codes_or_default",
    "conversion",
    "loss_text",
    "packing",
    "packing_problem",
    "packing_sentence",
    "parse_codes",
]

CASTABLE: tuple[Format, ...] = NUMERIC
"""The formats that Cast converts by value."""

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
class NeighbourRow:
    """A value next to the source value, and its code; the midpoint of two of them has none.

    `is_result` says that Cast gives this code; of the midpoint, that the source value is there: a tie.
    """

    name: str
    code: int | None
    value: Value
    is_result: bool


@dataclass(frozen=True, slots=True)
class Conversion:
    """One Cast of one code.

    `value` is the value of the source code, `explanation` how it is rounded by the rules of the target. Where source
    and target are the same format the bits are `copied`, and `explanation` is None. `result` is the kernel's code,
    `result_value` its value, `rule` the rule that decided.
    """

    source: Format
    target: Format
    code: int
    value: Value
    explanation: Explanation | None
    result: int
    result_value: Value
    rule: str

    @property
    def copied(self) -> bool:
        """Whether the bits were copied."""
        return self.explanation is None

    @property
    def exact(self) -> bool:
        """Whether the result is the value itself, its sign included; NaN is NaN."""
        same = self.value.special == self.result_value.special and self.value.magnitude == self.result_value.magnitude
        return same and (self.value.negative == self.result_value.negative or self.value.special == "nan")

    @property
    def neighbours(self) -> tuple[NeighbourRow, ...]:
        """The values of the target on both sides of the source value and their midpoint, the highest first."""
        explanation = self.explanation
        if explanation is None or not (explanation.lower or explanation.upper):
            return ()
        rows = []
        for name, near in (("upper", explanation.upper), ("lower", explanation.lower)):
            if near is not None:
                rows.append(NeighbourRow(name, *near, near[0] == self.result))
        if explanation.midpoint is not None:
            midpoint = NeighbourRow("midpoint", None, explanation.midpoint, explanation.is_tie)
            rows.insert(explanation.upper is not None, midpoint)
        return tuple(rows)

    def is_rounded_from(self, number: Value | None) -> bool:
        """Whether the source code was given as a number that the source format does not have."""
        return number is not None and (number.special, number.number) != (self.value.special, self.value.number)


def loss_text(conversion: Conversion) -> str:
    """Return what a Cast lost, as text."""
    if conversion.exact:
        return "the same value: nothing was lost"
    errors = teaching.error_of(conversion.value, conversion.result_value, conversion.target)
    if not errors.absolute or errors.ulps is None:
        return "not the same value"
    return f"error {short(errors.absolute)}, {short(errors.ulps)} ulp of {conversion.target.name}"


def _codes(codes: Sequence[int], fmt: Format) -> np.ndarray[Any, Any]:
    return np.array(codes, fmt.code_dtype)


def conversion(code: int, source: Format, target: Format, **options: Unpack[CastOptions]) -> Conversion:
    """Return how Cast takes a code of one format to another; ValueError where the opset lacks a type or attribute."""
    asked = options_for(target, options)
    by_value = "rounding" in asked  # which converts a format to itself, too
    if not by_value:
        attributes = asked.get("saturate", True), asked.get("round_mode"), asked.get("opset", NEWEST)
        rules = cast_rules(source, target, *attributes, Caller("From", "To"))
        # float8 tables hold for any x, also their own
        by_value = source is not target or (target.saturates == "asked" and rules.saturate)
    value = decode(code, source)
    result = int(lp.encode(_codes([code], source), target, source=source, **asked)[0])
    explanation = lp.explain(value, target, **asked) if by_value else None
    rule = explanation.rule if explanation else "the same format: the bits are copied"
    return Conversion(source, target, code, value, explanation, result, decode(result, target), rule)


@dataclass(frozen=True, slots=True)
class BitCasting:
    """The same bits read as another format, or why not (`problem`); `note` says what ONNX itself lacks."""

    source: Format
    target: Format
    code: int
    value: Value | None
    problem: str = ""
    note: str = ""


def bitcasting(code: int, source: Format, target: Format, *, opset: int = NEWEST) -> BitCasting:
    """Return the BitCast of a code; never raises for formats and opsets that exist."""
    try:
        values = np.asarray(lp.bitcast(_codes([code], source), target, source=source, opset=opset))
    except ValueError as error:
        return BitCasting(source, target, code, None, str(error).replace("`to`", "the target"))
    result = int(values.view(target.code_dtype)[0]) & target.code_mask
    note = "ONNX's BitCast has no float6; lowprec reads one float6 as the other." if source.bits == 6 else ""
    return BitCasting(source, target, result, decode(result, target), note=note)


def bitcastings(code: int, source: Format, *, opset: int = NEWEST) -> tuple[BitCasting, ...]:
    """Return the BitCasts of a code to every other format of its width."""
    candidates = (bitcasting(code, source, fmt, opset=opset) for fmt in CASTABLE if fmt.bits == source.bits)
    return tuple(bitcast for bitcast in candidates if bitcast.value is not None and bitcast.target is not source)


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
    packed = lp.pack(_codes(codes, fmt), fmt)
    owners: list[list[int | None]] = [[None] * 8 for _ in range(packed_bytes(len(codes), fmt))]
    for index in range(len(codes)):
        alone = _codes([fmt.code_mask if index == other else 0 for other in range(len(codes))], fmt)
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
