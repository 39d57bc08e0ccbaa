"""Links: how each field of a page's state is read from the text of a link, and written to it.

A text that is wrong gives a message and the default, never an exception.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

from lowprec import Format
from lowprec._notebook_display import count_text

from .format_names import any_format, checked_name

__all__ = [
    "LONGEST",
    "OF_THE_APP",
    "checked",
    "choice",
    "choices",
    "flag",
    "format_name",
    "format_names",
    "integer",
    "number",
    "query_text",
    "read",
    "text",
    "texts",
    "write",
]

OF_THE_APP = ("example", "classroom", "step")
"""Parts of a link that are not for the state of a page: the app reads them."""

LONGEST = 4000
"""Characters of a field's text that are read."""

_LONGEST_NUMBER = 40
_LONGEST_QUOTED = 40
_MOST_PROBLEMS = 3

_INTEGER = re.compile(r"-?[0-9]{1,20}")

_BETWEEN_NAMES = re.compile(r",(?!\s*\w*=)")
"""A comma that is not one of a description: what follows there has an equals sign."""

S = TypeVar("S")


def _field(default: Any, parse: Callable[[str], Any], show: Callable[[Any], str] = str) -> Any:
    return dataclasses.field(default=default, metadata={"parse": parse, "show": show})


class _PartlyWrongError(ValueError):
    """Parts of a list are wrong: `problems` says of each what and what follows, `kept` is what the others mean."""

    def __init__(self, problems: Sequence[tuple[str, str]], kept: tuple[str, ...]) -> None:
        super().__init__(problems[0][0])
        self.problems, self.kept = problems, kept


def _listed(parts: Iterable[str], parse: Callable[[str], str], most: int, noun: str = "") -> tuple[str, ...]:
    """Return what different parts of a text mean, or raise ValueError with those that mean something."""
    found: dict[str, str] = {}
    wrong: dict[str, ValueError] = {}
    for part in dict.fromkeys(parts):
        try:
            found.setdefault(parse(part), part)
        except ValueError as error:
            wrong[part] = error
    kept = tuple(found)
    if wrong and not kept:
        raise next(iter(wrong.values()))
    problems = [(f"has {_quoted(part)}, which {error}", "It was left out.") for part, error in wrong.items()]
    if more := len(problems[_MOST_PROBLEMS:]):
        problems[_MOST_PROBLEMS:] = [(f"has {count_text(more, 'more part')} that mean nothing", "They were left out.")]
    if len(kept) > most:
        problems.append((f"must be at most {most}{noun}", f"The first {most} are shown."))
    if problems:
        raise _PartlyWrongError(problems, kept[:most])
    return kept


