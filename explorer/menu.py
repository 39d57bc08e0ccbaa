"""The menu: a link to every page, which takes the number and the format along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from .state import STATES, read, write
from .subject import follow

__all__ = ["menu"]

_KNOWN = "states of the pages"


def menu(pages: Mapping[str, Any], path: str) -> None:
    """Show the links to pages (by their paths); the page at `path` is the one that is shown."""
    state, _ = read(STATES[path], st.query_params)
    known = follow(st.session_state.get(_KNOWN, {}), path, state)
    st.session_state[_KNOWN] = known
    with st.container(horizontal=True, gap="xsmall", key="menu"):
        for other, page in pages.items():
            with st.container(width="content", key=f"menu-{other}{'-here' * (other == path)}"):
                st.page_link(page, query_params=write(known[other]))
