"""The code snippet of Quantize's sweep."""

from __future__ import annotations

from ..page_states import Quantize
from ..views.block_sweep import MOST_SWEPT
from ..views.tensor import Tensor
from .snippet_text import NUMPY, Snippets
from .tensor_lines import tensor_lines

__all__ = ["of_sweep"]


def of_sweep(state: Quantize, tensor: Tensor) -> Snippets:
    """Return the Python that prints what each combination loses, and why there is no ONNX node for it."""
    lines = [
        NUMPY + "from lowprec.loss import block_sweep\n",
        tensor_lines(state, tensor),
        f"rows = np.moveaxis(x, {state.axis}, -1).reshape(-1, x.shape[{state.axis}])",
        f"rows = rows[: max(1, {MOST_SWEPT} // rows.shape[1]), :{MOST_SWEPT}]",
        f"for one in block_sweep(rows, formats={state.sweep_formats}, scale_rules={(None, *state.sweep_rules)}):",
        "    print(one.format, one.scale_rule, one.block_size, one.sqnr_db, one.bits_per_value)",
    ]
    if tensor.values.size <= MOST_SWEPT:
        del lines[3]
    return "\n".join(lines), "A sweep compares settings; no node does that."
