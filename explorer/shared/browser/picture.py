"""The Streamlit component of a picture: a drawing for a wide and one for a narrow page, and what a reader changes."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from ..svg import Drawing
from . import _component

__all__ = ["Bits", "Drag", "PartTexts", "Shown", "message_of", "picture"]

_PICTURE = _component("picture")
_LONGEST = 60
_LEAST_WIDE = 700
"""Pixels from which the first of two drawings is shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A drawing, and the places of what follows a dragged number: (right, down) by name, one for each of its values.

    `left` and `right` are the x of the first and the last value, `at` that of the number as drawn.
    """

    drawing: Drawing
    left: float = 0
    right: float = 0
    at: float = 0
    places: Mapping[str, Sequence[tuple[float, float]]] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Drag:
    """A number that is dragged: the field that it sets, its values in order, which is drawn, the texts of each part."""

    field: str
    values: Sequence[str]
    start: int
    parts: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartTexts:
    """The texts of some parts, by some of the bits: those from `first` to `last` - 1, counted from the highest.

    `texts[number]` has the texts where these bits are that number; they hold while the bits before them are `prefix`.
    """

    first: int
    last: int
    parts: Sequence[str]
    texts: Sequence[Sequence[str]]
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Bits:
    """Bits that are switches: the field that they set, the code as bits, and by code the texts of the parts.

    A code of more bits than a table has lines takes its texts from `tables`, by field; a part that none of them has is
    shown as "…" until the server answers.
    """

    field: str
    bits: str
    parts: Sequence[str] = ()
    texts: Sequence[Sequence[str]] = ()
    tables: Sequence[PartTexts] = ()


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
        data={
            "name": _file_name(f"{name} {detail}"),
            "drawings": [
                {"svg": str(one.drawing), "least": _LEAST_WIDE if len(drawings) > 1 and one is drawings[0] else 0,
                 "left": one.left, "right": one.right, "at": one.at, "places": _lists(one.places)}
                for one in drawings
            ],
            "drag": drag and {"field": drag.field, "values": list(drag.values), "start": drag.start,
                              "parts": _lists(drag.parts)},
            "bits": bits and {"field": bits.field, "bits": bits.bits, "tables": _tables(bits)},
            "seq": st.session_state.get(count, 0),
        },
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


def message_of(value: object, bits: Bits | None) -> tuple[str, str, int] | None:
    """Return field, value and count of a message from the browser; None if it is malformed."""
    if not isinstance(value, dict) or not isinstance(seq := value.get("seq"), int):
        return None
    if isinstance(code := value.get("bits"), str):
        well_formed = bits is not None and len(code) == len(bits.bits) and not set(code) - set("01")
        return (bits.field, f"{int(code, 2):#x}", seq) if bits is not None and well_formed else None
    name, text = value.get("field"), value.get("value")
    return (name, text, seq) if isinstance(name, str) and isinstance(text, str) else None


def _file_name(text: str) -> str:
    """Return a text as the name of a file without its ending: small letters, digits and hyphens."""
    words = re.sub(r"[^a-z0-9_.]+", "-", text.lower()).strip("-.")
    return words if len(words) <= _LONGEST else words[: _LONGEST + 1].rpartition("-")[0] or words[:_LONGEST]
