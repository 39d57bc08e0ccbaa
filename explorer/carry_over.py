"""Carry over: the number and format chosen on one page become those of the other pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from lowprec.reference.exact_cast import Value
from lowprec.spec.opset_rules import NEWEST

from .format_names import format_named, is_described
from .page_states import MAX_COMPARED, STATES, Anatomy, Compare, Conversion, Quantize, Rounding
from .url_query import checked
from .views.anatomy import portable_text

__all__ = ["Selection", "at_an_opset", "carry_over", "selection_of", "with_selection"]


_S = TypeVar("_S")


@dataclass(frozen=True, slots=True)
class Selection:
    """A number, as a text, and a format by its name; None where a page has no such thing."""

    number: str | None = None
    format: str | None = None


def selection_of(state: Any) -> Selection:
    """Return the number and the format of a page's state; a code counts as its value, other texts as None."""
    match state:
        case Anatomy():
            return Selection(_number(portable_text(state.at, format_named(state.fmt))), state.fmt)
        case Rounding():
            return Selection(_number(state.x), state.fmt)
        case Compare():
            return Selection(_number(state.x))
        case Conversion():
            return Selection(_number(portable_text(state.at, format_named(state.source))), state.target)
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
            return replace(state, fmt=name, at=number or portable_text(state.at, format_named(state.fmt)))
        case Anatomy() if number is not None:
            return replace(state, at=number)
        case Rounding():
            return at_an_opset(replace(state, x=number or state.x, fmt=name or state.fmt))
        case Compare():
            return replace(state, x=number or state.x, fmts=_with_format(state, name))
        case Conversion():
            return at_an_opset(replace(state, at=number or state.at, target=name or state.target))
        case Quantize() if name is not None and _has(state, "fmt", name):
            return at_an_opset(replace(state, fmt=name))
    return state


def at_an_opset(state: _S) -> _S:
    """Return a state whose opset has its formats: ONNX has no described ones, and the newest stands for none."""
    names = {getattr(state, field, "") for field in ("fmt", "source", "target")} - {""}
    if not hasattr(state, "opset") or not any(map(is_described, names)):
        return state
    return replace(state, opset=NEWEST)  # type: ignore[type-var]


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


def _has(state: Any, field: str, value: object) -> bool:
    """Whether a field of a page takes a value."""
    try:
        checked(type(state), field, value)
    except ValueError:
        return False
    return True


def _with_format(state: Compare, name: str | None) -> tuple[str, ...]:
    if name is None or name in state.fmts or not _has(state, "fmts", (name,)):
        return state.fmts
    return (name, *state.fmts)[:MAX_COMPARED]
