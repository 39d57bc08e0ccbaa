"""The code snippets of Saturation."""

from __future__ import annotations

from lowprec import as_format
from lowprec.spec.formats import NUMERIC

from .snippet_text import NUMPY, Snippets, onnx_node, takes_saturate

__all__ = ["of_opset"]


def of_opset(opset: int) -> Snippets:
    """Return the Python and ONNX code of the table of float8 formats."""
    names = [fmt.name for fmt in NUMERIC if takes_saturate(fmt) and fmt.has_zero]
    python = (
        f"{NUMPY}x = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e6, -1e6])\n"
        f"for name in {names!r}:\n    for saturate in (True, False):\n"
        f"        print(name, saturate, lp.encode(x, name, saturate=saturate, opset={opset}))"
    )
    return python, onnx_node("Cast", opset=opset, to=as_format(names[0]), saturate=1)
