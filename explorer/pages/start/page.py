"""The page Start: guided examples, each a link, and questions to check oneself."""

from __future__ import annotations

import streamlit as st

from ...shared import layout
from ...shared.controls import Controls
from .examples import EXAMPLES
from .questions import QUESTIONS, UNANSWERED, Question, verdict
from .state import Start

__all__ = ["show"]


def show(page: Controls[Start]) -> None:
    """Show the page."""
    layout.heading(
        "Start",
        "See every bit of a low-precision format, how a number is rounded to it, and what is lost. "
        "Open an example, change a number, and go on from there: the menu takes number and format along.",
        "ONNX on its formats",
    )
    st.header("Ten examples", anchor=False)
    layout.show("pages/start/examples", examples=EXAMPLES)

    def ask(question: Question) -> None:
        """Show a question, and after an answer whether it is right, and why."""
        answer = getattr(page.state, question.name)
        choices = [str(index) for index in range(len(question.choices))]
        st.radio(
            question.text,
            choices,
            index=None,
            horizontal=True,
            format_func=lambda index: question.choices[int(index)],
            **page.bind(question.name, nothing=UNANSWERED),
        )
        right = verdict(question, answer)
        if right is not None:
            layout.show("pages/start/answer", question=question, right=right)

    st.header("Five questions", anchor=False)
    for question in QUESTIONS:
        with st.container(border=True):
            ask(question)
    layout.copy_section(page, "start")
