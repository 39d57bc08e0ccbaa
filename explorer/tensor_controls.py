"""The controls of Quantize that choose its tensor: sampled from a distribution, typed, or uploaded."""

from __future__ import annotations

import streamlit as st

from .controls import Controls
from .page_states import Quantize
from .views.tensor import DISTRIBUTIONS, MOST_BYTES, Tensor, from_file, names_in, sampled, typed

__all__ = ["tensor_from"]


def tensor_from(page: Controls[Quantize]) -> Tensor:
    """Show the controls of the chosen origin and return the tensor; without a file, end the run."""
    return {"sampled": _sampled, "typed": _typed, "file": _uploaded}[page.state.origin](page)


def _sampled(page: Controls[Quantize]) -> Tensor:
    state = page.state
    name, rows, columns, spread, seed = st.columns([3, 2, 2, 2, 2])
    name.selectbox("Distribution", DISTRIBUTIONS, **page.bind("distribution"))
    rows.number_input("Rows", 1, 256, step=1, **page.bind("rows"))
    columns.number_input("Columns", 1, 256, step=1, **page.bind("columns"))
    spread.number_input(
        "Scale factor",
        1e-30,
        1e30,
        format="%g",
        **page.bind("spread"),
        help="Each sample is multiplied by it; of a normal distribution it is the standard deviation.",
    )
    seed.number_input("Seed", 0, 9999, step=1, **page.bind("seed"), help="The same seed gives the same samples.")
    return sampled(state.distribution, state.rows, state.columns, state.seed, state.spread)


def _typed(page: Controls[Quantize]) -> Tensor:
    help_ = "Rows end at a semicolon or a new line. 0.3, 17/23, 0x1.8p+3, -inf, nan."
    st.text_area("Numbers", **page.bind("x"), max_chars=3000, help=help_)
    return page.compute_or_reset(lambda state: typed(state.x), x=Quantize().x)


def _uploaded(page: Controls[Quantize]) -> Tensor:
    kinds = ("npy", "safetensors")
    file = st.file_uploader("A .npy or .safetensors file", kinds, key="upload", max_upload_size=MOST_BYTES // 10**6)
    if file is None:
        st.info("Choose a file to go on. It is read on this machine; a link does not hold it.")
        st.stop()
    name, content = file.name, file.getvalue()
    names = page.compute_or_stop(lambda _: names_in(name, content))
    if len(names) > 1:
        page.compute_or_reset(lambda state: _check_tensor_name(state.tensor, names), tensor="")
        key, chosen = page.key("tensor"), page.state.tensor or names[0]
        if st.session_state.get(key) != chosen:
            st.session_state[key] = chosen
        st.selectbox("Tensor", names, key=key, on_change=lambda: page.set(tensor=st.session_state[key]))
    return page.compute_or_stop(lambda state: from_file(name, content, state.tensor if len(names) > 1 else ""))


def _check_tensor_name(tensor: str, names: tuple[str, ...]) -> None:
    if tensor and tensor not in names:
        raise ValueError(f"`tensor` must be one of the file's {len(names)} names; got {tensor[:60]!r}")
