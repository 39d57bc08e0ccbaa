"""The code snippets of Errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowprec import Format
from lowprec.spec.formats import FLOAT64
from lowprec.spec.operator_versions import NEWEST

from ...shared.snippet_text import (
    Snippets,
    cast_node,
    made_formats,
    model_lines,
    node_list,
    python_arguments,
    takes_saturate,
)

__all__ = ["of_errors"]


def of_errors(curves: Sequence[tuple[Format, dict[str, Any]]], low: str, high: str, x: str, measure: str) -> Snippets:
    """Return the Python that prints the largest error of each curve and the one at x, and a Cast node for each format.

    `curves` are formats and the options of `lowprec.teaching.error_curve`.
    """
    formats = list(dict.fromkeys(fmt for fmt, _ in curves))
    made, texts = made_formats(**{f"format_{index}": fmt for index, fmt in enumerate(formats)})
    lines = []
    for fmt, options in curves:
        asked = {
            name: value for name, value in options.items() if value is not None and (name, value) != ("saturate", True)
        }
        lines.append(
            f"curve = teaching.error_curve({texts[fmt]}, {low!r}, {high!r}{python_arguments(asked)})\n"
            f"print(curve.largest({measure!r}), curve.at({x!r}, {measure!r}))"
        )
    imports = "import lowprec as lp\n" if made else ""
    python = f"{imports}from lowprec import teaching\n\n{made}" + "\n".join(lines)
    castable = [(fmt, options) for fmt, options in curves if fmt.onnx_enum is not None and "rounding" not in options]
    if not castable:
        return python, "None: ONNX has no attribute for this rounding, or no number for the format."
    nodes, outputs = [], {}
    for index, (fmt, options) in enumerate(castable):
        attributes: dict[str, object] = {"saturate": options["saturate"]} if takes_saturate(fmt) else {}
        if options["round_mode"] is not None:
            attributes["round_mode"] = options["round_mode"]
        nodes.append(cast_node(fmt, attributes, f"y{index}"))
        outputs[f"y{index}"] = fmt
    return python, node_list(nodes) + model_lines({"x": FLOAT64}, outputs, NEWEST)
