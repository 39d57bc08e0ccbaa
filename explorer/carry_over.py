"""Carry over: the number and format chosen on one page become those of the other pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .page_states import STATES, PageState, Selection

__all__ = ["carry_over", "with_selection"]


def with_selection(state: PageState, selection: Selection) -> Any:
    """Return a page's state with a number and a format, as far as the page has them; None changes nothing."""
    before = state.selection()
    number = selection.number if selection.number != before.number else None
    name = selection.format if selection.format != before.format else None
    return state if number is name is None else state.with_selection(number, name)


def carry_over(states: Mapping[str, Any], path: str, state: PageState) -> dict[str, Any]:
    """Return the states of all pages once the page at `path` shows `state`; a page not in `states` has its default.

    If the number or the format of that page changed, the other pages take it over. Nothing else of them changes.
    """
    pages = {other: states.get(other, cls()) for other, cls in STATES.items()}
    new, old = state.selection(), pages[path].selection()
    changed = Selection(
        new.number if new.number != old.number else None, new.format if new.format != old.format else None
    )
    return {other: state if other == path else with_selection(page, changed) for other, page in pages.items()}
