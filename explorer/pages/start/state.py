"""The state of Start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...shared.link import choice, text
from ...shared.page import NARROW, PageState
from .questions import QUESTIONS, UNANSWERED
from .view import FORMATS

__all__ = ["Start"]

_CHOICES = {question.name: (UNANSWERED, *map(str, range(len(question.choices)))) for question in QUESTIONS}


def _answer(name: str) -> Any:
    return choice(UNANSWERED, _CHOICES[name])


@dataclass(frozen=True, slots=True)
class Start(PageState):
    """The number on the ruler and its format; the answer to each question, by the index of the choice."""

    x: str = text("2.6", 40)
    fmt: str = choice(NARROW, tuple(FORMATS))
    values: str = _answer("values")
    inf: str = _answer("inf")
    wrap: str = _answer("wrap")
    sum: str = _answer("sum")
    byte: str = _answer("byte")
