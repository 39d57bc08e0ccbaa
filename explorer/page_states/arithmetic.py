"""The state of Arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from .selection import PageState

__all__ = ["Arithmetic"]


@dataclass(frozen=True, slots=True)
class Arithmetic(PageState):
    """Arithmetic, operations and sums in a format."""
