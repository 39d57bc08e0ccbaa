"""The page Exercises: a task, its bits or choices, what is wrong about an answer, and the score."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction

import streamlit as st

from ...shared import layout
from ...shared.browser.picture import picture
from ...shared.controls import Controls
from ...shared.glossary import GLOSSARY
from ...shared.interaction import Bits
from . import exercises
from .exercises import COUNT, Task
from .picture import ANSWER_WIDTHS, Line, answer_drawing, score_drawing
from .state import Exercises

__all__ = ["show"]

_ANSWERS = "answers to exercises"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a reader did with a task: the answer as it stands, the one checked last, wrong ones, the points if done."""

    answer: int | None = None
    checked: int | None = None
    wrong: int = 0
    has_hint: bool = False
    points: Fraction | None = None

    @property
    def tries(self) -> int:
        """Wrong answers, the hint counted as one."""
        return self.wrong + self.has_hint


def _attempts(seed: int) -> dict[int, Attempt]:
    """Return the attempts of the session by the number of the task."""
    every: dict[int, dict[int, Attempt]] = st.session_state.setdefault(_ANSWERS, {})
    return every.setdefault(seed, {})


def show(page: Controls[Exercises]) -> None:
    """Show the page."""
    seed, number = page.state.seed, page.state.number
    attempts, task = _attempts(seed), exercises.task(seed, number)
    attempt = attempts.get(number, Attempt())
    layout.heading(
        "Exercises", "Set the bits yourself. The library checks, and the picture says why.", "The rules of Cast"
    )
    lines = [
        Line(exercises.task(seed, one), attempts.get(one, Attempt()).points, one == number)
        for one in range(1, COUNT + 1)
    ]
    layout.show("pages/exercises/progress", lines=lines, number=number)
    card, score = st.columns([5, 2], gap="large")
    with card.container(border=True):
        _task(page, task, attempt, attempts)
    with score:
        picture(score_drawing(lines), name="score", detail=f"seed {seed}", on_set=page.take)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            help_ = "The link holds the seed and the task, not the answers: a class gets the same tasks."
            st.number_input("Seed", 0, 9999, step=1, **page.bind("seed"), width=120, help=help_)
            st.button("Other numbers", on_click=lambda: page.set(seed=random.randrange(10_000), number=1))
    with layout.more("Glossary", f"{len(GLOSSARY)} terms, each with the page that shows it"):
        layout.show("pages/exercises/glossary", glossary=GLOSSARY)
    layout.copy_section(page, "exercises")


def _task(page: Controls[Exercises], task: Task, attempt: Attempt, attempts: dict[int, Attempt]) -> None:
    """Show a task, the answer, what is wrong about it, and the buttons."""
    is_done = attempt.points is not None
    answer = attempt.answer if task.choices or attempt.answer is not None else 0
    said = None
    if attempt.checked is not None and attempt.checked == answer:
        said = exercises.verdict(task, attempt.checked)

    def keep(**changes: object) -> None:
        attempts[task.number] = replace(attempt, **changes)  # type: ignore[arg-type]

    def take(_: str, text: str) -> None:
        """Take an answer of the browser: a code in hexadecimal or the index of a choice."""
        code = int(text, 0)
        if not is_done and 0 <= code < len(task.values):
            keep(answer=code)

    def check() -> None:
        if answer is None or is_done:
            return
        is_right = answer in task.right
        points = exercises.points(attempt.tries, is_right) if is_right else None
        keep(answer=answer, checked=answer, wrong=attempt.wrong + (not is_right), points=points)

    def reveal() -> None:
        right = min(task.right)
        keep(answer=right, checked=right, points=Fraction(0))

    layout.show("pages/exercises/question", task=task)
    bits = None
    if not task.choices:
        count = 2**task.fmt.bits
        bits = Bits("answer", f"{answer:0{task.fmt.bits}b}", ("value",), [("",)] * count)
    wide, narrow = (answer_drawing(task, answer, said, width, is_done=is_done) for width in ANSWER_WIDTHS)
    picture(wide, narrow, name="answer", detail=task.title, on_set=take, bits=bits)
    if attempt.has_hint or is_done:
        layout.show("pages/exercises/remark", task=task, hint=task.hint if attempt.has_hint else "", is_done=is_done)
    with st.container(horizontal=True, vertical_alignment="center"):
        if is_done:
            label = "Next task" if task.number < COUNT else "First task"
            st.button(label, type="primary", on_click=page.set, kwargs={"number": task.number % COUNT + 1})
        else:
            label = "Check again" if attempt.wrong else "Check"
            st.button(label, type="primary", on_click=check, disabled=answer is None)
            st.button("Hint", on_click=keep, kwargs={"has_hint": True}, disabled=attempt.has_hint)
            st.button("Show me", on_click=reveal, help="Shows the answer, for no point.")
            worth = {0: "1 point at the first try", 1: "½ point at the second try"}.get(
                attempt.tries, "no point any more"
            )
            st.caption(worth)
        for arrow, word, other in (("←", "Previous", task.number - 1), ("→", "Next", task.number + 1)):
            st.button(arrow, key=word, help=f"{word} task", disabled=not 1 <= other <= COUNT, on_click=page.set,
                      kwargs={"number": other})  # fmt: skip
