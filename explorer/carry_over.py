"""Carry over: the number, the format and the options of a cast chosen on one page become those of the other pages."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from lowprec.spec.operator_versions import first_opset

from .format_names import format_named
from .page_states import STATES, PageState, Selection, at_an_opset
from .page_states.selection import has_field_value

__all__ = ["SHARED", "carry_over", "with_options", "with_selection"]

SHARED = ("saturate", "round_mode", "opset", "rounding", "overflow", "nan")
"""Fields that mean the same on every page that has them."""


def with_selection(state: PageState, selection: Selection) -> Any:
    """Return a page's state with a number and a format, as far as the page has them; None changes nothing."""
    before = state.selection()
    number = selection.number if selection.number != before.number else None
    name = selection.format if selection.format != before.format else None
    return state if number is name is None else state.with_selection(number, name)


def with_options(state: Any, options: Mapping[str, Any]) -> Any:
    """Return a page's state with options, by their fields, as far as the page has and takes them."""
    for name, value in options.items():
        if hasattr(state, name) and has_field_value(state, name, value) and _has_formats(state, name, value):
            state = dataclasses.replace(state, **{name: value})
    return at_an_opset(state)


def carry_over(states: Mapping[str, Any], path: str, state: PageState) -> dict[str, Any]:
    """Return the states of all pages once the page at `path` shows `state`; a page not in `states` has its default.

    If the number, the format or an option of that page changed, the other pages take it over. Nothing else of them
    changes.
    """
    pages = {other: states.get(other, cls()) for other, cls in STATES.items()}
    before = pages[path]
    new, old = state.selection(), before.selection()
    changed = Selection(
        new.number if new.number != old.number else None, new.format if new.format != old.format else None
    )
    options = {
        name: getattr(state, name)
        for name in SHARED
        if hasattr(state, name) and getattr(state, name) != getattr(before, name)
    }
    return {
        other: state if other == path else with_options(with_selection(page, changed), options)
        for other, page in pages.items()
    }


def _has_formats(state: Any, name: str, value: Any) -> bool:
    """Whether ONNX has the format of a page at an opset, if that is the option: the page would refuse it."""
    if name != "opset":
        return True
    names = [getattr(state, field) for field in ("fmt", "source", "target") if hasattr(state, field)]
    return all(first_opset(format_named(name)) <= value for name in names)
