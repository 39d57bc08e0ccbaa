"""Sweep: what block formats, block sizes and scale rules lose on the tensor, as a picture and a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from lowprec.loss import BLOCK_FORMATS

from ...shared import chart, layout
from ...shared.controls import Controls
from . import snippets
from . import sweep_view as view
from .chart import sqnr_by_block_size
from .state import Quantize
from .tensor import Tensor

__all__ = ["show_section"]


@st.cache_data(max_entries=32, show_spinner=False)
def _sweep(part: np.ndarray[Any, Any], formats: tuple[str, ...], rules: tuple[Any, ...]) -> view.Sweep:
    return view.sweep(part, formats, rules)


def show_section(page: Controls[Quantize], tensor: Tensor) -> tuple[str, str]:
    """Draw the controls of a sweep and what it finds; return the Python that repeats it, and why there is no node."""
    rank = tensor.values.ndim
    part = page.compute_or_reset(lambda state: view.part_of(tensor.values, state.axis), axis=-1)
    one, two, three = st.columns([4, 5, 2])
    one.multiselect("Formats", BLOCK_FORMATS, **page.bind("sweep_formats"), format_func=view.format_label)
    two.multiselect(
        "Scale rules",
        view.SWEEP_RULES,
        **page.bind("sweep_rules"),
        help="The first five are those of MX, the others those of NVFP4, whose own rule is always shown.",
    )
    three.selectbox(
        "axis",
        [-1, *range(rank)] if page.state.axis < rank else [-1, *range(rank), page.state.axis],
        **page.bind("axis"),
        format_func=lambda axis: "-1 (the last)" if axis == -1 else str(axis),
        help="The axis along which blocks lie.",
    )
    found = _sweep(part, page.state.sweep_formats, page.state.sweep_rules)
    note = f"; {tensor.note}" if tensor.note else ""
    st.caption(f"x: {tensor.format.name} of shape {tensor.values.shape}{note}.")
    if found.elements < tensor.values.size:
        st.caption(f"The sweep takes {found.elements} of its {tensor.values.size} elements: the first rows.")
    layout.show("pages/quantize/block_sweep_answer", answer=found.answer)
    if found.is_flat:
        st.info("There is nothing to draw: no error anywhere, or no finite element but zeros.")
    else:
        description = "SQNR in dB against the block size, a line for each format and scale rule"
        chart.show(sqnr_by_block_size(found), description)
    layout.show("pages/quantize/block_sweep_table", rows=found.rows, block_sizes=found.block_sizes)
    st.caption(
        "SQNR: 10 log₁₀ of the power of x over that of the error, of finite elements. Bold: the best rule of a format "
        "for that block size. Bits per value count the scales too, and the global scale of NVFP4."
    )
    if found.length < view.BLOCK_SIZES[-1]:
        st.caption(f"The axis has {found.length} elements; longer blocks would be the same.")
    return snippets.of_sweep(page.state, tensor)
