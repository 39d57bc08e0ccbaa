"""The first screen of Quantize: the settings as menus, the pictures of a tensor, and what is below each."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import streamlit as st

from lowprec.spec.scale_rules import SCALE_RULES

from ...shared.browser.picture import picture
from ...shared.controls import Controls
from ...shared.snippet_text import Snippets
from . import columns_picture, snippets
from .columns_view import Column, column, place_of, setting_label, window_of
from .settings import MX, SUGGESTED, parse_settings, settings_text
from .side_by_side import HELP
from .state import MOST_SIDE_BY_SIDE, Quantize
from .tensor import Tensor
from .view import quantize

__all__ = ["show_columns", "show_settings"]

_REMEMBERED = 64
"""Columns, each for one setting and one place on one tensor."""

_REFUSALS = "quantize.refused settings"
"""The key in the session of how many settings were refused: what was typed is then forgotten."""

_BLOCK_SIZES = (8, 16, 32, 64, 128, 256)


def show_settings(page: Controls[Quantize]) -> None:
    """Show a menu for each setting, and the button that adds one."""
    chosen = page.state.compared
    for place in range(len(chosen)):
        _menu(page, place)
    unused = next((text for text in SUGGESTED if text not in chosen), None)
    is_full = len(chosen) == MOST_SIDE_BY_SIDE
    st.button(
        "+ setting",
        help=f"{MOST_SIDE_BY_SIDE} are the most." if is_full else None,
        disabled=is_full or unused is None,
        on_click=lambda: page.set(compared=(*chosen, unused)),
    )


def _menu(page: Controls[Quantize], place: int) -> None:
    """Show the menu of a setting: what it is, its block size, its scale rule, and how to remove it."""
    chosen = page.state.compared
    text = chosen[place]
    settings = parse_settings(text)
    refusals = st.session_state.get(_REFUSALS, 0)

    def replace_by(new: str) -> None:
        try:
            new = settings_text(parse_settings(new))
            if new != text and new in chosen:
                raise ValueError(f"must differ: {new} is there already")
        except ValueError as error:
            page.refuse(f"The setting {error}")
            st.session_state[_REFUSALS] = refusals + 1
            return
        page.set(compared=(*chosen[:place], new, *chosen[place + 1 :]))

    def box(name: str, label: str, options: list[Any], value: Any, **more: Any) -> None:
        key = page.key(f"setting {place} {name} {value} {refusals}")  # a menu that opens shows what its list began with

        def changed() -> None:
            new = st.session_state[key]
            if new is not None:
                replace_by(str(new) if name == "text" else f"{_without(text, name)},{name}={new}")

        st.selectbox(label, options, options.index(value), key=key, on_change=changed, **more)

    with st.popover(setting_label(settings)):
        options = list(dict.fromkeys([*SUGGESTED, text]))
        box("text", "Setting", options, text, accept_new_options=True, help=HELP)
        if settings.granularity == "block":
            sizes = sorted({*_BLOCK_SIZES, settings.block_size})
            box("block", "Block size", sizes, settings.block_size)
        if settings.scheme == MX:
            box("rule", "Scale rule", list(SCALE_RULES), settings.scale_rule)
        if len(chosen) > 1:
            st.button(
                "Remove",
                key=page.key(f"setting {place} remove"),
                on_click=lambda: page.set(compared=(*chosen[:place], *chosen[place + 1 :])),
            )


def _without(text: str, option: str) -> str:
    return ",".join(part for part in text.split(",") if not part.startswith(f"{option}="))


def show_columns(page: Controls[Quantize], tensor: Tensor) -> Snippets:
    """Draw the tensor and its settings; return the Python that repeats them, and why there is no node."""
    row, place = page.compute_or_reset(
        lambda state: place_of(state.at or state.usual_place, tensor.values.shape), at=""
    )
    digest = sha256(tensor.values.tobytes()).hexdigest()
    found = {}
    for text in page.state.compared:
        try:
            found[text] = _column(
                text, digest, tensor.values.shape, str(tensor.values.dtype), (row, place), tensor.values
            )
        except ValueError as error:
            st.info(f"{text}: {error}", icon=":material/block:")
    window = window_of(tensor.values, row, place)
    about = _about(page.state, tensor, window.area.rows, window.area.columns)
    columns = list(found.values())
    drawings = (make(window, columns, about) for make in (columns_picture.wide, columns_picture.narrow))
    picture(*drawings, name="settings side by side", on_set=page.take)
    return snippets.of_comparison_of_settings(page.state, tensor, {text: parse_settings(text) for text in found})


def _about(state: Quantize, tensor: Tensor, rows: int, columns: int) -> columns_picture.About:
    shape = tensor.values.shape
    size = " × ".join(map(str, shape))
    is_picture = state.origin == "picture"
    parts = [tensor.format.name]
    if is_picture:
        parts.append(f"{tensor.format.bits} bits")
    else:
        parts.append(size if rows * columns == tensor.values.size else f"{rows} × {columns} of {size}")
    unit = " in gray levels, of 255" if is_picture else ""
    title = "the picture" if is_picture else "the tensor"
    return columns_picture.About(title, ", ".join(parts), unit, state.drawn == "errors")


@st.cache_data(max_entries=_REMEMBERED, show_spinner=False)
def _column(text: str, digest: str, shape: tuple[int, ...], dtype: str, place: tuple[int, int], _x: Any) -> Column:
    return column(quantize(_x, parse_settings(text)), window_of(_x, *place))
