"""The state of Describe."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...shared.codes import portable_text
from ...shared.format_names import format_named
from ...shared.link import format_name, text
from ...shared.page import PageState, Selection, has_field_value, number_or_none
from .view import DESCRIBABLE, describable

__all__ = ["DESCRIBABLE_NAMES", "Describe"]

DESCRIBABLE_NAMES = tuple(fmt.name for fmt in DESCRIBABLE)


@dataclass(frozen=True, slots=True)
class Describe(PageState):
    """A float by its description or its name; a code or a number that is marked among its codes."""

    fmt: str = format_name("e4m3", DESCRIBABLE_NAMES, describable, converted=False)
    at: str = text("1")

    def selection(self) -> Selection:
        """Return the number, a code as its value, and the format."""
        return Selection(number_or_none(portable_text(self.at, format_named(self.fmt))), self.fmt)

    def with_selection(self, number: str | None, name: str | None) -> Describe:
        """Return the state with a number, and with a format that can be described."""
        if name is not None and has_field_value(self, "fmt", name):
            return replace(self, fmt=name, at=number or portable_text(self.at, format_named(self.fmt)))
        return self if number is None else replace(self, at=number)
