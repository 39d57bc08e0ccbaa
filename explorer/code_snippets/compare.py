"""The code snippets of Compare."""

from __future__ import annotations

from collections.abc import Sequence

from lowprec import Format

from ..views.cast_options import CastOptions, options_for
from .snippet_text import (
    Snippets,
    cast_arguments,
    cast_attributes,
    cast_node,
    made_formats,
    node_list,
    python_arguments,
    why_no_node,
)

__all__ = ["of_comparison"]


def of_comparison(text: str, formats: Sequence[Format], options: CastOptions) -> Snippets:
    """Return the Python that explains the rounding of a number to each format, and a Cast node for each of ONNX's."""
    made, texts = made_formats(**{f"format_{index}": fmt for index, fmt in enumerate(formats)})
    lines = "\n".join(
        f"print(lp.explain(x, {texts[fmt]}{python_arguments(cast_arguments(fmt, options))}))" for fmt in formats
    )
    castable = [fmt for fmt in formats if not why_no_node(fmt, options=options_for(fmt, options))]
    nodes = node_list(
        cast_node(fmt, cast_attributes(fmt, options_for(fmt, options)), f"y{index}")
        for index, fmt in enumerate(castable)
    )
    left_out = [fmt.name for fmt in formats if fmt not in castable]
    if left_out:
        nodes += f"\n# left out, as ONNX lacks the format or the rounding: {'; '.join(left_out)}"
    why_not = why_no_node(*formats, options=options) if formats and not castable else ""
    return f"import lowprec as lp\n\n{made}x = {text!r}\n{lines}", why_not or nodes
