"""The code snippets of Cast & BitCast."""

from __future__ import annotations

from ..views.cast_options import CastOptions, options_for
from ..views.conversion import BitCasting, Conversion
from .snippet_text import (
    NUMPY,
    Snippets,
    cast_arguments,
    cast_attributes,
    cast_node,
    made_formats,
    node_call,
    python_arguments,
    why_no_node,
)

__all__ = ["of_conversion"]


def of_conversion(conversion: Conversion, options: CastOptions, bitcast: BitCasting) -> Snippets:
    """Return the Python and the nodes that cast one code, and that bitcast it if ONNX can."""
    source, target = conversion.source, conversion.target
    options = options_for(target, options)
    made, texts = made_formats(source=source, target=target)
    arguments = python_arguments({"source": source, **cast_arguments(target, options, source)}, texts)
    python = (
        f"{NUMPY}{made}code = np.array([{conversion.code:#x}], np.{source.code_dtype})\n"
        f"result = lp.encode(code, {texts[target]}{arguments})\n"
        "print([hex(code) for code in result.tolist()])"
    )
    if bitcast.value is not None:
        python += f"\nprint(lp.bitcast(code, {texts[target]}, source={texts[source]}))"
    if why_not := why_no_node(source, target, options=options):
        return python, why_not
    onnx = f"import onnx\n\nnode = {cast_node(target, cast_attributes(target, options))}"
    if bitcast.value is not None and not bitcast.note:
        onnx += f"\nbits = {node_call('BitCast', ['x'], 'y', {'to': target})}"
    return python, onnx
