"""The menu: a link to every page, with the number, the format and the options that were chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from .link import checked, read, write
from .page import FORMAT_NAMES, PageState, Selection, all_pages, carry_over, with_selection

__all__ = ["Refusal", "follow", "links_to_open", "menu", "refusals"]

_STATES = "states of the pages"


def follow(path: str) -> Mapping[str, Any]:
    """Return the states of all pages while the page at `path` is shown; what was chosen there goes along."""
    shown = next(row for row in all_pages() if row.path == path)
    state, _ = read(shown.state, st.query_params)
    states = carry_over(st.session_state.get(_STATES, {}), path, state)
    st.session_state[_STATES] = states
    return states


def menu(pages: Mapping[str, Any], path: str, states: Mapping[str, Any]) -> None:
    """Show a link to each page, by its path; the page at `path` is shown now."""
    with st.container(horizontal=True, gap="xsmall", key="menu"):
        for other, page in pages.items():
            with st.container(width="content", key=f"menu-{other}{'-here' * (other == path)}"):
                st.page_link(page, query_params=write(states[other]))


@dataclass(frozen=True, slots=True)
class Refusal:
    """The title of a page that does not take a format, and why."""

    title: str
    problem: str


def links_to_open(shown: PageState, number: str | None, name: str | None) -> list[tuple[str, str, dict[str, str]]]:
    """Return title, path and query of each other page that takes over the number, the format, or both."""
    found = []
    for path, title, state in _others(shown):
        opened = with_selection(state, Selection(number, name))
        if (number is not None and opened.selection().number == number) or name in _format_names(opened):
            found.append((title, path, write(opened)))
    return found


def refusals(shown: PageState, name: str | None) -> list[Refusal]:
    """Return the other pages with formats that do not take one, each with the reason."""
    found = []
    for _, title, state in _others(shown) if name is not None else ():
        opened = with_selection(state, Selection(None, name))
        names = _format_names(opened)
        if names and name not in names:
            found.append(Refusal(title, _problem(opened, name)))
    return found


def _others(shown: PageState) -> list[tuple[str, str, Any]]:
    """Return path, title and present state of every page but one."""
    states = st.session_state.get(_STATES, {})
    others = [row for row in all_pages() if row.state is not type(shown)]
    return [(row.path, row.title, states.get(row.path, row.state())) for row in others]


def _format_names(state: Any) -> tuple[str, ...]:
    """Return the formats that a page shows; none where a page has none to choose."""
    several = tuple(getattr(state, "fmts", ()))
    chosen = state.selection().format
    return several if chosen is None else (*several, chosen)


def _problem(state: Any, name: str | None) -> str:
    """Return why a page does not take a format: a row is not in its list; of another, what the check says."""
    field = next(field for field in ("fmts", "fmt", "target") if hasattr(state, field))
    try:
        checked(type(state), field, (name,) if field == "fmts" else name)
    except ValueError as error:
        return "is not in its list" if name in FORMAT_NAMES else str(error)
    return "does not go with the other settings of that page"