def _one_of(options: Sequence[str]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in options:
            names = ", ".join(options) if len(options) < 8 else "one of the names in the list"
            raise ValueError(f"must be {names}")
        return text

    return parse


def choice(default: str, options: Sequence[str]) -> Any:
    """Return a field that is one of some texts."""
    return _field(default, _one_of(options))


def choices(default: Sequence[str], options: Sequence[str]) -> Any:
    """Return a field that is a tuple of one or more of some texts, joined by commas in a link."""
    parse_one = _one_of(options)
    return _field(tuple(default), lambda text: _listed(text.split(","), parse_one, len(options)), ",".join)


def format_name(
    default: str, rows: Collection[str], problem: Callable[[Format], str] = any_format, *, converted: bool = True
) -> Any:
    """Return a field that is the name of a format: one of `rows`, or one that `format_names.checked_name` takes.

    A page that converts no arrays sets `converted` to False: it takes formats that lowprec only explains, as tf32.
    """
    return _field(default, lambda text: checked_name(text, rows, problem, converted=converted))


def format_names(
    default: Sequence[str], rows: Collection[str], most: int, *, converted: bool = True, fewest: int = 1
) -> Any:
    """Return a field that is a tuple of `fewest` to `most` different names of formats, joined by commas in a link."""

    def parse(text: str) -> tuple[str, ...]:
        parts = _BETWEEN_NAMES.split(text) if text or fewest else ()
        return _listed(parts, lambda part: checked_name(part, rows, converted=converted), most, " names")

    return _field(tuple(default), parse, ",".join)


def flag(default: bool) -> Any:
    """Return a field that is yes or no, 1 or 0 in a link."""
    return _field(default, lambda text: _one_of(("0", "1"))(text) == "1", lambda value: str(int(value)))


def integer(default: int, options: Iterable[int]) -> Any:
    """Return a field that is one of some integers."""
    values = options if isinstance(options, range) else tuple(options)

    def parse(text: str) -> int:
        value = int(text) if _INTEGER.fullmatch(text) else None
        if value is None or str(value) != text or value not in values:
            low, high = (values[0], values[-1]) if isinstance(values, range) else (min(values), max(values))
            raise ValueError(f"must be a whole number from {low} to {high}")
        return value

    return _field(default, parse)


def number(default: float, low: float, high: float) -> Any:
    """Return a field that is a number between two bounds, both included."""

    def parse(text: str) -> float:
        try:
            value = float(text if len(text) <= _LONGEST_NUMBER else "nan")
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise ValueError(f"must be a number from {low:g} to {high:g}")
        return value

    return _field(default, parse, repr)


def text(default: str, longest: int = 1000) -> Any:
    """Return a field that is any text up to a length; the view decides what it means."""

    def parse(text: str) -> str:
        if len(text) > longest:
            raise ValueError(f"must be at most {longest} characters")
        return text

    return _field(default, parse)


def texts(default: Sequence[str], check: Callable[[str], str], most: int) -> Any:
    """Return a field that is a tuple of 1 to `most` different texts, joined by semicolons in a link.

    `check` returns the one spelling of a text, or raises ValueError.
    """

    def parse(text: str) -> tuple[str, ...]:
        return _listed(text.split(";"), check, most)

    return _field(tuple(default), parse, ";".join)


def read(cls: type[S], query: Mapping[str, str]) -> tuple[S, tuple[str, ...]]:
    """Return the state that a query means, and a message for each part that is wrong and became the default."""
    values: dict[str, Any] = {}
    problems = []
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for name, text in query.items():
        if name not in fields:
            if name in OF_THE_APP or name in getattr(cls, "former", ()):
                continue
            problems.append(f"This page has no {_quoted(name)} in its link; it was left out.")
            continue
        try:
            if len(text) > LONGEST:
                raise ValueError(f"must be at most {LONGEST} characters")
            values[name] = fields[name].metadata["parse"](text)
        except _PartlyWrongError as error:
            values[name] = error.kept
            problems += [f"{name} {why}. {then}" for why, then in error.problems]
        except ValueError as error:
            problems.append(f"{name} {error}; the link has {_quoted(text)}. The default is shown.")
    return cls(**values), tuple(problems)


def write(state: Any) -> dict[str, str]:
    """Return the query from which `read` restores a state."""
    return {field.name: field.metadata["show"](getattr(state, field.name)) for field in dataclasses.fields(state)}


def query_text(query: Mapping[str, str]) -> str:
    """Return a query as the text of a link; descriptions of formats stay readable in it.

    Examples
    --------
    >>> query_text({"fmt": "e4m3,bias=8", "at": "17/23"})
    'fmt=e4m3,bias=8&at=17%2F23'
    """
    return urlencode(query, safe=",=")


def checked(cls: type[Any], name: str, value: Any) -> Any:
    """Return what a link with a value means by it: that value, perhaps in another spelling; or raise ValueError."""
    (field,) = (field for field in dataclasses.fields(cls) if field.name == name)
    return field.metadata["parse"](field.metadata["show"](value))


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_QUOTED else text[:_LONGEST_QUOTED] + "…")
