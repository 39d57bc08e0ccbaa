"""The controls of Quantize that choose a tensor of a checkpoint: its path, and a name from a list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from .controls import Controls, stop
from .page_states import Quantize
from .views.checkpoint_tensor import (
    MOST_LISTED,
    Listed,
    checkpoint_path,
    checkpoint_stamp,
    from_checkpoint,
    tensors_of,
)
from .views.tensor import Tensor

__all__ = ["forget_tensor", "tensor_of_checkpoint"]

Stamp = tuple[tuple[str, int, int], ...]


@st.cache_data(max_entries=4, show_spinner=False)
def _tensors(path: Path, stamp: Stamp) -> tuple[Listed, ...]:
    return tensors_of(path)


@st.cache_data(max_entries=8, show_spinner="Reading the tensor")
def _tensor(path: Path, name: str, stamp: Stamp) -> Tensor:
    return from_checkpoint(path, name)


def forget_tensor(_: Quantize, new: Quantize) -> Quantize:
    """Return a state for another file or checkpoint, in which no tensor is chosen yet."""
    return replace(new, tensor="")


def tensor_of_checkpoint(page: Controls[Quantize]) -> Tensor:
    """Show the controls and return the tensor; without a checkpoint that can be read, end the run."""
    st.text_input(
        "Checkpoint",
        **page.bind("folder", forget_tensor),
        max_chars=1000,
        placeholder="/models/llama/model.safetensors",
        help="The path, on the machine that runs the explorer, of a .safetensors or .gguf file, or of a folder with "
        ".safetensors files, with or without an index.",
    )
    if not page.state.folder.strip():
        st.info("Type the path of a checkpoint to go on. Headers are read, and then the tensor that is chosen.")
        stop()
    path = page.compute_or_stop(lambda state: checkpoint_path(state.folder))
    stamp = page.compute_or_stop(lambda _: checkpoint_stamp(path))
    listed = page.compute_or_stop(lambda _: _tensors(path, stamp))
    texts = {one.name: one.text for one in listed}
    page.compute_or_reset(lambda state: _check_name(state.tensor, texts), tensor="")
    names = list(texts)[:MOST_LISTED]
    key, chosen = page.key("tensor"), page.state.tensor or names[0]
    if chosen not in names:
        names.append(chosen)
    page.give(key, chosen, texts[chosen])
    choose: dict[str, Any] = {"key": key, "on_change": lambda: page.set(tensor=st.session_state[key])}
    st.selectbox("Tensor", names, format_func=texts.__getitem__, **choose)
    if len(texts) > len(names):
        st.caption(f"The list has the first {MOST_LISTED} of {len(texts)} tensors; a link can name any of them.")
    tensor = page.compute_or_stop(lambda _: _tensor(path, chosen, stamp))
    if tensor.note and page.state.show == "side-by-side":  # the other sections say it with the shape
        st.caption(f"x: {tensor.note}.")
    return tensor


def _check_name(tensor: str, texts: dict[str, str]) -> None:
    if tensor and tensor not in texts:
        raise ValueError(f"`tensor` must be one of the checkpoint's {len(texts)} names; got {tensor[:60]!r}")
