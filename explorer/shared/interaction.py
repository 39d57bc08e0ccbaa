"""What a reader changes in a picture: a number that is dragged, bits that are switches; and what the browser sends."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .svg import Drawing

__all__ = ["Bits", "Drag", "PartTexts", "Shown", "message_of"]


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


def message_of(value: object, bits: Bits | None) -> tuple[str, str, int] | None:
    """Return field, value and count of a message from the browser; None if it is malformed."""
    if not isinstance(value, dict) or not isinstance(seq := value.get("seq"), int):
        return None
    if isinstance(code := value.get("bits"), str):
        well_formed = bits is not None and len(code) == len(bits.bits) and not set(code) - set("01")
        return (bits.field, f"{int(code, 2):#x}", seq) if bits is not None and well_formed else None
    name, text = value.get("field"), value.get("value")
    return (name, text, seq) if isinstance(name, str) and isinstance(text, str) else None
