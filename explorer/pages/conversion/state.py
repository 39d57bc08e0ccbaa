"""The state of Cast & BitCast."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import ROUND_MODES

from ...shared.cast_options import BY_WIDTH, ONNX, OVERFLOW_CHOICES, ROUNDING_CHOICES
from ...shared.codes import portable_text
from ...shared.format_names import format_named
from ...shared.link import choice, flag, format_name, integer, text
from ...shared.page import (
    FIRST,
    FLOAT,
    FORMAT_NAMES,
    NARROW,
    OPSETS,
    PageState,
    Selection,
    at_an_opset,
    has_field_value,
    number_or_none,
)
from .packing_view import PACKABLE, packing_problem

__all__ = ["BETWEEN_ROUNDINGS", "NO_FORMAT", "PACKABLE_NAMES", "SAME", "VIA_NAMES", "Conversion"]

NO_FORMAT = "none"
"""What stands for no format between source and target."""

SAME = "same"
"""What stands for the rounding of the last cast."""

BETWEEN_ROUNDINGS = (SAME, *ROUNDING_CHOICES)
VIA_NAMES = (NO_FORMAT, *FORMAT_NAMES)
PACKABLE_NAMES = tuple(fmt.name for fmt in PACKABLE)


@dataclass(frozen=True, slots=True)
class Conversion(PageState):
    """A code, the formats it is cast from, through and to, the options of Cast or a rounding beyond it; codes to pack.

    `via` and `then` are formats between source and target, or none; `rounding` is that of the last cast, and of the
    others too where theirs is the same.
    """

    source: str = format_name(FLOAT, FORMAT_NAMES)
    at: str = text("0.3")
    target: str = format_name(FIRST, FORMAT_NAMES)
    saturate: bool = flag(True)
    round_mode: str = choice("up", ROUND_MODES)
    opset: int = integer(NEWEST, OPSETS)
    packed: str = format_name(NARROW, PACKABLE_NAMES, packing_problem)
    codes: str = text("0x1 0x2 0x3 0x0 0x2")
    rounding: str = choice(ONNX, ROUNDING_CHOICES)
    overflow: str = choice(BY_WIDTH, OVERFLOW_CHOICES)
    via: str = format_name(NO_FORMAT, VIA_NAMES)
    then: str = format_name(NO_FORMAT, VIA_NAMES)
    via_rounding: str = choice(SAME, BETWEEN_ROUNDINGS)
    then_rounding: str = choice(SAME, BETWEEN_ROUNDINGS)

    @property
    def between(self) -> tuple[str, ...]:
        """The names of the formats between source and target."""
        return tuple(name for name in (self.via, self.then) if name != NO_FORMAT)

    @property
    def between_roundings(self) -> tuple[str, ...]:
        """The roundings of the casts to these formats."""
        pairs = ((self.via, self.via_rounding), (self.then, self.then_rounding))
        return tuple(rounding for name, rounding in pairs if name != NO_FORMAT)

    def selection(self) -> Selection:
        """Return the number, a code as its value, and the target."""
        return Selection(number_or_none(portable_text(self.at, format_named(self.source))), self.target)

    def with_selection(self, number: str | None, name: str | None) -> Conversion:
        """Return the state with a number, and with a target if arrays are converted to it."""
        target = name if name is not None and has_field_value(self, "target", name) else self.target
        return at_an_opset(replace(self, at=number or self.at, target=target))
