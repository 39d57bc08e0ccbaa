"""The page Start: a format as a ruler on which a number is dragged, and guided examples."""

from __future__ import annotations

import streamlit as st

from ...shared import layout
from ...shared.browser.cards import Card, cards
from ...shared.browser.picture import picture
from ...shared.controls import Controls
from ...shared.link import query_text
from .examples import EXAMPLES, Example
from .picture import drag, drawing
from .state import Start
from .thumbnails import thumbnail
from .view import FORMATS, place_of, ruler

__all__ = ["show"]


def _card(number: int, example: Example) -> Card:
    query = query_text({"example": str(number), **example.query})
    part = f"#{example.part}" if example.part else ""
    return Card(example.title, f"{example.path}?{query}{part}", thumbnail(example.key))


def show(page: Controls[Start]) -> None:
    """Show the page."""
    layout.heading(
        "A number format is a ruler",
        "Drag the number. It jumps to the nearest mark, and the code is the address of that mark.",
        "ONNX on its formats",
    )
    with layout.controls():
        st.segmented_control(
            "Format", tuple(FORMATS), required=True, format_func=FORMATS.__getitem__, label_visibility="collapsed",
            **page.bind("fmt"),
        )  # fmt: skip
    place = page.compute_or_reset(lambda state: place_of(state.x), x=Start().x)
    marks = ruler(page.state.fmt)
    wide, narrow = drawing(marks, place), drawing(marks, place, narrow=True)
    detail = f"{page.state.fmt} {page.state.x}"
    picture(wide, narrow, name="ruler", detail=detail, on_set=page.take, drag=drag(marks, place))
    layout.show("pages/start/ten_examples")
    cards([_card(number, example) for number, example in enumerate(EXAMPLES, 1)], key="examples")
    layout.copy_section(page, "start")
