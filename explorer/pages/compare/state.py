"""The state of Compare."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lowprec.spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT6_E2M3FN, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT16, INT8
from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import ROUND_MODES

from ...shared.cast_options import BY_WIDTH, ONNX, OVERFLOW_CHOICES, ROUNDING_CHOICES
from ...shared.link import choice, flag, format_names, integer, text
from ...shared.page import OPSETS, PageState, Selection, has_field_value, number_or_none
from .view import COMPARABLE

__all__ = ["COMPARED_NAMES", "MAX_COMPARED", "Compare"]

COMPARED_NAMES = tuple(fmt.name for fmt in COMPARABLE)
MAX_COMPARED = 12
"""Formats that are compared at once."""

_COMPARED = tuple(
    fmt.name for fmt in (FLOAT16, BFLOAT16, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT6_E2M3FN, FLOAT4_E2M1FN, INT8)
)

_PAIR = (FLOAT8_E4M3FN.name, FLOAT8_E5M2.name)


@dataclass(frozen=True, slots=True)
class Compare(PageState):
    """Some formats, a number that is cast to all of them, two of them chosen, and the options of Cast or beyond it."""

    fmts: tuple[str, ...] = format_names(_COMPARED, COMPARED_NAMES, MAX_COMPARED, converted=False)
    x: str = text("0.3")
    saturate: bool = flag(True)
    round_mode: str = choice("up", ROUND_MODES)
    opset: int = integer(NEWEST, OPSETS)
    rounding: str = choice(ONNX, ROUNDING_CHOICES)
    overflow: str = choice(BY_WIDTH, OVERFLOW_CHOICES)
    pair: tuple[str, ...] = format_names(_PAIR, COMPARED_NAMES, 2, converted=False)

    def chosen(self) -> tuple[str, str]:
        """Return the pair whose values are drawn: the chosen one, or the first two formats where one of it is gone."""
        names = self.pair if len(self.pair) == 2 and {*self.pair} <= {*self.fmts} else (*self.fmts, *self.fmts)
        return names[0], names[1]

    def selection(self) -> Selection:
        """Return the number."""
        return Selection(number_or_none(self.x))

    def with_selection(self, number: str | None, name: str | None) -> Compare:
        """Return the state with a number, and with a format as the first one if it is new and has a range."""
        names = self.fmts
        if name is not None and name not in names and has_field_value(self, "fmts", (name,)):
            names = (name, *names)[:MAX_COMPARED]
        return replace(self, x=number or self.x, fmts=names)
