"""The state of Exercises: the seed of the numbers and the place of the task; answers are the session's."""

from __future__ import annotations

from dataclasses import dataclass

from ...shared.link import integer
from ...shared.page import PageState
from .exercises import COUNT

__all__ = ["Exercises"]


@dataclass(frozen=True, slots=True)
class Exercises(PageState):
    """The seed that draws the numbers, and which of the tasks is shown, from 1."""

    seed: int = integer(4711, range(10_000))
    number: int = integer(1, range(1, COUNT + 1))
