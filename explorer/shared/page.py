"""What every page has: its row and its state; the number, format and options that go along from page to page."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, TypeVar

from lowprec.reference.exact_cast import Value
from lowprec.spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT32, NUMERIC
from lowprec.spec.operator_versions import NEWEST, first_opset

from .format_names import format_named, is_described
from .link import checked

__all__ = [
    "FIRST",
    "FLOAT",
    "FLOATS",
    "FORMAT_NAMES",
    "NARROW",
    "OPSETS",
    "SHARED",
    "Page",
    "PageState",
    "Selection",
    "all_pages",
    "at_an_opset",
    "carry_over",
    "has_field_value",
    "number_or_none",
    "with_options",
    "with_selection",
]

_S = TypeVar("_S")


@dataclass(frozen=True, slots=True)
class Selection:
    """A number, as a text, and a format by its name; None where a page has no such thing."""

    number: str | None = None
    format: str | None = None


class PageState:
    """The state of a page: a frozen dataclass; one with a number or a format says so in these two methods.

    `former` has names that old links of the page may have; nothing is said of them.
    """

    __slots__ = ()

    former: ClassVar[frozenset[str]] = frozenset()

    def selection(self) -> Selection:
        """Return the number and the format of the page; a code counts as its value, other texts as None."""
        return Selection()

    def with_selection(self, number: str | None, name: str | None) -> Any:
        """Return the state with a number and a format, as far as the page has them; None changes nothing."""
        return self


@dataclass(frozen=True, slots=True)
class Page:
    """The row of a page: its place in the menu, its path, which is its folder, its title, its icon, its state."""

    place: int
    path: str
    title: str
    icon: str
    state: type[Any]

    def show(self, controls: Any) -> None:
        """Show the page with the `Controls` of its state; only now is Streamlit needed."""
        import_module(f"..pages.{self.path}.page", __package__).show(controls)


@functools.cache
def all_pages() -> tuple[Page, ...]:
    """Return the pages, in order; they are imported here, since they import this module."""
    found: tuple[Page, ...] = import_module("..pages", __package__).PAGES
    return found


def number_or_none(text: str) -> str | None:
    """Return a text if it is a number."""
    try:
        Value.of(text)
    except ValueError:
        return None
    return text


def has_field_value(state: Any, field: str, value: object) -> bool:
    """Whether a field of a page takes a value."""
    try:
        checked(type(state), field, value)
    except ValueError:
        return False
    return True


def at_an_opset(state: _S) -> _S:
    """Return a state whose opset has its formats: ONNX has no described ones, and the newest stands for none."""
    names = {getattr(state, field, "") for field in ("fmt", "source", "target")} - {""}
    if not hasattr(state, "opset") or not any(map(is_described, names)):
        return state
    return replace(state, opset=NEWEST)  # type: ignore[type-var]


FORMAT_NAMES = tuple(fmt.name for fmt in NUMERIC)
FLOATS = tuple(fmt.name for fmt in NUMERIC if fmt.is_float)

OPSETS = tuple(range(19, NEWEST + 1))
"""The opsets whose Cast has the float8 formats and `saturate`."""

FIRST, NARROW, FLOAT = FLOAT8_E4M3FN.name, FLOAT4_E2M1FN.name, FLOAT32.name
"""The formats that pages begin with."""


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
    pages = {row.path: states.get(row.path, row.state()) for row in all_pages()}
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
