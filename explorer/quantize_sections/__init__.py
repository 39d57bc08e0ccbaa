"""The sections of Quantize: one setting, several side by side, a sweep, one block; a module for each.

Each of these modules has `show_section`, which draws the section for a tensor and returns the Python and ONNX that
repeat it. It is called for the section that the page's `show` names: ``side-by-side`` is `side_by_side.py`. Two of them
end with `evidence.py`.
"""

from __future__ import annotations

from importlib import import_module

from ..controls import Controls
from ..page_states import SHOWS, Quantize
from ..views.tensor import Tensor

__all__ = ["LABELS", "show_section"]

LABELS = dict(zip(SHOWS, ("One setting", "Side by side", "Sweep", "One block"), strict=True))
"""What the sections are called."""


def show_section(page: Controls[Quantize], tensor: Tensor) -> tuple[str, str]:
    """Draw the section that the page shows; return the Python and ONNX code that repeat it."""
    section = import_module(f".{page.state.show.replace('-', '_')}", __name__)
    python, onnx = section.show_section(page, tensor)
    return python, onnx
