"""The code snippets of Cast & BitCast."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from lowprec import Format
from lowprec.spec.operator_versions import NEWEST

from ...shared.cast_options import CastOptions, options_for
from ...shared.numbers import exact_text
from ...shared.snippet_text import (
    NUMPY,
    WIDEST,
    Snippets,
    Texts,
    cast_arguments,
    cast_attributes,
    made_formats,
    model_lines,
    node_call,
    node_list,
    onnx_node,
    python_arguments,
    why_no_node,
)
from .packing_view import Packing
from .view import BitCasting, Conversion

__all__ = ["of_conversion"]


def of_conversion(
    conversion: Conversion,
    options: CastOptions,
    bitcast: BitCasting,
    steps: Sequence[Conversion] = (),
    packing: Packing | None = None,
    between: Sequence[CastOptions] = (),
) -> Snippets:
    """Return the Python and the nodes that cast one code, and that bitcast it if ONNX can.

    `steps` are the casts through other formats, `between` the options of each but the last one; `packing` is added
    where it was asked for.
    """
    source, target = conversion.source, conversion.target
    named = {f"between_{index}": step.target for index, step in enumerate(steps[:-1])}
    each = (*(between or [options] * len(steps[:-1])), options)
    packed = {} if packing is None else {"narrow": packing.format}
    made, texts = made_formats(source=source, target=target, **named, **packed)
    if steps:
        python = NUMPY + made + _chain(conversion, steps, texts, each)
    else:
        asked = options_for(target, options)
        arguments = python_arguments({"source": source, **cast_arguments(target, asked, source)}, texts)
        python = (
            f"{NUMPY}{made}code = np.array([{conversion.code:#x}], np.{source.code_dtype})\n"
            f"result = lp.encode(code, {texts[target]}{arguments})\n"
            "print([hex(code) for code in result.tolist()])\n"
            f"print(lp.cast(code, {texts[target]}{arguments}))"
        )
        if bitcast.value is not None:
            python += f"\nprint(lp.bitcast(code, {texts[target]}, source={texts[source]}))"
    if packing is not None:
        codes = ", ".join(map(hex, packing.codes))
        python += (
            f"\npacked = lp.pack(np.array([{codes}], np.{packing.format.code_dtype}), {texts[packing.format]})\n"
            "print([hex(byte) for byte in packed.tolist()])"
        )
    return python, _nodes(conversion, each, bitcast, steps)


def _number(conversion: Conversion) -> str:
    """Return the value of the source code as an array of one element, in float64 where that holds it."""
    value, source = conversion.value, conversion.source
    if value.special:
        return f"np.array([float({str(value)!r})])"
    if source.is_integer and source.bits > WIDEST.mantissa_bits:
        return f"np.array([{value}], np.{source.name})"
    return f"np.array([{float(value)!r}])"


def _chain(conversion: Conversion, steps: Sequence[Conversion], texts: Texts, each: Sequence[CastOptions]) -> str:
    """Return the casts of a chain one in the other, the direct one, and the explanation of each."""
    formats = (conversion.source, *(step.target for step in steps))
    call = "x"
    for index, ((before, after), options) in enumerate(zip(pairwise(formats), each, strict=True)):
        made_source = {"source": before} if index and before.onnx_enum is None else {}
        arguments = python_arguments({**made_source, **_chain_arguments(after, formats, options)}, texts)
        call = f"lp.cast({call}, {texts[after]}{arguments})"
    target = conversion.target
    own = python_arguments(_chain_arguments(target, formats, each[-1]), texts)
    lines = [f"x = {_number(conversion)}", f"print({call})", f"print(lp.cast(x, {texts[target]}{own}))"]
    explained = [*((step.value, step.target) for step in steps), (conversion.value, target)]
    for (value, fmt), options in zip(explained, (*each, each[-1]), strict=True):
        arguments = python_arguments(_chain_arguments(fmt, formats, options), texts)
        lines.append(f"print(lp.explain({exact_text(value)!r}, {texts[fmt]}{arguments}))")
    return "\n".join(lines)


def _chain_arguments(fmt: Format, formats: Sequence[Format], options: CastOptions) -> dict[str, object]:
    return dict(cast_arguments(fmt, options_for(fmt, options), *formats))


def _nodes(
    conversion: Conversion, each: Sequence[CastOptions], bitcast: BitCasting, steps: Sequence[Conversion]
) -> str:
    source, target = conversion.source, conversion.target
    formats = (source, *(step.target for step in steps)) if steps else (source, target)
    asked = [options_for(fmt, options) for fmt, options in zip(formats[1:], each, strict=True)]
    why_not = why_no_node(*formats) or next(filter(None, (why_no_node(options=one) for one in asked)), "")
    if why_not:
        return why_not
    opset = each[-1].get("opset", NEWEST)  # which integers have, too, where another rounding was chosen
    if steps:
        names = ["x", *(f"through{index}" for index in range(len(steps) - 1)), "y"]
        nodes = [
            node_call("Cast", [names[index]], names[index + 1], {"to": fmt, **_as_integers(fmt, asked[index])})
            for index, fmt in enumerate(formats[1:])
        ]
        return node_list(nodes) + model_lines({"x": source}, {"y": target}, opset)
    onnx = onnx_node("Cast", opset=opset, source=source, to=target, **_as_integers(target, asked[-1]))
    if bitcast.value is not None and not bitcast.note:
        onnx += f"\nbits = {node_call('BitCast', ['x'], 'y', {'to': target})}"
    return onnx


def _as_integers(fmt: Format, options: CastOptions) -> dict[str, Any]:
    """Return the attributes of a Cast, with flags as integers."""
    attributes = cast_attributes(fmt, options)
    return {name: int(value) if isinstance(value, bool) else value for name, value in attributes.items()}
