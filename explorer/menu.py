"""The menu: a link to every page, with the number, the format and the options that were chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from .carry_over import carry_over, with_selection
from .page_states import PAGES, STATES, PageState, Selection
from .url_query import read, write

__all__ = ["follow", "links_to_open", "menu"]

_STATES = "states of the pages"


def follow(path: str) -> Mapping[str, Any]:
    """Return the states of all pages while the page at `path` is shown; what was chosen there goes along."""
    state, _ = read(STATES[path], st.query_params)
    states = carry_over(st.session_state.get(_STATES, {}), path, state)
    st.session_state[_STATES] = states
    return states


def menu(pages: Mapping[str, Any], path: str, states: Mapping[str, Any]) -> None:
    """Show a link to each page, by its path; the page at `path` is shown now."""
    with st.container(horizontal=True, gap="xsmall", key="menu"):
        for other, page in pages.items():
            with st.container(width="content", key=f"menu-{other}{'-here' * (other == path)}"):
                st.page_link(page, query_params=write(states[other]))


def links_to_open(shown: PageState, number: str | None, name: str | None) -> list[tuple[str, str, dict[str, str]]]:
    """Return title, path and query of each other page that takes over the number, or without one the format.

    A page that has no such format is left out.
    """
    if number is name is None:
        return []
    states = st.session_state.get(_STATES, {})
    found = []
    for path, title, _ in PAGES:
        if STATES[path] is type(shown):
            continue
        state = with_selection(states.get(path, STATES[path]()), Selection(number, name))
        taken = state.selection()
        takes_number = number is not None and taken.number == number
        if (takes_number or number is None) and taken.format in ((name, None) if takes_number else (name,)):
            found.append((title, path, write(state)))
    return found
