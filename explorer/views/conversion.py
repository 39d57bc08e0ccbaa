"""One code through Cast, step by step, through BitCast, and a few codes through ONNX's packing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

import lowprec as lp
from lowprec.reference.exact_cast import Value, decode
from lowprec.reference.explanation import Explanation
from lowprec.spec.formats import FLOAT8_E8M0FNU, NUMERIC, Format
from lowprec.spec.opsets import NEWEST, Caller, cast_rules
from lowprec.spec.packing import packed_bytes

from .numbers import place

__all__ = [
    "CASTABLE", "LONGEST_LIST", "PACKABLE", "BitCasting", "CastOptions", "Conversion", "Packing", "bitcasting",
    "bitcastings",     "cast_options", "conversion", "fitting", "packing", "parse_codes",
]  # fmt: skip

CASTABLE: tuple[Format, ...] = NUMERIC
"""The formats that Cast converts by value."""

PACKABLE: tuple[Format, ...] = tuple(fmt for fmt in NUMERIC if fmt.bits < 8)
"""The formats whose codes share bytes."""

_POWERS = FLOAT8_E8M0FNU  # round_mode came with the format that it concerns

LONGEST_LIST = 24
"""How many codes are drawn: six groups of four 6-bit codes."""


class CastOptions(TypedDict):
    """The options of Cast, as the library takes them."""

    saturate: bool
    round_mode: str | None
    opset: int


def cast_options(saturate: bool, round_mode: str, opset: int) -> CastOptions:
    """Return the options of Cast; `round_mode` where the opset has it."""
    return {"saturate": saturate, "round_mode": round_mode if opset >= _POWERS.since else None, "opset": opset}


def parse_codes(text: str, fmt: Format, parameter: str = "codes") -> tuple[int, ...]:
    """Return the codes of texts split at commas, semicolons and blanks; ValueError names the one at fault."""
    parts = [part for part in re.split(r"[\s,;]+", text[:4000]) if part]
    if not 1 <= len(parts) <= LONGEST_LIST or len(text) > 4000:
        raise ValueError(f"`{parameter}` must be 1 to {LONGEST_LIST} codes or values; got {len(parts)}")
    return tuple(place(part, fmt, f"{parameter}[{index}]").code for index, part in enumerate(parts))


def fitting(text: str, fmt: Format, default: str) -> str:
    """Return a list of codes as it is where it names codes of a format, else the default."""
    try:
        parse_codes(text, fmt)
    except ValueError:
        return default
    return text


@dataclass(frozen=True, slots=True)
class Conversion:
    """One Cast of one code.

    `value` is what the source code stands for, `explanation` how it is rounded and what the rules of the target make of
    it. Where source and target are the same format the bits are `copied`, and `explanation` is None. `result` is the
    kernel's code, `result_value` what it stands for; `rule` is what decided.
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


def _codes(codes: Sequence[int], fmt: Format) -> np.ndarray[Any, Any]:
    return np.array(codes, fmt.code_dtype)


def conversion(
    code: int,
    source: Format,
    target: Format,
    *,
    saturate: bool = True,
    round_mode: str | None = None,
    opset: int = NEWEST,
) -> Conversion:
    """Return how Cast takes a code of one format to another; ValueError where the opset lacks a type or attribute."""
    rules = cast_rules(source, target, saturate, round_mode, opset, Caller("From", "To"))
    value = decode(code, source)
    codes = lp.encode(
        _codes([code], source), target, source=source, saturate=saturate, round_mode=round_mode, opset=opset
    )
    result = int(codes[0])
    treated = target.is_float and target.bits == 8 and rules.saturate  # float8 tables hold for any x, also their own
    if source is target and not treated:
        rule, explanation = "the same format: the bits are copied", None
    else:
        explanation = lp.explain(value, target, saturate=saturate, round_mode=round_mode, opset=opset)
        rule = explanation.rule
    return Conversion(source, target, code, value, explanation, result, decode(result, target), rule)


@dataclass(frozen=True, slots=True)
class BitCasting:
    """The same bits read as another format, or why not (`problem`). `note` says what ONNX itself leaves out."""

    source: Format
    target: Format
    code: int
    value: Value | None
    problem: str = ""
    note: str = ""


def bitcasting(code: int, source: Format, target: Format, *, opset: int = NEWEST) -> BitCasting:
    """Return what BitCast makes of a code; never raises for formats and opsets that exist."""
    try:
        read = np.asarray(lp.bitcast(_codes([code], source), target, source=source, opset=opset))
    except ValueError as error:
        return BitCasting(source, target, code, None, str(error).replace("`to`", "the target"))
    same = int(read.view(target.code_dtype)[0]) & target.code_mask
    note = "ONNX's BitCast has no float6; lowprec reads one float6 as the other." if source.bits == 6 else ""
    return BitCasting(source, target, same, decode(same, target), note=note)


def bitcastings(code: int, source: Format, *, opset: int = NEWEST) -> tuple[BitCasting, ...]:
    """Return what BitCast makes of a code in every other format of its width that it can be read as."""
    found = (bitcasting(code, source, fmt, opset=opset) for fmt in CASTABLE if fmt.bits == source.bits)
    return tuple(read for read in found if read.value is not None and read.target is not source)


@dataclass(frozen=True, slots=True)
class Packing:
    """Codes in ONNX's packed order: `packed` bytes, and for every bit, highest first, the index of its code or None."""

    format: Format
    codes: tuple[int, ...]
    packed: tuple[int, ...]
    owners: tuple[tuple[int | None, ...], ...]

    @property
    def unused_bits(self) -> int:
        """How many bits of the last byte belong to no code and are 0."""
        return sum(owner is None for byte in self.owners for owner in byte)


def packing(codes: Sequence[int], fmt: Format) -> Packing:
    """Return how codes of 2, 4 or 6 bits share bytes; which bit is whose is asked of the packer, one code at a time."""
    packed = lp.pack(_codes(codes, fmt), fmt)
    owners: list[list[int | None]] = [[None] * 8 for _ in range(packed_bytes(len(codes), fmt))]
    for index in range(len(codes)):
        alone = _codes([fmt.code_mask if index == other else 0 for other in range(len(codes))], fmt)
        for byte, bits in enumerate(lp.pack(alone, fmt).tolist()):
            for bit in range(8):
                if bits >> bit & 1:
                    owners[byte][7 - bit] = index
    return Packing(fmt, tuple(codes), tuple(packed.tolist()), tuple(map(tuple, owners)))
