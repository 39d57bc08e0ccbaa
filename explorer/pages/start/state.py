"""The state of Start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...shared.link import choice, text
from ...shared.page import NARROW, PageState
from .view import FORMATS

__all__ = ["Start"]


@dataclass(frozen=True, slots=True)
class Start(PageState):
    """The number on the ruler, and the format."""

    former: ClassVar[frozenset[str]] = frozenset({"values", "inf", "wrap", "sum", "byte"})
    """Answers to questions, in old links."""

    x: str = text("2.6", 40)
    fmt: str = choice(NARROW, tuple(FORMATS))
