"""Links from a format to the other pages, and why a page does not take it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from .carry_over import with_selection
from .page_states import PAGES, STATES, Selection
from .url_query import checked, write

__all__ = ["PageLink", "pages_with"]


@dataclass(frozen=True, slots=True)
class PageLink:
    """The title and path of a page; the query that shows a format there, or why there is none."""

    title: str
    path: str
    query: dict[str, str]
    problem: str = ""


def pages_with(name: str, number: str | None, left_out: str) -> tuple[PageLink, ...]:
    """Return a link for each page that has formats, but one, with a format and a number."""
    found = []
    for path, title, _ in PAGES:
        state = with_selection(STATES[path](), Selection(number, name))
        values = {field.name: getattr(state, field.name) for field in fields(state)}
        if path != left_out and (names := values.keys() & {"fmt", "fmts", "target"}):
            taken = any(name == values[field] or name in tuple(values[field]) for field in names)
            found.append(PageLink(title, path, write(state), "" if taken else _problem(path, sorted(names)[0], name)))
    return tuple(found)


def _problem(path: str, field: str, name: str) -> str:
    """Return why a page does not take a format."""
    try:
        checked(STATES[path], field, (name,) if field == "fmts" else name)
    except ValueError as error:
        return str(error)
    return "it keeps its own format"
