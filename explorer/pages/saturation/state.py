"""The state of Saturation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import NAN_RULES

from ...shared.cast_options import BY_WIDTH, DETERMINISTIC, OVERFLOW_CHOICES
from ...shared.format_names import is_described
from ...shared.link import choice, flag, format_names, integer, text
from ...shared.page import FLOATS, OPSETS, PageState, Selection, has_field_value, number_or_none

__all__ = ["MOST_OTHERS", "Saturation"]

MOST_OTHERS = 4
"""Formats that are shown next to those of ONNX's tables."""


@dataclass(frozen=True, slots=True)
class Saturation(PageState):
    """The opset; formats next to ONNX's, and the rules beyond ONNX that they follow; saturate, and the number."""

    opset: int = integer(NEWEST, OPSETS)
    fmts: tuple[str, ...] = format_names((), FLOATS, MOST_OTHERS, converted=False, fewest=0)
    rounding: str = choice(DETERMINISTIC[0], DETERMINISTIC)
    overflow: str = choice(BY_WIDTH, OVERFLOW_CHOICES)
    nan: str = choice(NAN_RULES[0], NAN_RULES)

    saturate: bool = flag(True)
    x: str = text("1000")

    def selection(self) -> Selection:
        """Return the number."""
        return Selection(number_or_none(self.x))

    def with_selection(self, number: str | None, name: str | None) -> Saturation:
        """Return the state with a number, and with a format that ONNX lacks as the first of the others."""
        state = replace(self, x=number or self.x)
        if name is None or name in self.fmts or not has_field_value(self, "fmts", (name,)) or not is_described(name):
            return state
        return replace(state, fmts=(name, *self.fmts)[:MOST_OTHERS])
