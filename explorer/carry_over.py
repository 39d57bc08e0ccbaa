"""Carry over: the number and format chosen on one page become those of the other pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lowprec import as_format
from lowprec.reference.exact_cast import Value

from .page_states import MAX_COMPARED, STATES, Anatomy, Compare, Conversion, Quantize, Rounding
from .views.anatomy import portable_text
from .views.compare import COMPARABLE
from .views.quantize import TARGETS

__all__ = ["Selection", "carry_over", "selection_of", "with_selection"]


@dataclass(frozen=True, slots=True)
class Selection:
    """A number, as a text, and a format by its name; None where a page has no such thing."""

    number: str | None = None
    format: str | None = None


def selection_of(state: Any) -> Selection:
    """Return the number and the format of a page's state; a code counts as its value, other texts as None."""
    match state:
        case Anatomy():
            return Selection(_number(portable_text(state.at, state.fmt)), state.fmt)
        case Rounding():
            return Selection(_number(state.x), state.fmt)
        case Compare():
            return Selection(_number(state.x))
        case Conversion():
            return Selection(_number(portable_text(state.at, state.source)), state.target)
        case Quantize():
            return Selection(None, state.fmt)
    return Selection()


def with_selection(state: Any, selection: Selection) -> Any:
    """Return a page's state with a number and a format, as far as the page has them; None changes nothing."""
    before = selection_of(state)
    number = selection.number if selection.number != before.number else None
    name = selection.format if selection.format != before.format else None
    match state:
        case Anatomy() if name is not None:  # the old code belongs to the old format
            return replace(state, fmt=name, at=number or portable_text(state.at, state.fmt))
        case Anatomy() if number is not None:
            return replace(state, at=number)
        case Rounding():
            return replace(state, x=number or state.x, fmt=name or state.fmt)
        case Compare():
            return replace(state, x=number or state.x, fmts=_with_format(state.fmts, name))
        case Conversion():
            return replace(state, at=number or state.at, target=name or state.target)
        case Quantize() if name in {fmt.name for fmt in TARGETS}:
            return replace(state, fmt=name)
    return state


def carry_over(states: Mapping[str, Any], path: str, state: Any) -> dict[str, Any]:
    """Return the states of all pages once the page at `path` shows `state`; a page not in `states` has its default.

    If the number or the format of that page changed, the other pages take it over. Nothing else of them changes.
    """
    pages = {other: states.get(other, cls()) for other, cls in STATES.items()}
    new, old = selection_of(state), selection_of(pages[path])
    changed = Selection(
        new.number if new.number != old.number else None, new.format if new.format != old.format else None
    )
    return {other: state if other == path else with_selection(page, changed) for other, page in pages.items()}


def _number(text: str) -> str | None:
    try:
        Value.of(text)
    except ValueError:
        return None
    return text


def _with_format(names: tuple[str, ...], name: str | None) -> tuple[str, ...]:
    if name is None or name in names or as_format(name) not in COMPARABLE:
        return names
    return (name, *names)[:MAX_COMPARED]
