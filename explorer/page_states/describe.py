"""The state of Describe."""

from __future__ import annotations

from dataclasses import dataclass

from .selection import PageState

__all__ = ["Describe"]


@dataclass(frozen=True, slots=True)
class Describe(PageState):
    """Describe, a float format by its parts."""
