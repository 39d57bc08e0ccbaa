"""The code snippets of Saturation."""

from __future__ import annotations

from lowprec import as_format
from lowprec.spec.formats import ONNX_NUMERIC

from ...shared.snippet_text import NUMPY, Arguments, Snippets, made_formats, onnx_node, python_arguments, takes_saturate
from .table_view import OtherColumns

__all__ = ["of_opset"]

_NO_OTHERS = OtherColumns()


def of_opset(opset: int, others: OtherColumns = _NO_OTHERS) -> Snippets:
    """Return the Python and ONNX code of the table of float8 formats, and the Python of the formats next to them."""
    names = [fmt.name for fmt in ONNX_NUMERIC if takes_saturate(fmt) and fmt.has_zero]
    python = (
        f"{NUMPY}x = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e6, -1e6])\n"
        f"for name in {names!r}:\n    for saturate in (True, False):\n"
        f"        print(name, saturate, lp.encode(x, name, saturate=saturate, opset={opset}))"
    )
    if others.formats:
        made, texts = made_formats(**{f"format_{index}": fmt for index, fmt in enumerate(others.formats)})
        rules: Arguments = {"rounding": others.rounding, "overflow": others.overflow, "nan": others.nan}
        listed = ", ".join(texts[fmt] for fmt in others.formats)
        call = f"lp.reference.encode(number, fmt{python_arguments(rules)})"
        python += f"\n\n{made}for fmt in [{listed}]:\n    print(fmt, [hex({call}) for number in x])"
    return python, onnx_node("Cast", opset=opset, to=as_format(names[0]), saturate=1)
