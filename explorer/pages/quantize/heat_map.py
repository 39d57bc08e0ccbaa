"""The heat map of a checkpoint or of an uploaded file: each tensor in each of the settings above."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from lowprec._notebook_display import count_text

from ...shared.browser.picture import picture
from ...shared.controls import Controls
from .controls import uploaded_file
from .heat_map_picture import drawing
from .heat_map_view import MOST_TAKEN, HeatMap, heat_map
from .state import Quantize
from .tensor import Tensor
from .tensor_files import checkpoint_path, checkpoint_stamp, from_checkpoint, from_file, names_in, tensors_of

__all__ = ["show_section"]


def show_section(page: Controls[Quantize], _: Tensor) -> None:
    """Draw the heat map of the file or checkpoint that the page reads; without one, say so."""
    origin, settings = page.state.origin, page.state.compared
    upload = uploaded_file() if origin == "file" else None
    try:
        if origin == "folder":
            path = page.state.folder
            found = _measured((path, checkpoint_stamp(checkpoint_path(path))), settings, _of_checkpoint(path))
        elif upload is not None and names_in(*upload):
            found = _measured(upload, settings, _of_upload(*upload))
        else:
            st.info("Choose a file of several tensors, or a checkpoint, in the line above the picture.")
            return
    except ValueError as error:
        st.info(str(error))
        return
    picture(drawing(found), drawing(found, is_narrow=True), name="heat map")
    left_out = f" Left out, as no matrices or too many: {count_text(found.left_out, 'tensor')}." * bool(found.left_out)
    st.caption(f"Of each tensor the first {MOST_TAKEN} elements, as rows. Darker is a higher SQNR.{left_out}")


Source = Callable[[], tuple[list[str], Callable[[str], Tensor]]]


def _of_checkpoint(text: str) -> Source:
    path = checkpoint_path(text)
    return lambda: ([one.name for one in tensors_of(path)], lambda name: from_checkpoint(path, name, MOST_TAKEN))


def _of_upload(name: str, content: bytes) -> Source:
    return lambda: (list(names_in(name, content)), lambda tensor: from_file(name, content, tensor))


@st.cache_data(max_entries=4, show_spinner="Measuring the tensors")
def _measured(key: object, settings: tuple[str, ...], _source: Source) -> HeatMap:
    return heat_map(*_source(), settings)
