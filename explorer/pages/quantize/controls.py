"""The controls of Quantize that choose its tensor: sampled, typed, uploaded, or one of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import ROUND_MODES, ROUNDINGS, STOCHASTIC
from lowprec.spec.scale_rules import SCALE_RULES

from ...shared.controls import Controls, stop
from ...shared.format_names import format_named, is_described
from ...shared.landscape import landscape
from .settings import GRANULARITIES, LINEAR, MX, MX_FORMATS, NVFP4, SCALE_FORMATS, SCHEMES, axis_of, mx_problem
from .state import TARGET_NAMES, Quantize
from .tensor import DISTRIBUTIONS, Tensor, sampled, typed
from .tensor_files import (
    MOST_BYTES,
    MOST_LISTED,
    Listed,
    checkpoint_path,
    checkpoint_stamp,
    from_checkpoint,
    from_file,
    names_in,
    tensors_of,
)
from .view import Quantized, quantize

__all__ = ["forget_tensor", "show_setting", "tensor_from", "tensor_of_checkpoint", "uploaded_file"]


_UPLOAD, _KEPT = "upload", "quantize.kept-upload"
"""The keys in the session of the control and of the file that was chosen last."""


def tensor_from(page: Controls[Quantize]) -> Tensor:
    """Show the controls of the chosen origin and return the tensor; without a file, end the run."""
    origins: dict[str, Callable[[Controls[Quantize]], Tensor]] = {
        "picture": lambda _: Tensor(landscape()),
        "sampled": _sampled,
        "typed": _typed,
        "file": _uploaded,
        "folder": tensor_of_checkpoint,
    }
    return origins[page.state.origin](page)


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


def _keep_upload() -> None:
    """Keep name and bytes of a file that was chosen: Streamlit forgets it on another page. Forget one taken away."""
    file = st.session_state[_UPLOAD]
    if file is None:
        st.session_state.pop(_KEPT, None)
    else:
        st.session_state[_KEPT] = (file.name, file.getvalue())


def uploaded_file() -> tuple[str, bytes] | None:
    """Return name and bytes of the file that was chosen last."""
    kept: tuple[str, bytes] | None = st.session_state.get(_KEPT)
    return kept


def _forget_upload() -> None:
    st.session_state.pop(_KEPT, None)


def _uploaded(page: Controls[Quantize]) -> Tensor:
    kinds = ("npy", "safetensors")
    label, most = "A .npy or .safetensors file", MOST_BYTES // 10**6
    file = st.file_uploader(label, kinds, key=_UPLOAD, max_upload_size=most, on_change=_keep_upload)
    if file is not None:
        st.session_state[_KEPT] = (file.name, file.getvalue())
    if _KEPT not in st.session_state:
        st.info("Choose a file to go on. It is read on this machine; a link does not hold it.")
        stop()
    name, content = st.session_state[_KEPT]
    if file is None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(f"The file is the one that was chosen before: {name}")
            st.button("Forget it", on_click=_forget_upload)
    names = page.compute_or_stop(lambda _: names_in(name, content))
    if len(names) > 1:
        page.compute_or_reset(lambda state: _check_tensor_name(state.tensor, names), tensor="")
        key, chosen = page.key("tensor"), page.state.tensor or names[0]
        page.give(key, chosen)
        st.selectbox("Tensor", names, key=key, on_change=lambda: page.set(tensor=st.session_state[key]))
    return page.compute_or_stop(lambda state: from_file(name, content, state.tensor if len(names) > 1 else ""))


def _check_tensor_name(tensor: str, names: tuple[str, ...]) -> None:
    if tensor and tensor not in names:
        raise ValueError(f"`tensor` must be one of the file's {len(names)} names; got {tensor[:60]!r}")


Stamp = tuple[tuple[str, int, int], ...]


@st.cache_data(max_entries=4, show_spinner=False)
def _tensors(path: Path, stamp: Stamp) -> tuple[Listed, ...]:
    return tensors_of(path)


@st.cache_data(max_entries=8, show_spinner="Reading the tensor")
def _tensor(path: Path, name: str, stamp: Stamp) -> Tensor:
    return from_checkpoint(path, name)


def forget_tensor(_: Quantize, new: Quantize) -> Quantize:
    """Return a state for another file or checkpoint, in which no tensor and no element of it is chosen yet."""
    return replace(new, tensor="", at="")


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


_LABELS = {LINEAR: "ONNX QuantizeLinear", MX: "OCP MX", NVFP4: "NVFP4"}
_WIDTH = 190


def show_setting(page: Controls[Quantize], values: np.ndarray[Any, Any]) -> Quantized:
    """Show the controls of the chosen scheme and return what it makes of a tensor; the page's state is the setting."""
    page.compute_or_reset(_check_element, fmt=Quantize().fmt)
    if page.state.settings().granularity != "tensor":
        page.compute_or_reset(lambda state: axis_of(state.settings(), values.ndim), axis=-1)
    quantized = page.compute_or_reset(lambda state: quantize(values, state.settings()), opset=NEWEST)
    st.segmented_control(
        "Scheme", SCHEMES, required=True, **page.bind("scheme", _with_a_format), format_func=lambda name: _LABELS[name]
    )
    {LINEAR: _linear, MX: _mx, NVFP4: _nvfp4}[page.state.scheme](page, values.ndim)
    return quantized


