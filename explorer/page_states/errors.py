"""The state of Errors."""

from __future__ import annotations

from dataclasses import dataclass

from .selection import PageState

__all__ = ["Errors"]


@dataclass(frozen=True, slots=True)
class Errors(PageState):
    """Errors, the rounding error against the value."""
