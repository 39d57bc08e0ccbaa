"""The page Quantize: a small tensor, and one of the sections that show what becomes of it."""

from __future__ import annotations

import streamlit as st

from ...shared import layout
from ...shared.controls import Controls
from . import block, one_setting, side_by_side, sweep
from .controls import forget_tensor, tensor_from
from .state import ORIGINS, SHOWS, Quantize

__all__ = ["LABELS", "show"]

_SECTIONS = dict(zip(SHOWS, (one_setting, side_by_side, sweep, block), strict=True))
LABELS = dict(zip(SHOWS, ("One setting", "Side by side", "Sweep", "One block"), strict=True))
"""What the sections are called. Each has `show_section`, which returns the Python and ONNX that repeat it."""


def show(page: Controls[Quantize]) -> None:
    """Show the page."""
    layout.heading(
        "Quantize",
        "Choose a tensor, a format and the elements that share a scale, to see what quantization loses.",
        "QuantizeLinear's rule",
        "QuantizeLinear",
    )
    st.segmented_control("Tensor", ORIGINS, required=True, **page.bind("origin", forget_tensor))
    tensor = tensor_from(page)
    st.segmented_control("Show", SHOWS, required=True, **page.bind("show"), format_func=lambda show: LABELS[show])
    snippets = _SECTIONS[page.state.show].show_section(page, tensor)
    layout.open_in(page.state)
    layout.copy_section(page, "quantize", *snippets)
