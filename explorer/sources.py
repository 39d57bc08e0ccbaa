"""Where a tensor to quantize comes from: the controls of a sampled, a typed and an uploaded one."""

from __future__ import annotations

import streamlit as st

from .controls import Controls
from .state import Quantize
from .views.tensor import DISTRIBUTIONS, MOST_BYTES, Tensor, from_file, sampled, typed

__all__ = ["tensor_from"]


def tensor_from(page: Controls[Quantize]) -> Tensor:
    """Show the controls of the origin that is chosen, and return the tensor; where a file is missing, end the run."""
    return {"sampled": _sampled, "typed": _typed, "file": _uploaded}[page.state.origin](page)


def _sampled(page: Controls[Quantize]) -> Tensor:
    state = page.state
    name, rows, columns, spread, seed = st.columns([3, 2, 2, 2, 2])
    name.selectbox("Distribution", DISTRIBUTIONS, **page.bind("distribution"))
    rows.number_input("Rows", 1, 256, step=1, **page.bind("rows"))
    columns.number_input("Columns", 1, 256, step=1, **page.bind("columns"))
    spread.number_input("Times", 1e-30, 1e30, format="%g", **page.bind("spread"))
    seed.number_input("Seed", 0, 9999, step=1, **page.bind("seed"))
    return sampled(state.distribution, state.rows, state.columns, state.seed, state.spread)


def _typed(page: Controls[Quantize]) -> Tensor:
    help_ = "Rows end at a semicolon or a new line. 0.3, 17/23, 0x1.8p+3, -inf, nan."
    st.text_area("Numbers", **page.bind("x"), max_chars=3000, help=help_)
    return page.attempt(typed, page.state.x, instead=(Quantize().x,))


def _uploaded(page: Controls[Quantize]) -> Tensor:
    kinds = ("npy", "safetensors")
    file = st.file_uploader("A .npy or .safetensors file", kinds, key="upload", max_upload_size=MOST_BYTES >> 20)
    if file is None:
        st.info("Choose a file to go on. It is read on this machine; a link does not carry it.")
        st.stop()

    def read(use_file: bool) -> Tensor:
        return from_file(file.name, file.getvalue(), page.state.tensor) if use_file else typed(Quantize().x)

    found = page.attempt(read, True, instead=(False,))
    if len(found.names) > 1:
        key = page.key("tensor")
        if st.session_state.get(key) != found.name:
            st.session_state[key] = found.name
        st.selectbox("Tensor", found.names, key=key, on_change=lambda: page.set(tensor=st.session_state[key]))
    return found
