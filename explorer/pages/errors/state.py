"""The state of Errors."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lowprec.spec.formats import FLOAT8_E4M3FN, FLOAT8_E5M2
from lowprec.spec.rounding_modes import ROUND_MODES
from lowprec.teaching.error_curve import MEASURES

from ...shared.cast_options import BY_WIDTH, ONNX, OVERFLOW_CHOICES
from ...shared.link import choice, choices, flag, format_names, text
from ...shared.page import FORMAT_NAMES, PageState, Selection, has_field_value, number_or_none
from .view import MOST_FORMATS, ROUNDINGS

__all__ = ["Errors"]

_SCALES = ("linear", "log")


@dataclass(frozen=True, slots=True)
class Errors(PageState):
    """Some formats and roundings, the range of numbers, the measure of the error, the scale; a number to mark."""

    fmts: tuple[str, ...] = format_names((FLOAT8_E4M3FN.name, FLOAT8_E5M2.name), FORMAT_NAMES, MOST_FORMATS)
    low: str = text("0")
    high: str = text("2")
    measure: str = choice("absolute", MEASURES)
    scale: str = choice("linear", _SCALES)
    roundings: tuple[str, ...] = choices((ONNX,), ROUNDINGS)
    saturate: bool = flag(True)
    round_mode: str = choice("up", ROUND_MODES)
    overflow: str = choice(BY_WIDTH, OVERFLOW_CHOICES)
    x: str = text("0.3")

    def selection(self) -> Selection:
        """Return the number and the first format."""
        return Selection(number_or_none(self.x), self.fmts[0])

    def with_selection(self, number: str | None, name: str | None) -> Errors:
        """Return the state with a number, and with a format as the first one."""
        names = self.fmts
        if name is not None and has_field_value(self, "fmts", (name,)):
            names = (name, *(other for other in names if other != name))[:MOST_FORMATS]
        return replace(self, x=number or self.x, fmts=names)
