"""What a conversion lost, for the sentences next to its result."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from lowprec import Format, as_format, explain, reference, teaching
from lowprec.explanation import Explanation, LossSentence, hex_float
from lowprec.reference.exact_cast import Value, decode, ulp
from lowprec.spec.formats import Kind, NaNRule

from .numbers import Place, code_text, digits_of, exact, exact_text, place, power_form, short

__all__ = [
    "Anatomy",
    "Field",
    "Neighbour",
    "Part",
    "anatomy",
    "binades",
    "classify",
    "columns",
    "fields",
    "formula",
    "losses_of",
    "has_binades",
    "neighbours",
    "portable_text",
    "table",
]


def losses_of(explanation: Explanation | None) -> tuple[LossSentence, ...]:
    """Return what a conversion lost beyond rounding; nothing where the bits were copied and there is no explanation."""
    return () if explanation is None else teaching.losses(explanation)


_FEWEST_CODES, _MOST_CODES = 64, 1024
"""Codes of the table of a float of more than 8 bits."""

NAMES = ("sign", "exponent", "mantissa")
"""The fields, the highest bits first; the bits of an integer after its sign are called mantissa."""


@dataclass(frozen=True, slots=True)
class Field:
    """Some neighbouring bits of a code: `first` to `last` - 1, counted from the highest."""

    name: str
    label: str
    first: int
    last: int
    bits: str

    @property
    def number(self) -> int:
        """The bits as an unsigned integer."""
        return int(self.bits, 2)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the formula: its text, the field it comes from or "", and whether it is an exponent."""

    text: str
    field: str = ""
    is_exponent: bool = False


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The next value on one side, its code, and notation far away it is (None from or to Inf)."""

    code: int
    value: Value
    distance: Fraction | None


@dataclass(frozen=True, slots=True)
class Anatomy:
    """All about one code.

    `typed` is the number in the text, `error` how far `value` lies above it, `ulps` the same in units of the last place
    (`lowprec.reference.ulp` of the number): all None where the text is a code or there is no such number. `losses` say
    where the number saturated, wrapped or lost its NaN, Inf or sign.
    """

    format: Format
    code: int
    value: Value
    kind: str
    fields: tuple[Field, ...]
    formula: tuple[Part, ...]
    below: Neighbour | None
    above: Neighbour | None
    typed: Value | None
    error: Fraction | None
    ulps: Fraction | None
    losses: tuple[LossSentence, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether the value is the number that was typed, and its sign is not lost."""
        return self.typed is None or (self.value.special == self.typed.special and not self.error and not self.losses)


def fields(code: int, fmt: Format) -> tuple[Field, ...]:
    """Return the fields of a code, those without a bit left out."""
    bits = f"{code:0{fmt.bits}b}"
    sign = int(fmt.signed)
    cuts = (0, sign, fmt.bits - fmt.mantissa_bits if fmt.is_float else sign, fmt.bits)
    labels = NAMES if fmt.is_float else ("sign", "", "value")
    return tuple(
        Field(name, label, first, last, bits[first:last])
        for name, label, (first, last) in zip(NAMES, labels, pairwise(cuts), strict=True)
        if last > first
    )


def classify(code: int, fmt: Format) -> str:
    """Return zero, subnormal, normal, inf or nan; an integer or bool is zero or integer."""
    value = decode(code, fmt)
    if value.special or not value.magnitude:
        return value.special or "zero"
    if not fmt.is_float:
        return "integer"
    return "normal" if code & fmt.exponent_mask or not fmt.has_zero else "subnormal"


def formula(code: int, fmt: Format, kind: str) -> tuple[Part, ...]:
    """Return the pieces of the formula of a code's value; of Inf and NaN, a sentence."""
    parts = {field.name: field for field in fields(code, fmt)}
    if fmt.kind is Kind.BOOL:
        return (Part("every byte but 0 is True"),)
    if kind in ("nan", "inf"):
        return (Part(_special(fmt, kind)),)
    if not fmt.is_float:
        value = Part(str(parts["mantissa"].number), "mantissa")
        weight = (Part(" × 2"), Part(str(fmt.bits - 1), is_exponent=True), Part(" + "))
        return (Part(f"−{parts['sign'].number}", "sign"), *weight, value) if fmt.signed else (value,)
    field = parts["exponent"].number
    power = [
        Part("2"),
        Part(str(max(field, 1) if fmt.has_zero else field), "exponent", True),
        Part(f" − {fmt.bias}", is_exponent=True),
    ]
    sign = (Part("(−1)"), Part(parts["sign"].bits, "sign", True), Part(" × ")) if fmt.signed else ()
    if fmt.mantissa_bits:
        fraction = Part(f"{parts['mantissa'].number}/{1 << fmt.mantissa_bits}", "mantissa")
        return (*sign, *power, Part(f" × ({'1' if field else '0'} + "), fraction, Part(")"))
    return (*sign, *power, *([] if field or not fmt.has_zero else [Part(" × 0")]))


