"""The strip on a page that was opened as a guided example: what is seen there, what to try, and the next example."""

from __future__ import annotations

import streamlit as st

from ...shared import layout
from .examples import EXAMPLES

__all__ = ["opened_example"]

_OPENED = "opened example"


def opened_example(path: str) -> None:
    """Show the strip of the example that the link of the page at `path` names; until another page is opened."""
    asked = st.query_params.get("example", "")
    numbers = {str(number): number for number in range(1, len(EXAMPLES) + 1)}
    number = numbers.get(asked) or st.session_state.get(_OPENED)
    if number is None or EXAMPLES[number - 1].path != path:
        st.session_state.pop(_OPENED, None)
        return
    st.session_state[_OPENED] = number
    following = number % len(EXAMPLES)
    layout.show(
        "pages/start/strip", example=EXAMPLES[number - 1], number=number, count=len(EXAMPLES),
        following=EXAMPLES[following], following_number=following + 1,
    )  # fmt: skip
