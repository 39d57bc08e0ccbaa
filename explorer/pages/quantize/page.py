"""The page Quantize: a tensor in several settings as pictures, and below them sections that are closed at first."""

from __future__ import annotations

import streamlit as st

from ...shared import layout
from ...shared.controls import Controls
from ...shared.snippet_text import Snippets
from . import block, bytes_section, columns, heat_map, one_setting, product, side_by_side, sweep, symmetric
from .controls import forget_tensor, tensor_from
from .state import DRAWN, ORIGINS, SHOWS, Quantize
from .tensor import Tensor

__all__ = ["LABELS", "show"]

_SECTIONS = dict(
    zip(
        SHOWS[1:],
        (one_setting, side_by_side, sweep, block, bytes_section, heat_map, product, symmetric),
        strict=True,
    )
)
LABELS = {
    "product": ("Error of a matrix product", "the tensor times inputs: what the product loses, and the weights"),
    "sweep": ("Sweep of block sizes and rules", "SQNR of each, one line a rule"),
    "side-by-side": ("Settings side by side", "a table, and errors by the size of the element"),
    "result": ("One setting", "elements, scales and codes as tables, with evidence"),
    "block": ("One block", "its scale step by step, its elements, without the largest"),
    "bytes": ("A block byte by byte", "Q4_0, MXFP4, NVFP4, Q4_K and its nested scales"),
    "symmetric": ("Why symmetric int8 loses −128", "two scales, and what becomes of both ends"),
    "heat-map": ("A checkpoint as a heat map", "SQNR of each tensor, by layer and kind"),
}
"""What the sections are called, and what is in them. Each has `show_section`, which may return code."""

_ORIGINS = dict(zip(ORIGINS, ("picture", "sampled", "typed", "file", "checkpoint"), strict=True))
_DRAWN = dict(zip(DRAWN, ("picture", "error"), strict=True))


def show(page: Controls[Quantize]) -> None:
    """Show the page."""
    layout.heading(
        "Quantize",
        "Numbers share a scale, block by block. On a picture the blocks show.",
        "QuantizeLinear's rule",
        "QuantizeLinear",
    )
    with layout.controls():
        st.segmented_control(
            "Tensor",
            ORIGINS,
            required=True,
            label_visibility="collapsed",
            **page.bind("origin", forget_tensor),
            format_func=_ORIGINS.__getitem__,
        )
        columns.show_settings(page)
        st.space("stretch")
        st.segmented_control(
            "Show",
            DRAWN,
            required=True,
            label_visibility="collapsed",
            **page.bind("drawn"),
            format_func=_DRAWN.__getitem__,
        )
    tensor = tensor_from(page)
    code = columns.show_columns(page, tensor)
    with st.container(gap=None):
        for name in LABELS:
            code = _section(page, tensor, name) or code
    layout.open_in(page.state)
    layout.copy_section(page, "quantize", *code)


def _section(page: Controls[Quantize], tensor: Tensor, name: str) -> Snippets | None:
    """Show a section, closed or open; return the Python and ONNX that repeat it where it is open."""
    is_open = page.state.show == name
    key = page.key(f"section {name}")
    page.give(key, is_open)
    label, hint = LABELS[name]

    def changed() -> None:
        page.set(show=name if st.session_state[key] else SHOWS[0])

    with st.expander(f"**{label}** :gray[{hint}]", is_open, key=key, on_change=changed):
        return _SECTIONS[name].show_section(page, tensor) if is_open else None
