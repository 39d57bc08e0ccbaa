"""One block: its scale and how that came about, its elements, and what the largest of them does to the others."""

from __future__ import annotations

import streamlit as st

from ...shared import layout
from ...shared.browser.picture import picture
from ...shared.controls import Controls
from . import block_view as view
from . import snippets
from .controls import show_setting
from .evidence import show_evidence
from .picture import one_block
from .settings import scale_sentences
from .state import Quantize
from .tensor import Tensor
from .view import Quantized, quantize

__all__ = ["show_section"]


def show_section(page: Controls[Quantize], tensor: Tensor) -> tuple[str, str]:
    """Draw the controls of a setting and one block of the tensor; return the Python and ONNX of the whole tensor."""
    quantized = show_setting(page, tensor.values)
    block = page.compute_or_reset(lambda state: view.block(quantized, state.block_index), block_index=0)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        last = quantized.scale.size - 1
        if last:
            help_ = f"0 to {last}, in C order."
            st.number_input("Block", 0, last, step=1, **page.bind("block_index"), width=190, help=help_)
        help_ = "Shows the block a second time: the tensor with a zero in that place, quantized anew."
        st.toggle("Leave out the largest element", **page.bind("without_largest"), help=help_)
    changed = _without(tensor, quantized, block)
    note = f"; {tensor.note}" if tensor.note else ""
    about = f"x: {tensor.format.name} of shape {tensor.values.shape}{note}."
    st.caption(f"{about} {scale_sentences(quantized.settings)}")
    layout.show("pages/quantize/one_block_effect", block=block, without=changed)
    if changed is None or not page.state.without_largest:
        _show_block(block, "The block")
    else:
        left, right = st.columns(2, gap="large")
        with left:
            _show_block(block, "The block", is_whole=False)
        with right:
            _show_block(changed, "Without its largest element", is_whole=False)
    show_evidence(tensor, quantized)
    return snippets.of_quantization(page.state, tensor, quantized.settings)


def _without(tensor: Tensor, quantized: Quantized, block: view.Block) -> view.Block | None:
    """Return the block as it is where its largest element is zero; None where all are zero."""
    if block.largest is None:
        return None
    values = view.without(tensor.values, block.largest)
    return view.block(quantize(values, quantized.settings), block.place, but=block.largest)


def _show_block(block: view.Block, title: str, *, is_whole: bool = True) -> None:
    st.header(title, anchor=False)
    layout.show("pages/quantize/one_block_scale", block=block, title=title)
    drawings = (one_block(block, wide=wide) for wide in (is_whole, False))
    picture(*drawings, name=title, detail=f"{block.format.name} {block.place}")
    layout.show("pages/quantize/one_block_elements", block=block, title=title)
    if block.size > len(block.members):
        st.caption(f"{len(block.members)} of {block.size} elements")
