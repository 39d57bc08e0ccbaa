"""HTML and CSS from templates and style sheets, of pages and of all; no other module holds any."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lowprec.explanation import hex_float

from . import numbers, theme
from .codes import fields
from .link import query_text
from .numbers import apart, code_text, digits_of, power_form, short

__all__ = ["render", "render_styles", "render_text"]

_HERE = Path(__file__).parent
_STYLE_SHEETS = tuple(sorted(path.name for path in _HERE.joinpath("styles").glob("*.css")))


def _page_address(path: str, **query: str) -> str:
    """Return the address of a page of the explorer, relative to the one that is shown."""
    return f"{path}?{query_text(query)}"


def _binary(code: int, bits: int) -> str:
    return f"{code:0{bits}b}"


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader([_HERE / "templates", _HERE / "styles", _HERE.parent]),
        autoescape=True,  # what a visitor typed never becomes markup
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    texts = (short, apart, code_text, power_form, hex_float)
    measures = (numbers.number, numbers.percent, numbers.decibels)
    environment.filters.update({function.__name__: function for function in (*texts, *measures)})
    environment.filters["binary"] = _binary
    environment.globals.update(fields=fields, digits_of=digits_of, page_address=_page_address, theme=theme)
    return environment


_ENVIRONMENT = _environment()


def render(name: str, **values: Any) -> str:
    """Return the HTML of ``NAME.html.j2``; texts among the values are escaped.

    A name is that of a file in templates/, or ``pages/X/NAME`` for one of a page.
    """
    return _ENVIRONMENT.get_template("fragment.html.j2").render(content=f"{name}.html.j2", **values)


def render_text(name: str, **values: Any) -> str:
    """Return the text of ``NAME.html.j2``, HTML to copy."""
    return _ENVIRONMENT.get_template(f"{name}.html.j2").render(**values)


@functools.cache
def render_styles() -> str:
    """Return the style element of a page: the colours, then every file of styles/."""
    return _ENVIRONMENT.get_template("page_styles.html.j2").render(style_sheets=_STYLE_SHEETS)
