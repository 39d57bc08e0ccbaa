"""The number and the format that a visitor looks at: read from one page's state, put into another's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lowprec import as_format
from lowprec.reference.exact_cast import Value

from .state import STATES, Anatomy, Compare, Conversion, Quantize, Rounding
from .views.anatomy import carried
from .views.compare import COMPARABLE
from .views.quantize import TARGETS

__all__ = ["Subject", "follow", "subject_of", "with_subject"]

_MOST_COMPARED = 12


@dataclass(frozen=True, slots=True)
class Subject:
    """A number, as a text, and a format by its name; None where a page has no such thing."""

    number: str | None = None
    format: str | None = None


def subject_of(state: Any) -> Subject:
    """Return what a page's state looks at; a code counts as the number it stands for, a text that is neither not."""
    match state:
        case Anatomy():
            return Subject(_number(carried(state.at, state.fmt)), state.fmt)
        case Rounding():
            return Subject(_number(state.x), state.fmt)
        case Compare():
            return Subject(_number(state.x))
        case Conversion():
            return Subject(_number(carried(state.at, state.source)), state.target)
        case Quantize():
            return Subject(None, state.fmt)
    return Subject()


def with_subject(state: Any, subject: Subject) -> Any:
    """Return a page's state that looks at a number and a format, as far as the page can; None changes nothing."""
    own = subject_of(state)
    number = subject.number if subject.number != own.number else None
    name = subject.format if subject.format != own.format else None
    match state:
        case Anatomy() if name is not None:  # the old code belongs to the old format
            return replace(state, fmt=name, at=number or carried(state.at, state.fmt))
        case Anatomy() if number is not None:
            return replace(state, at=number)
        case Rounding():
            return replace(state, x=number or state.x, fmt=name or state.fmt)
        case Compare():
            return replace(state, x=number or state.x, fmts=_among(state.fmts, name))
        case Conversion():
            return replace(state, at=number or state.at, target=name or state.target)
        case Quantize() if name in {fmt.name for fmt in TARGETS}:
            return replace(state, fmt=name)
    return state


def follow(known: Mapping[str, Any], path: str, state: Any) -> dict[str, Any]:
    """Return the states of all pages after one of them shows `state`; `known` are those before, else their defaults.

    Where the number or the format of that page is a new one, the others take it over. Nothing else of them changes.
    """
    pages = {other: known.get(other, cls()) for other, cls in STATES.items()}
    new, old = subject_of(state), subject_of(pages[path])
    changed = Subject(
        new.number if new.number != old.number else None, new.format if new.format != old.format else None
    )
    return {other: state if other == path else with_subject(page, changed) for other, page in pages.items()}


def _number(text: str) -> str | None:
    try:
        Value.of(text)
    except ValueError:
        return None
    return text


def _among(names: tuple[str, ...], name: str | None) -> tuple[str, ...]:
    if name is None or name in names or as_format(name) not in COMPARABLE:
        return names
    return (name, *names)[:_MOST_COMPARED]
