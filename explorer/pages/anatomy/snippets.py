"""The code snippets of Anatomy."""

from __future__ import annotations

from typing import Any

from lowprec.spec.custom_formats import why_not_converted
from lowprec.spec.operator_versions import NEWEST

from ...shared.codes import Anatomy
from ...shared.numbers import input_text
from ...shared.snippet_text import (
    NUMPY,
    WIDEST,
    Snippets,
    made_formats,
    onnx_node,
    python_explain,
    takes_saturate,
    why_no_node,
)

__all__ = ["of_code"]


def of_code(anatomy: Anatomy) -> Snippets:
    """Return the Python and ONNX code that decodes a code, or that casts the number that was typed."""
    fmt, why_not = anatomy.format, why_no_node(anatomy.format)
    if anatomy.typed is not None:
        attributes: dict[str, Any] = {"saturate": 1} if takes_saturate(fmt) else {}
        node = why_not or onnx_node("Cast", opset=NEWEST, to=fmt, **attributes)
        return python_explain(input_text(anatomy.typed), fmt), node
    to = WIDEST if fmt.is_float else fmt
    lines, texts = made_formats(fmt=fmt)
    if why_not_converted(fmt):
        call = f"lp.reference.decode({anatomy.code:#x}, {texts[fmt]})"
        return f"import lowprec as lp\n\n{lines}print({call})", why_not
    python = (
        f"{NUMPY}{lines}code = np.array({anatomy.code:#x}, np.{fmt.code_dtype})\n"
        f"print(lp.decode(code, {texts[fmt]}, to={to.name!r}))"
    )
    data = anatomy.code.to_bytes(fmt.storage_bits // 8, "little").hex()
    tensor = f"'x', onnx.TensorProto.{fmt.onnx_name}, [1], bytes.fromhex({data!r}), raw=True"
    node = onnx_node("Cast", opset=NEWEST, source=fmt, to=to)
    return python, why_not or f"{node}\nx = onnx.helper.make_tensor({tensor})"
