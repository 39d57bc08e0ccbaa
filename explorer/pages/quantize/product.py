"""The error of a matrix product: the tensor as weights times inputs, in the settings of the line above."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import streamlit as st

from ...shared.browser.picture import picture
from ...shared.controls import Controls
from . import product_view
from .product_picture import drawing
from .state import Quantize
from .tensor import Tensor

__all__ = ["show_section"]


def show_section(page: Controls[Quantize], tensor: Tensor) -> None:
    """Draw the controls of the inputs, and what the product loses by each setting."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control("Inputs", product_view.INPUTS, required=True, **page.bind("inputs"))
        if page.state.inputs != "identity":
            st.number_input("Seed of the inputs", 0, 9999, step=1, **page.bind("inputs_seed"), width=160)
    state, x = page.state, tensor.values
    digest = sha256(x.tobytes()).hexdigest()
    found = _product(digest, x.shape, str(x.dtype), state.compared, state.inputs, state.inputs_seed, x)
    picture(drawing(found, wide=True), drawing(found, wide=False), name="matrix product", detail=state.inputs)
    st.caption(
        f"{product_view.verdict(found)} W is the tensor, its last axis that of the inputs; a column of X is a vector "
        f"of inputs. Outlier channels: one in 32 inputs is 20 times as large. Computed by `lowprec.loss.product_loss`."
    )


@st.cache_data(max_entries=16, show_spinner=False)
def _product(
    digest: str, shape: tuple[int, ...], dtype: str, texts: tuple[str, ...], kind: str, seed: int, _x: Any
) -> product_view.Product:
    return product_view.product_of(_x, texts, kind, seed)
