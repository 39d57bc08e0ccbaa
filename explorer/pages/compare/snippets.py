"""The code snippets of Compare."""

from __future__ import annotations

from collections.abc import Sequence

from lowprec import Format
from lowprec.spec.custom_formats import why_not_converted
from lowprec.spec.operator_versions import NEWEST

from ...shared.cast_options import CastOptions, options_for
from ...shared.snippet_text import (
    NUMPY,
    WIDEST,
    Snippets,
    cast_arguments,
    cast_attributes,
    cast_node,
    made_formats,
    model_lines,
    node_list,
    python_arguments,
    python_array,
    why_no_node,
)

__all__ = ["of_comparison"]


def of_comparison(text: str, formats: Sequence[Format], options: CastOptions) -> Snippets:
    """Return the Python that explains the rounding of a number to each format, and a Cast node for each of ONNX's."""
    made, texts = made_formats(**{f"format_{index}": fmt for index, fmt in enumerate(formats)})
    calls = [f"{texts[fmt]}{python_arguments(cast_arguments(fmt, options))}" for fmt in formats]
    array, remark = python_array(text)
    lines = [f"x = {text!r}", *([f"number = {array}{remark}"] if array else [])]
    for fmt, call in zip(formats, calls, strict=True):
        lines.append(f"print(lp.explain(x, {call}))")
        if array and not why_not_converted(fmt):
            lines.append(f"print(lp.cast(number, {call}))")
    castable = [fmt for fmt in formats if not why_no_node(fmt, options=options_for(fmt, options))]
    nodes = node_list(
        cast_node(fmt, cast_attributes(fmt, options_for(fmt, options)), f"y{index}")
        for index, fmt in enumerate(castable)
    )
    if castable:
        results = {f"y{index}": fmt for index, fmt in enumerate(castable)}
        nodes += model_lines({"x": WIDEST}, results, options.get("opset", NEWEST))
    left_out = [fmt.name for fmt in formats if fmt not in castable]
    if left_out:
        nodes += f"\n# left out, as ONNX lacks the format or the rounding: {'; '.join(left_out)}"
    why_not = why_no_node(*formats, options=options) if formats and not castable else ""
    return NUMPY + made + "\n".join(lines), why_not or nodes
