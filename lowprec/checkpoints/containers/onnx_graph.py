"""What converting initialisers means for the graph of a model: it must give the old names the old types.

An initialiser W becomes the initialiser ``W_codes`` and a node before all others that computes W from it: Cast, or,
with scales, DequantizeLinear. No other node, and no input or output of the model, changes its type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...spec.formats import FLOAT32
from ...spec.opset_rules import first_opset
from ..files.errors import FileError
from .container import OutputTensor

__all__ = ["opset_of", "revise"]

_AXIS, _BLOCKS, _OUTPUT_TYPE = 13, 21, 23
"""The opsets since which DequantizeLinear has axis, block_size and output_dtype."""

_HALF = 19
"""The opset since which it computes in 16 bits."""

_FREE_INITIALIZERS = 4
"""The version of the format since which an initialiser need not be an input as well."""

_PLAIN = FLOAT32
"""ONNX's FLOAT."""


def opset_of(model: Any) -> int:
    """Return the opset of ONNX's own operators that a model asks for."""
    return max((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), default=0)


def _names(graph: Any) -> Iterator[str]:
    """Yield every name of a value in a graph and in the graphs inside it."""
    for group in (graph.input, graph.initializer, graph.output, graph.value_info):
        yield from (one.name for one in group)
    yield from (one.values.name for one in graph.sparse_initializer)
    for node in graph.node:
        yield from [*node.input, *node.output]
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from _names(inner)


def _decoding(onnx: Any, codes: OutputTensor, scale: OutputTensor | None, opset: int) -> tuple[list[Any], int]:
    """Return the nodes that compute an initialiser from its codes, and the opset that they need."""
    before, after, rules = codes.origin.fmt, codes.fmt, codes.rules
    if before is None or after is None or rules is None:
        raise ValueError("a tensor without numbers cannot be converted")
    make, name = onnx.helper.make_node, codes.origin.name
    if scale is None or scale.fmt is None or rules.scaling is None:
        node = make("Cast", [codes.name], [name], f"{name}_cast", to=before.onnx_enum)
        return [node], max(first_opset(after), first_opset(before))
    scaling = rules.scaling
    options: dict[str, Any] = {}
    blocks = _BLOCKS if after.bits == 16 or scaling.block_size else 0
    needed = max(first_opset(after), first_opset(scale.fmt), _AXIS, blocks)
    if scaling.kind == "axis":
        options["axis"] = scaling.axis % len(codes.shape)
    elif scaling.kind == "block":
        options.update(axis=len(codes.shape) - 1, block_size=scaling.block_size)
    result = scale.fmt
    if not result.has_zero or (opset >= _OUTPUT_TYPE and before.bits in (16, 32)):
        result = before if before.bits in (16, 32) else _PLAIN
    if result is not scale.fmt:
        options["output_dtype"], needed = result.onnx_enum, max(needed, _OUTPUT_TYPE)
    last = name if result is before else f"{name}_dequantized"
    nodes = [make("DequantizeLinear", [codes.name, scale.name], [last], f"{name}_dequantize", **options)]
    if last != name:
        nodes.append(make("Cast", [last], [name], f"{name}_cast", to=before.onnx_enum))
    return nodes, max(needed, _HALF if result.bits == 16 else 0)


_CONTENTS = (
    "raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "external_data",
    "data_location",
)  # fmt: skip


def _revised(onnx: Any, tensor: Any, output: OutputTensor) -> Any:
    """Return the message of an output, its bytes left out."""
    revised = onnx.TensorProto()
    revised.CopyFrom(tensor)
    if tensor.data_type == onnx.TensorProto.STRING:
        return revised
    for field in _CONTENTS:
        if output.role != "kept" or field not in ("external_data", "data_location"):  # which are set anew later
            revised.ClearField(field)
    if output.role != "kept" and output.fmt is not None:
        revised.name, revised.data_type = output.name, output.fmt.onnx_enum
        revised.ClearField("dims")
        revised.dims.extend(output.shape)
    return revised


def revise(
    path: Path, source: Any, source_graph: Any, initializers: Sequence[Any], outputs: Sequence[OutputTensor]
) -> tuple[Any, Any, list[Any]]:
    """Return the model without its graph, the graph without its initialisers, and these without their bytes.

    `outputs` are what initialisers of the main graph become; the last list is in their order.
    """
    import onnx

    model, graph = onnx.ModelProto(), onnx.GraphProto()
    model.CopyFrom(source)
    graph.CopyFrom(source_graph)
    originals = {one.name: one for one in initializers}
    scales = {one.origin.name: one for one in outputs if one.role == "scale"}
    taken = set(_names(graph)) | originals.keys()
    opset, nodes, converted, protos = opset_of(model), [], set(), []
    for output in outputs:
        origin = output.origin
        if output.fmt is not None and output.fmt.onnx_enum is None:
            raise FileError(f"{path}: cannot hold {output.fmt.name}, for which ONNX has no type")
        protos.append(_revised(onnx, originals[origin.name], output))
        if output.role == "kept" or output.fmt is None:
            continue
        if output.name in taken:
            raise FileError(f"{path}: has {ascii(output.name)[:80]} already, the name for what becomes of it")
        taken.add(output.name)
        if output.role == "codes":
            converted.add(origin.name)
            added, needed = _decoding(onnx, output, scales.get(origin.name), opset)
            if needed > opset:
                raise FileError(
                    f"{path}: asks for opset {opset}, and the node that reads {output.fmt.name} is there from "
                    f"opset {needed} on; raise it with onnx.version_converter first"
                )
            nodes += added
            floor = onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", first_opset(output.fmt))])
            model.ir_version = max(model.ir_version, floor, _FREE_INITIALIZERS)
    for name in [one for node in nodes for one in node.output if one not in converted]:
        if name in taken:
            raise FileError(f"{path}: has {ascii(name)[:80]} already, the name for what becomes of it")
    kept = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *kept])
    inputs = [one for one in graph.input if one.name not in converted]
    del graph.input[:]
    graph.input.extend(inputs)
    return model, graph, protos
