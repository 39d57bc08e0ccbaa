"""The state of Rounding."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lowprec.spec.operator_versions import NEWEST

from ...shared.cast_options import BY_WIDTH, ONNX, OVERFLOW_CHOICES, ROUNDING_CHOICES
from ...shared.link import choice, flag, format_name, integer, text
from ...shared.page import FIRST, FORMAT_NAMES, OPSETS, PageState, Selection, at_an_opset, number_or_none

__all__ = ["LINES", "Rounding"]

LINES = ("linear", "symlog", "binades")


@dataclass(frozen=True, slots=True)
class Rounding(PageState):
    """One number, one format, the options of Cast; the number line; rounding and overflow rule; a step by hand."""

    x: str = text("0.3")
    fmt: str = format_name(FIRST, FORMAT_NAMES, converted=False)
    saturate: bool = flag(True)
    opset: int = integer(NEWEST, OPSETS)
    line: str = choice("linear", LINES)
    rounding: str = choice(ONNX, ROUNDING_CHOICES)
    overflow: str = choice(BY_WIDTH, OVERFLOW_CHOICES)
    hand: int = integer(4, range(1, 5))

    def selection(self) -> Selection:
        """Return the number and the format."""
        return Selection(number_or_none(self.x), self.fmt)

    def with_selection(self, number: str | None, name: str | None) -> Rounding:
        """Return the state with a number and a format."""
        return at_an_opset(replace(self, x=number or self.x, fmt=name or self.fmt))
