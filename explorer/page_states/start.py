"""The state of Start."""

from __future__ import annotations

from dataclasses import dataclass

from .selection import PageState

__all__ = ["Start"]


@dataclass(frozen=True, slots=True)
class Start(PageState):
    """Start, examples and questions."""
