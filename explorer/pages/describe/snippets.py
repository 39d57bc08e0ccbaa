"""The code snippets of Describe."""

from __future__ import annotations

from typing import Any

from lowprec import Format
from lowprec.spec.operator_versions import NEWEST

from ...shared.snippet_text import Snippets, made_formats, onnx_node, takes_saturate, why_no_node

__all__ = ["of_description"]


def of_description(fmt: Format, x: str, same: tuple[Format, ...]) -> Snippets:
    """Return the Python that makes a format and rounds a number to it; `same` are formats with its codes and values."""
    _, texts = made_formats(fmt=fmt)
    made = repr(fmt) if texts[fmt] == "fmt" else f"lp.as_format({texts[fmt]})"
    python = f"import lowprec as lp\n\nfmt = {made}\nprint(lp.finfo(fmt))\nprint(lp.explain({x!r}, fmt))"
    rows = [other.name for other in same if other.onnx_enum is not None]
    if fmt.onnx_enum is None:
        has = f" It has {rows[0]}, with the same codes and values." if rows else ""
        return python, why_no_node(fmt) + has
    attributes: dict[str, Any] = {"saturate": 1} if takes_saturate(fmt) else {}
    return python, onnx_node("Cast", opset=NEWEST, to=fmt, **attributes)
