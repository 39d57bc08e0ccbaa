"""The code snippets of Rounding."""

from __future__ import annotations

from typing import Any

from lowprec import Format
from lowprec.spec.operator_versions import NEWEST

from ...shared.cast_options import CastOptions, options_for
from ...shared.snippet_text import (
    NUMPY,
    Arguments,
    Snippets,
    cast_arguments,
    made_formats,
    onnx_node,
    python_arguments,
    python_explain,
    python_explained_cast,
    takes_saturate,
    why_no_node,
)

__all__ = ["of_number"]


def of_number(x: str, fmt: Format, options: CastOptions) -> Snippets:
    """Return the Python that explains the rounding of a number and casts it, and the node that does."""
    options = options_for(fmt, options)
    if "rounding" in options:
        lines, texts = made_formats(fmt=fmt)
        call = f"{texts[fmt]}{python_arguments(cast_arguments(fmt, options))}"
        return f"{NUMPY}{lines}{python_explained_cast(x, fmt, call)}", why_no_node(fmt, options=options)
    asked: Arguments = {} if options["saturate"] else {"saturate": False}
    if options["opset"] != NEWEST:
        asked["opset"] = options["opset"]
    attributes: dict[str, Any] = {"saturate": int(options["saturate"])} if takes_saturate(fmt) else {}
    node = onnx_node("Cast", opset=options["opset"], to=fmt, **attributes)
    return python_explain(x, fmt, **asked), why_no_node(fmt) or node
