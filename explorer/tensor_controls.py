"""The controls of Quantize that choose its tensor: sampled, typed, uploaded, or one of a checkpoint."""

from __future__ import annotations

import streamlit as st

from .checkpoint_controls import tensor_of_checkpoint
from .controls import Controls, stop
from .page_states import Quantize
from .views.tensor import DISTRIBUTIONS, Tensor, sampled, typed
from .views.uploaded_tensor import MOST_BYTES, from_file, names_in

__all__ = ["tensor_from"]


_UPLOAD, _KEPT = "upload", "quantize.kept-upload"
"""The keys in the session of the control and of the file that was chosen last."""


def tensor_from(page: Controls[Quantize]) -> Tensor:
    """Show the controls of the chosen origin and return the tensor; without a file, end the run."""
    origins = {"sampled": _sampled, "typed": _typed, "file": _uploaded, "folder": tensor_of_checkpoint}
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
