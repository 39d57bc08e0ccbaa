"""Classroom mode: a lesson in large type, a step a key, without controls; the link has the step."""

from __future__ import annotations

import streamlit as st

from ...shared.browser.slides import Slide, slides
from ...shared.link import query_text
from .classroom_picture import drawing
from .classroom_view import FORMAT, NAN, NUMBER, SATURATE, steps

__all__ = ["is_asked", "show"]


def is_asked() -> bool:
    """Whether the link asks for classroom mode."""
    return st.query_params.get("classroom") == "1"


def show() -> None:
    """Show the lesson from the step of the link; a wrong step is told, and the first is shown."""
    lesson, asked = steps(), st.query_params.get("step", "1")
    numbers = {str(number): number for number in range(1, len(lesson) + 1)}
    problem = "" if asked in numbers else f"step must be a number from 1 to {len(lesson)}. The first is shown."
    rows = [Slide(f"{NUMBER} in", step.format, step.sentence, step.following, drawing(step)) for step in lesson]
    leave = f"rounding?{query_text({'x': NUMBER, 'fmt': FORMAT.name})}"
    keys = {"s": ("saturate", NAN, SATURATE), "f": ("format", NAN, len(lesson))}
    slides(rows, start=numbers.get(asked, 1), leave=leave, keys=keys, problem=problem)
