"""The evidence below a section of one setting: the rules that decide its codes, and a check of this tensor."""

from __future__ import annotations

from .. import page_layout
from ..views.quantize import Quantized
from ..views.tensor import Tensor
from ..views.tensor_evidence import MOST_CHECKED, check_tensor, of_setting

__all__ = ["show_evidence"]

_ABOUT = (
    f"Computes the codes of this tensor once more, in exact fractions; of a larger tensor those of at most "
    f"{MOST_CHECKED:,} elements."
)


def show_evidence(tensor: Tensor, quantized: Quantized) -> None:
    """Show which rules decide the codes of a tensor, and the button that checks them."""
    page_layout.evidence_section(of_setting(quantized), lambda: check_tensor(quantized, tensor.format), "what", _ABOUT)
