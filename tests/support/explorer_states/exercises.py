"""States of Exercises to look at: a task of bits, one of choices."""

from __future__ import annotations

from collections.abc import Iterator

from lowprec.explorer.pages.exercises.state import Exercises


def states() -> Iterator[Exercises]:
    yield Exercises()
    yield Exercises(seed=1, number=3)
    yield Exercises(seed=2, number=18)
