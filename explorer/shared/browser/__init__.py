"""The Streamlit components: a grid of codes, and the script of the whole page; pictures have a file of their own.

JavaScript turns clicks into a code and repaints; it computes no value and sets no HTML. The grid stores its state
and a count of its changes, `seq`, and sends both; it takes over the server's state only if that has the newest count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from lowprec import Format

__all__ = ["Grid", "code_grid", "code_of", "page_script"]

_HERE = Path(__file__).parent
_HEX = re.compile("[0-9a-f]{1,16}")


def _component(name: str) -> Any:
    html, css, js = (_HERE.joinpath(f"{name}.{suffix}").read_text(encoding="utf-8") for suffix in ("html", "css", "js"))
    return st.components.v2.component(f"lowprec_{name}", html=html, css=css, js=js)


_CODE_GRID = _component("code_grid")
_PAGE_SCRIPT = st.components.v2.component(
    "lowprec_page_script", js=_HERE.joinpath("page_script.js").read_text(encoding="utf-8")
)


@dataclass(frozen=True, slots=True)
class Grid:
    """What a grid of 2 to 16 columns shows (fewer if the page is narrow): (text, value, class, code) of each cell."""

    label: str
    cells: Sequence[tuple[str, str, str, int]]
    columns: int
    selected: int


def code_of(value: object, fmt: Format) -> tuple[int, int] | None:
    """Return (code, seq) of a message from the grid, None if it is malformed."""
    text, seq = (value.get(name) for name in ("code", "seq")) if isinstance(value, dict) else (None, None)
    if not isinstance(text, str) or not _HEX.fullmatch(text) or not isinstance(seq, int):
        return None
    code = int(text, 16)
    return (code, seq) if code <= fmt.code_mask else None


def _mount(
    component: Any,
    key: str,
    payload: dict[str, Any],
    parse: Callable[[object], tuple[int, int] | None],
    on_change: Callable[[int], None],
) -> None:
    count = f"{key}.seq"

    def changed() -> None:
        message = parse(st.session_state[key].get("clicked"))
        if message is not None:
            code, st.session_state[count] = message
            on_change(code)

    component(
        key=key,
        data={**payload, "seq": st.session_state.get(count, 0)},
        default={"clicked": None},  # not "value", which is Streamlit's own: its callback is never called
        on_clicked_change=changed,
    )


def code_grid(fmt: Format, grid: Grid, *, key: str, on_change: Callable[[int], None], field: str = "at") -> None:
    """Show codes as a grid; `field` of the state is what they change."""
    cells = [[*texts, f"{code:x}"] for *texts, code in grid.cells]  # as text: a number of JavaScript holds 53 bits
    selected = f"{grid.selected:x}"
    payload = {"cells": cells, "columns": grid.columns, "selected": selected, "label": grid.label, "field": field}
    _mount(_CODE_GRID, key, payload, lambda value: code_of(value, fmt), on_change)


def page_script(*, leads_to: str | None = None) -> None:
    """Install the script of the whole page; it shows nothing. An address that is no page `leads_to` a page's path."""
    with st.container(key="page-script"):
        _PAGE_SCRIPT(key="page script", data={"leadsTo": leads_to})