def _check_element(state: Quantize) -> None:
    if state.scheme == MX and (problem := mx_problem(format_named(state.fmt))):
        raise ValueError(f"`fmt` {problem}")


def _with_a_format(_: Quantize, new: Quantize) -> Quantize:
    """Return a state whose format its scheme has."""
    is_wrong = new.scheme == MX and mx_problem(format_named(new.fmt))
    return replace(new, fmt=Quantize().fmt) if is_wrong else new


def _at_the_newest_opset(_: Quantize, new: Quantize) -> Quantize:
    """Return a state for a rounding: that of ONNX alone has opsets and `saturate`."""
    return new if new.rounding == ROUNDINGS[0] else replace(new, opset=NEWEST, saturate=True)


def _linear(page: Controls[Quantize], rank: int) -> None:
    state = page.state
    fmt, settings = format_named(state.fmt), state.settings()
    one, two, three, four = st.columns([3, 3, 2, 3])
    page.format_box(one, "Format", "fmt", TARGET_NAMES)
    two.segmented_control("One scale for each", GRANULARITIES, required=True, **page.bind("per"))
    if state.per != "tensor":
        _axis_box(page, three, rank)
    if state.per == "block":
        four.slider("Block size", 1, 256, **page.bind("block"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = [scale.name for scale in SCALE_FORMATS]
        st.selectbox("Format of the scales", names, **page.bind("scale"), width=_WIDTH)
        if settings.has_scale_rule:
            _rule_box(page)
        if settings.has_zero_point and not settings.scale_format.has_zero:
            help_ = "Rounds the scales to powers of two."
            st.selectbox("round_mode", ROUND_MODES, **page.bind("round_mode"), width=120, help=help_)
        if settings.takes_rounding:
            _rounding_boxes(page)
        if not is_described(state.fmt) and not settings.rounding_arguments:
            st.selectbox("opset", range(NEWEST, 20, -1), **page.bind("opset"), width=90)
        if fmt.is_integer:
            st.toggle("zero point", **page.bind("zero_point"), help="Uses both ends of the format.")
        if fmt.is_float and fmt.saturates == "asked" and not settings.rounding_arguments:
            st.toggle("saturate", **page.bind("saturate"), help="Too large numbers become the largest value.")


def _mx(page: Controls[Quantize], rank: int) -> None:
    one, two, three = st.columns([3, 2, 4])
    page.format_box(one, "Format", "fmt", [fmt.name for fmt in MX_FORMATS])
    _axis_box(page, two, rank)
    three.slider("Block size", 1, 256, **page.bind("block"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _rule_box(page)
        _rounding_boxes(page)


def _nvfp4(page: Controls[Quantize], rank: int) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _axis_box(page, st, rank, width=_WIDTH)
        _rounding_boxes(page)


def _axis_box(page: Controls[Quantize], place: Any, rank: int, **layout: Any) -> None:
    axes, chosen = [-1, *range(rank)], page.state.axis
    place.selectbox(
        "axis",
        axes if chosen in axes else [*axes, chosen],
        **page.bind("axis"),
        format_func=lambda axis: "-1 (the last)" if axis == -1 else str(axis),
        help="The axis along which slices or blocks lie.",
        **layout,
    )


def _rule_box(page: Controls[Quantize]) -> None:
    help_ = "How the largest |x| of a block becomes its scale, a power of two."
    st.selectbox("Scale rule", SCALE_RULES, **page.bind("scale_rule"), width=_WIDTH, help=help_)


def _rounding_boxes(page: Controls[Quantize]) -> None:
    help_ = "Which neighbour an element over its scale becomes."
    box = page.bind("rounding", _at_the_newest_opset)
    st.selectbox("Rounding", ROUNDINGS, **box, width=_WIDTH, help=help_)
    if page.state.rounding in STOCHASTIC:
        help_ = "The same seed gives the same random numbers."
        st.number_input("Seed of the rounding", 0, 9999, step=1, **page.bind("rounding_seed"), width=_WIDTH, help=help_)
