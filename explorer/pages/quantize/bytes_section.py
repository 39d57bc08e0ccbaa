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

_EXAMPLE = {
    "origin": "typed", "layout": "MXFP4", "at": "0,0",
    "x": "5 -3.1 2.2 -1.4 1 -0.8 0.6 -0.5 0.4 -0.3 0.25 -0.2 0.1 -0.05 0.01 0 "
    "4.4 3.3 -2.7 1.9 -1.1 0.9 0.7 -0.6 0.45 0.35 -0.26 0.24 -0.15 0.08 0.02 -0.01",
}  # fmt: skip
"""A block of 32 numbers; the scale of its largest, 5, is 1."""


def show_section(page: Controls[Quantize], tensor: Tensor) -> None:
    """Draw the block of the chosen element in a layout."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control("Layout", LAYOUTS, required=True, **page.bind("layout"))
        help_ = "32 typed numbers, of which 5 is the largest, as a block of MXFP4."
        st.button("Example: largest 5", on_click=page.set, kwargs=_EXAMPLE, help=help_)
    layout = page.state.layout
    row, column = page.compute_or_reset(
        lambda state: place_of(state.at or state.usual_place, tensor.values.shape), at=""
    )
    found = packed(layout, tensor.values, row, column)
    element = column % MOST_ELEMENTS[layout]
    drawings = (bytes_picture.block_bytes(found, element, is_narrow) for is_narrow in (False, True))
    picture(*drawings, name="block byte by byte", detail=layout)
    zeros = sum(not value for value in found.values)
    st.caption(
        f"{zeros} of its {len(found.values)} elements are 0. "
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
