"""The state of Arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lowprec.spec.formats import BFLOAT16
from lowprec.teaching.accumulation import METHODS
from lowprec.teaching.arithmetic import OPERATIONS

from ...shared.cast_options import BY_WIDTH, OVERFLOW_CHOICES
from ...shared.link import choice, format_name, integer, text
from ...shared.page import FLOATS, PageState, Selection, has_field_value
from .operation_view import ROUNDED
from .sum_view import FACTORS, MOST_RUNS, MOST_TERMS, PRODUCTS, TERMS

__all__ = ["ARITHMETIC_SHOWS", "Arithmetic"]

ARITHMETIC_SHOWS = ("sum", "operation")

_SEEDS = range(10_000)


@dataclass(frozen=True, slots=True)
class Arithmetic(PageState):
    """The format of the result and its rounding; terms, factors and order of a sum; operands of one operation.

    Step 0 is the one from which the sum stays as it is, or the last.
    """

    show: str = choice("sum", ARITHMETIC_SHOWS)
    fmt: str = format_name(BFLOAT16.name, FLOATS, converted=False)
    rounding: str = choice("nearest_even", ROUNDED)
    overflow: str = choice(BY_WIDTH, OVERFLOW_CHOICES)
    seed: int = integer(0, _SEEDS)
    source: str = format_name(BFLOAT16.name, FLOATS)
    terms: str = choice("ones", TERMS)
    n: int = integer(4096, range(1, MOST_TERMS + 1))
    value: str = text("0.1")
    typed: str = text("1 0.5 0.25 1/3", 3000)
    sample: int = integer(0, _SEEDS)
    factor: str = choice("none", FACTORS)
    by: str = text("0.5")
    factors: str = text("2 2 2 2", 3000)
    product: str = choice("exact", PRODUCTS)
    method: str = choice("sequential", METHODS)
    runs: int = integer(32, range(MOST_RUNS + 1))
    step: int = integer(0, range(MOST_TERMS + 1))
    op: str = choice("add", tuple(OPERATIONS))
    a: str = text("256")
    b: str = text("1")
    c: str = text("1")

    def selection(self) -> Selection:
        """Return the format of the result."""
        return Selection(None, self.fmt)

    def with_selection(self, number: str | None, name: str | None) -> Arithmetic:
        """Return the state with a format if that is a float."""
        return replace(self, fmt=name) if name is not None and has_field_value(self, "fmt", name) else self
