"""The Streamlit component of a picture: a drawing for a wide and one for a narrow page, and what a reader changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from ..interaction import Bits, Drag, PartTexts, Shown, message_of
from ..svg import Drawing
from . import _component
from .save_picture import file_name

__all__ = ["picture"]

_PICTURE = _component("picture", "saving.js")
_LEAST_WIDE = 700
"""Pixels from which the first of two drawings is shown."""


def picture(
    wide: Shown | Drawing, narrow: Shown | Drawing | None = None, *, name: str, detail: str = "",
    on_set: Callable[[str, str], None] | None = None, drag: Drag | None = None, bits: Bits | None = None,
) -> None:  # fmt: skip
    """Show a picture; `on_set(field, value)` is called when a reader changed something.

    The value of a shape that was clicked and of a number that was dragged is a text; that of bits is the code in hex.
    The pictures of one page have different names, which stay the same from run to run; a saved file also has the detail
    in its name.
    """
    key, count = f"picture {name}", f"picture {name}.seq"
    drawings = [one if isinstance(one, Shown) else Shown(one) for one in (wide, narrow) if one is not None]

    def changed() -> None:
        message = message_of(st.session_state[key].get("clicked"), bits)
        if message is not None and on_set is not None:
            field_name, value, st.session_state[count] = message
            on_set(field_name, value)

    _PICTURE(
        key=key,
        data=[{
            "name": file_name(f"{name} {detail}"),
            "drawings": [
                {"svg": str(one.drawing), "least": _LEAST_WIDE if len(drawings) > 1 and one is drawings[0] else 0,
                 "left": one.left, "right": one.right, "at": one.at, "places": _lists(one.places)}
                for one in drawings
            ],
            "drag": drag and {"field": drag.field, "values": list(drag.values), "start": drag.start,
                              "parts": _lists(drag.parts)},
            "bits": bits and {"field": bits.field, "bits": bits.bits, "tables": _tables(bits)},
            "seq": st.session_state.get(count, 0),
        }],
        default={"clicked": None},
        on_clicked_change=changed,
    )  # fmt: skip


def _lists(table: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    return {name: list(values) for name, values in table.items()}


def _tables(bits: Bits) -> list[dict[str, Any]]:
    """Return the tables of the bits' texts; the texts by whole code are one of them."""
    by_code = PartTexts(0, len(bits.bits), bits.parts, bits.texts)
    return [
        {"first": one.first, "last": one.last, "prefix": one.prefix, "parts": list(one.parts),
         "texts": [list(texts) for texts in one.texts]}
        for one in (by_code, *bits.tables) if one.parts
    ]  # fmt: skip
