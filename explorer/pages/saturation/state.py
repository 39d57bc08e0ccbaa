"""The state of Saturation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import NAN_RULES

from ...shared.cast_options import BY_WIDTH, DETERMINISTIC, OVERFLOW_CHOICES
from ...shared.format_names import is_described
from ...shared.link import choice, format_names, integer
from ...shared.page import FLOATS, OPSETS, PageState, has_field_value

__all__ = ["MOST_OTHERS", "Saturation"]

MOST_OTHERS = 4
"""Formats that are shown next to those of ONNX's tables."""


@dataclass(frozen=True, slots=True)
class Saturation(PageState):
    """The opset of the tables; formats next to ONNX's, and the rules beyond ONNX that they follow."""

    opset: int = integer(NEWEST, OPSETS)
    fmts: tuple[str, ...] = format_names((), FLOATS, MOST_OTHERS, converted=False, fewest=0)
    rounding: str = choice(DETERMINISTIC[0], DETERMINISTIC)
    overflow: str = choice(BY_WIDTH, OVERFLOW_CHOICES)
    nan: str = choice(NAN_RULES[0], NAN_RULES)

    def with_selection(self, number: str | None, name: str | None) -> Saturation:
        """Return the state with a format that ONNX lacks as the first of the others."""
        if name is None or name in self.fmts or not has_field_value(self, "fmts", (name,)) or not is_described(name):
            return self
        return replace(self, fmts=(name, *self.fmts)[:MOST_OTHERS])
