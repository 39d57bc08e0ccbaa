"""The menu: a link to every page, with the number and the format that were chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from .carry_over import carry_over
from .page_states import STATES
from .url_query import read, write

__all__ = ["menu"]

_STATES = "states of the pages"


def menu(pages: Mapping[str, Any], path: str) -> None:
    """Show a link to each page, by its path; the page at `path` is shown now."""
    state, _ = read(STATES[path], st.query_params)
    states = carry_over(st.session_state.get(_STATES, {}), path, state)
    st.session_state[_STATES] = states
    with st.container(horizontal=True, gap="xsmall", key="menu"):
        for other, page in pages.items():
            with st.container(width="content", key=f"menu-{other}{'-here' * (other == path)}"):
                st.page_link(page, query_params=write(states[other]))
