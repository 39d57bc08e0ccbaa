"""The state of Anatomy."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...shared.codes import portable_text
from ...shared.format_names import format_named
from ...shared.link import choice, format_name, text
from ...shared.page import FIRST, FORMAT_NAMES, PageState, Selection, number_or_none

__all__ = ["ANATOMY_SHOWS", "Anatomy"]

ANATOMY_SHOWS = ("decimal", "hex-float", "exact")


@dataclass(frozen=True, slots=True)
class Anatomy(PageState):
    """One format; a code (``0x7e``, ``0b0111_1110``) or a number (``0.3``); what the code table shows."""

    fmt: str = format_name(FIRST, FORMAT_NAMES, converted=False)
    at: str = text("0x2a")
    show: str = choice("decimal", ANATOMY_SHOWS)

    def selection(self) -> Selection:
        """Return the number, a code as its value, and the format."""
        return Selection(number_or_none(portable_text(self.at, format_named(self.fmt))), self.fmt)

    def with_selection(self, number: str | None, name: str | None) -> Anatomy:
        """Return the state with a number and a format; the old code belongs to the old format."""
        if name is not None:
            return replace(self, fmt=name, at=number or portable_text(self.at, format_named(self.fmt)))
        return self if number is None else replace(self, at=number)
