"""The two components of our own: bits as switches and the grid of codes.

JavaScript turns clicks into bits or a code and paints; it computes no value and sets no HTML. Both keep what is clicked
and a counter `seq` of their own, send the two, and take the server's word only when it has seen that count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from lowprec import Format

from ..views.anatomy import Field

__all__ = ["bits_of", "code_grid", "code_of", "switches"]

_HERE = Path(__file__).parent
_HEX = re.compile("[0-9a-f]{1,16}")


def _component(name: str, html: str) -> Any:
    css, js = (_HERE.joinpath(f"{name}.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    return st.components.v2.component(f"lowprec_{name}", html=html, css=css, js=js)


_bits = _component("bits", '<div class="bits" role="group" aria-label="The bits of the code"></div>')
_grid = _component("grid", '<div class="frame"><div class="grid" role="group"></div></div>')


def bits_of(value: object, fmt: Format) -> tuple[int, int] | None:
    """Return (code, seq) of what the bits sent, None where it is nothing of the kind."""
    bits, seq = (value.get(name) for name in ("bits", "seq")) if isinstance(value, dict) else (None, None)
    if not isinstance(bits, str) or len(bits) != fmt.bits or set(bits) - set("01") or not isinstance(seq, int):
        return None
    return int(bits, 2), seq


def code_of(value: object, fmt: Format) -> tuple[int, int] | None:
    """Return (code, seq) of what the grid sent, None where it is nothing of the kind."""
    text, seq = (value.get(name) for name in ("code", "seq")) if isinstance(value, dict) else (None, None)
    if not isinstance(text, str) or not _HEX.fullmatch(text) or not isinstance(seq, int):
        return None
    code = int(text, 16)
    return (code, seq) if code <= fmt.code_mask else None


def _mount(component: Any, key: str, fmt: Format, reader: Callable[[object, Format], tuple[int, int] | None],
           on_change: Callable[[int], None], payload: dict[str, Any]) -> None:  # fmt: skip
    count = f"{key}.seq"

    def changed() -> None:
        found = reader(st.session_state[key].get("clicked"), fmt)
        if found is not None:
            st.session_state[count] = found[1]
            on_change(found[0])

    component(
        key=key, data={**payload, "seq": st.session_state.get(count, 0)}, default={"clicked": None},
        on_clicked_change=changed,
    )  # fmt: skip  # "value" would do for a name, were it not for Streamlit's own use of it: no callback came


def switches(fmt: Format, code: int, fields: Sequence[Field], *, key: str,
             on_change: Callable[[int], None]) -> None:  # fmt: skip
    """Show a code's bits as switches, by field."""
    named = [{"name": part.name, "label": part.label, "first": part.first, "last": part.last} for part in fields]
    payload = {"format": fmt.name, "bits": f"{code:0{fmt.bits}b}", "fields": named}
    _mount(_bits, key, fmt, bits_of, on_change, payload)


def code_grid(fmt: Format, cells: Sequence[tuple[str, str, str, int]], columns: int, selected: int, *, label: str,
              key: str, on_change: Callable[[int], None]) -> None:  # fmt: skip
    """Show codes as a grid of 2 to 16 columns (fewer where the page is narrow); cells are (code, value, class, id)."""
    named = [[*texts, f"{code:x}"] for *texts, code in cells]  # as text: a number of JavaScript holds 53 bits
    payload = {"cells": named, "columns": columns, "selected": f"{selected:x}", "label": label}
    _mount(_grid, key, fmt, code_of, on_change, payload)
