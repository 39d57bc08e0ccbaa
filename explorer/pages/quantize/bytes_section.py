"""A block byte by byte: the layout, the drawing, and what a layout with nested scales has besides."""

from __future__ import annotations

import streamlit as st

from ...shared.browser.picture import picture
from ...shared.controls import Controls
from . import bytes_picture
from .bytes_view import LAYOUTS, MOST_ELEMENTS, packed
from .columns_view import place_of
from .state import Quantize
from .tensor import Tensor

__all__ = ["show_section"]


def show_section(page: Controls[Quantize], tensor: Tensor) -> None:
    """Draw the block of the chosen element in a layout."""
    st.segmented_control("Layout", LAYOUTS, required=True, **page.bind("layout"))
    layout = page.state.layout
    row, column = page.compute_or_reset(
        lambda state: place_of(state.at or state.usual_place, tensor.values.shape), at=""
    )
    found = packed(layout, tensor.values, row, column)
    element = column % MOST_ELEMENTS[layout]
    drawings = (bytes_picture.block_bytes(found, element, is_narrow) for is_narrow in (False, True))
    picture(*drawings, name="block byte by byte", detail=layout)
    st.caption(
        "Each box is a byte in hexadecimal. Green: scales. Blue: two codes, with the numbers of their elements below. "
        "A click in the picture above chooses the element."
    )
    if found.groups:
        drawings = (bytes_picture.nested_scales(found, is_narrow) for is_narrow in (False, True))
        picture(*drawings, name="nested scales", detail=layout)
        st.caption(
            "An example: rows 53 and 54 of the picture, less 128. Blue: the values that a group can hold. Purple: "
            "those that it holds. Its scale and its least value have 6 bits; two float16 of the block multiply them."
        )
