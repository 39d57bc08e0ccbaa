"""Selection: the number and the format that are chosen on one page, and that the other pages take over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from lowprec.reference.exact_cast import Value
from lowprec.spec.operator_versions import NEWEST

from ..format_names import is_described
from ..url_query import checked

__all__ = ["PageState", "Selection", "at_an_opset", "has_field_value", "number_or_none"]

_S = TypeVar("_S")


@dataclass(frozen=True, slots=True)
class Selection:
    """A number, as a text, and a format by its name; None where a page has no such thing."""

    number: str | None = None
    format: str | None = None


class PageState:
    """The state of a page: a frozen dataclass; one with a number or a format says so in these two methods."""

    __slots__ = ()

    def selection(self) -> Selection:
        """Return the number and the format of the page; a code counts as its value, other texts as None."""
        return Selection()

    def with_selection(self, number: str | None, name: str | None) -> Any:
        """Return the state with a number and a format, as far as the page has them; None changes nothing."""
        return self


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