def _special(fmt: Format, kind: str) -> str:
    all_ones = " and ".join(["exponent"] + ["mantissa"] * bool(fmt.mantissa_bits)) if fmt.signed else "code"
    if kind == "inf":
        return {
            NaNRule.IEEE: "exponent all ones, mantissa zero: Inf",
            NaNRule.ALL_ONES: "the code before NaN: Inf",
        }.get(fmt.nan, f"{all_ones} all ones: Inf")
    return {
        NaNRule.IEEE: "exponent all ones, mantissa not zero: NaN",
        NaNRule.ALL_ONES: f"{all_ones} all ones: NaN" if fmt.signed else "all ones: NaN",
        NaNRule.NEGATIVE_ZERO: "the code that would be −0: NaN",
    }[fmt.nan]


def neighbours(code: int, fmt: Format) -> tuple[Neighbour | None, Neighbour | None]:
    """Return the next value below a code's and the next above it."""
    below, above = reference.neighbours(code, fmt)
    return _neighbour(code, below, fmt), _neighbour(code, above, fmt)


def _neighbour(code: int, near: int | None, fmt: Format) -> Neighbour | None:
    if near is None:
        return None
    here, there = decode(code, fmt), decode(near, fmt)
    distance = None if here.special or there.special else abs(there.number - here.number)
    return Neighbour(near, there, distance)


def anatomy(text: str, fmt: object) -> Anatomy:
    """Return all about the code that a text names (see `numbers.place`); ValueError where it names none."""
    row = as_format(fmt)
    named: Place = place(text, row, "code or number")
    code, typed, value = named.code, named.typed, decode(named.code, row)
    comparable = typed is not None and not typed.special and not value.special
    error = value.number - typed.number if comparable and typed else None
    kind = classify(code, row)
    return Anatomy(
        row,
        code,
        value,
        kind,
        fields(code, row),
        formula(code, row, kind),
        *neighbours(code, row),
        typed,
        error,
        None if error is None or typed is None else error / ulp(typed, row),
        losses_of(None if typed is None else explain(typed, row)),
    )


def portable_text(text: str, fmt: object) -> str:
    """Return a text that names the same number in any format, or the text itself if it names none."""
    try:
        named = place(text, as_format(fmt))
    except ValueError:
        return text
    return text if named.typed else exact_text(decode(named.code, as_format(fmt)))


def columns(fmt: Format) -> int:
    """Return how many columns the table of codes has."""
    if fmt.bits in (7, 8):
        return 2 if fmt.kind is Kind.BOOL else 16
    return {2: 2, 3: 4, 4: 4, 64: 4}.get(fmt.bits, 8)


def _value_text(value: Value, fmt: Format, notation: str) -> str:
    if notation == "hex-float":
        return hex_float(value) or str(value)
    room = {16: 8, 8: 16, 4: 30, 2: 30}[columns(fmt)]
    return exact(value, room) if notation == "exact" else short(value, room, digits_of(fmt) if fmt.bits > 8 else 4)


def window(code: int, fmt: Format) -> range:
    """Return the codes of the table that holds a code: all up to 8 bits, else some aligned ones.

    They are those of its binade up to 16 bits, but neither few nor thousands, and 64 beyond.
    """
    if fmt.bits <= 8:
        return range(2 if fmt.kind is Kind.BOOL else 1 << fmt.bits)
    count = min(max(1 << fmt.mantissa_bits, _FEWEST_CODES), _MOST_CODES) if fmt.is_float and fmt.bits <= 16 else 64
    return range(code // count * count, (code // count + 1) * count)


def table(code: int, fmt: Format, notation: str) -> tuple[tuple[str, str, str, int], ...]:
    """Return (code, value, class, code as a number) of the codes around one, values in a notation of the page."""
    return _cells(window(code, fmt), fmt, notation)


@functools.lru_cache(maxsize=16)  # a step to the next code shows the same table
def _cells(codes: range, fmt: Format, notation: str) -> tuple[tuple[str, str, str, int], ...]:
    return tuple(
        (code_text(code, fmt, ""), _value_text(decode(code, fmt), fmt, notation), classify(code, fmt), code)
        for code in codes
    )


def has_binades(fmt: Format) -> bool:
    """Whether a format has more codes than a table shows at once, in binades of several codes."""
    return fmt.is_float and 8 < fmt.bits <= 16 and fmt.mantissa_bits > 0


def binades(fmt: Format) -> tuple[tuple[str, str, str, int], ...]:
    """Return (first value, spacing, class, first code) of each binade of such a float, the negative ones last.

    The first value of the subnormals is the smallest that is not zero.
    """
    rows = []
    for first in range(0, 1 << fmt.bits, 1 << fmt.mantissa_bits):
        kinds = {code: classify(code, fmt) for code in (first, first + 1)}
        number = next((code for code, kind in kinds.items() if kind in ("subnormal", "normal")), None)
        if number is None:
            rows.append(("Inf, NaN", "", "nan", first))
        else:
            value = decode(number, fmt)
            rows.append((power_form(value), f"step {power_form(ulp(value, fmt))}", kinds[number], first))
    return tuple(rows)
