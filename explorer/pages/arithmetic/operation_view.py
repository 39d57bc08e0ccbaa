"""One operation in a format: its operands, the exact result, where that lies, and what every rounding makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lowprec import Format, teaching
from lowprec.reference.values import Value, decode
from lowprec.spec.formats import BFLOAT16, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT16, FLOAT32
from lowprec.spec.rounding_modes import STOCHASTIC, RoundingName
from lowprec.teaching.arithmetic import OPERATIONS, Operation, rounded_as

from ...shared.cast_options import DETERMINISTIC, overflow_of
from ...shared.numbers import place
from ...shared.roundings import Chance, rounding
from .lens import Lens, lens_of

__all__ = [
    "EXAMPLES",
    "ROUNDED",
    "SYMBOLS",
    "Calculation",
    "Operand",
    "Row",
    "calculate",
    "changed_text",
    "operand_count",
]

ROUNDED = (*DETERMINISTIC, *STOCHASTIC)
"""The roundings of an operation or a sum."""

SYMBOLS = {"add": "+", "subtract": "−", "multiply": "×", "divide": "/", "fused_multiply_add": "× +"}
"""The sign of each operation; a fused multiply-add has two."""

EXAMPLES = (
    ("256 + 1", {"op": "add", "fmt": BFLOAT16.name, "a": "256", "b": "1"}),
    ("0.1 + 0.2", {"op": "add", "a": "0.1", "b": "0.2"}),
    ("240 + 240", {"op": "add", "fmt": FLOAT8_E4M3FN.name, "a": "240", "b": "240"}),
    ("cancellation", {"op": "subtract", "fmt": FLOAT16.name, "a": "1.001", "b": "1"}),
    ("Inf − Inf", {"op": "subtract", "fmt": FLOAT8_E5M2.name, "a": "0x7C", "b": "0x7C"}),
    ("−0 + 0", {"op": "add", "fmt": FLOAT16.name, "a": "-0", "b": "0"}),
    ("1 / 0", {"op": "divide", "a": "1", "b": "0"}),
    ("1 / 3", {"op": "divide", "a": "1", "b": "3"}),
    ("fused", {"op": "fused_multiply_add", "fmt": FLOAT16.name, "a": "0x1.004p0", "b": "0x1.004p0", "c": "-0x1.008p0"}),
)
"""Labels, and the fields that a click sets; the others stay."""


@dataclass(frozen=True, slots=True)
class Operand:
    """What was typed, and its code and value in the format; `typed` is None where that was a code."""

    name: str
    typed: Value | None
    code: int
    value: Value

    @property
    def is_changed(self) -> bool:
        """Whether the number that was typed is no value of the format."""
        return self.typed is not None and self.typed != self.value


@dataclass(frozen=True, slots=True)
class Row:
    """What a rounding makes of the exact result, and what it loses."""

    rounding: str
    value: Value
    code: int
    lost: Fraction | None
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Calculation:
    """An operation on operands of a format.

    `single` is the same operation in float32, on the same operands. `typed` is the exact one of the numbers as they
    were typed, where the format changed one of them; `relative` how far the result lies from it, as a part of it.
    """

    operation: Operation
    operands: tuple[Operand, ...]
    single: Operation
    typed: Value | None
    relative: Fraction | None
    lens: Lens | None
    rows: tuple[Row, ...]
    chances: tuple[Chance, ...]


def operand_count(name: str) -> int:
    """Return how many operands an operation has."""
    return OPERATIONS[name]


def calculate(
    name: str,
    texts: Sequence[str],
    fmt: Format,
    *,
    mode: RoundingName = "nearest_even",
    overflow: str = "default",
    seed: int = 0,
) -> Calculation:
    """Return an operation on numbers or codes, rounded to the format first; ValueError where a text is neither."""
    operands = tuple(_operand(letter, text, fmt) for letter, text in zip("abc", texts, strict=False))
    operands = operands[: OPERATIONS[name]]
    values, rule = [operand.value for operand in operands], overflow_of(fmt, overflow)
    random: dict[str, Any] = {"seed": seed} if mode in STOCHASTIC else {}
    found = teaching.operate(name, values, fmt, rounding=mode, overflow=rule, **random)
    rows = []
    for other in DETERMINISTIC:
        one = teaching.operate(name, values, fmt, rounding=other, overflow=rule)
        rows.append(Row(other, one.value, one.code, one.lost, other == mode))
    if random:
        rows.append(Row(f"{mode}, seed {seed}", found.value, found.code, found.lost, True))
    single = teaching.operate(name, values, FLOAT32)
    number: Any = rounded_as(found.exact, fmt)
    drawn = rounding(number, fmt, rounding=mode, overflow=rule)
    typed = relative = None
    if any(operand.is_changed for operand in operands):
        asked = [operand.value if operand.typed is None else operand.typed for operand in operands]
        typed = teaching.operate(name, asked, fmt).exact
        relative = teaching.relative_error(found.value, typed)
    return Calculation(found, operands, single, typed, relative, lens_of(found.explanation), tuple(rows), drawn.chances)


def _operand(name: str, text: str, fmt: Format) -> Operand:
    named = place(text, fmt, name)
    return Operand(name, named.typed, named.code, decode(named.code, fmt))


def changed_text(operands: Sequence[Operand], fmt: Format) -> str:
    """Return which operands are no values of the format, or nothing."""
    names = [operand.name for operand in operands if operand.is_changed]
    if not names:
        return ""
    verb = "is no value" if len(names) == 1 else "are no values"
    return f"{' and '.join(names)} {verb} of {fmt.name}: rounded to it first, as Cast does."
