"""The Streamlit component of cards: a drawing and a title each, and a link that opens a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..svg import Drawing
from . import _component

__all__ = ["Card", "cards"]

_CARDS = _component("cards")


@dataclass(frozen=True, slots=True)
class Card:
    """A title, the address of a page relative to the one that is shown, and a drawing."""

    title: str
    address: str
    drawing: Drawing


def cards(rows: Sequence[Card], *, key: str) -> None:
    """Show cards, numbered from 1; Streamlit takes every drawing out of HTML, so that they are a component."""
    _CARDS(
        key=key,
        data=[{"title": row.title, "address": row.address, "svg": str(row.drawing)} for row in rows],
    )
