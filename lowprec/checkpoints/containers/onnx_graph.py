"""What converting tensors means for the graphs of a model: they must give the old names the old types.

An initialiser W becomes the initialiser ``W_codes`` and a node before all others that computes W from it: Cast, or,
with scales, DequantizeLinear. No other node, and no input or output of the model, changes its type. In the body of a
node the same is done there. A Constant becomes such an initialiser or, in a function, a Constant of codes.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...spec.formats import FLOAT32
from ...spec.operator_versions import first_opset
from ..files.errors import FileError
from .container import OutputTensor
from .onnx_external_data import is_external
from .onnx_inner import VALUE, InnerTensor, Place, Steps, find_inner, tensors_in

__all__ = ["Revised", "opset_of", "revise"]

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
    """Yield every name of a value in a graph or function and in the graphs inside it."""
    if graph.DESCRIPTOR.name == "GraphProto":
        for group in (graph.input, graph.initializer, graph.output, graph.value_info):
            yield from (one.name for one in group)
        yield from (one.values.name for one in graph.sparse_initializer)
    else:
        yield from [*graph.input, *graph.output]
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


@dataclass(slots=True)
class Revised:
    """A model to be written, the bytes of its tensors left out.

    Attributes
    ----------
    model, graph : ModelProto, GraphProto
        The model without its main graph, and that without its initialisers.
    tensors : list of TensorProto or None
        Of each output; those of the initialisers of the main graph are parts of neither. None for text inside.
    steps : dict
        Where in the model (True) or its main graph (False) the others are, by the numbers of the outputs.
    """

    model: Any
    graph: Any
    tensors: list[Any]
    steps: dict[int, tuple[bool, Steps]] = dataclasses.field(default_factory=dict)


@dataclass(slots=True)
class _Change:
    """An output under the name that its readers use, and where its origin is; None for the main initialisers."""

    number: int
    output: OutputTensor
    inner: InnerTensor | None


def revise(
    path: Path,
    source: Any,
    source_graph: Any,
    initializers: Sequence[Any],
    inner_names: Sequence[str | None],
    outputs: Sequence[OutputTensor],
) -> Revised:
    """Return the model with the outputs in the place of their origins.

    `inner_names` are those under which the tensors that `find_inner` finds were listed; None for one that was not.
    """
    import onnx

    model, graph = onnx.ModelProto(), onnx.GraphProto()
    model.CopyFrom(source)
    graph.CopyFrom(source_graph)
    originals = {one.name: one for one in initializers}
    inner = {name: one for name, one in zip(inner_names, find_inner(model, graph), strict=True) if name is not None}
    revised, marks = Revised(model, graph, [None] * len(outputs)), _Marks()
    changes: dict[int, tuple[Place, list[_Change]]] = {id(graph): (Place(graph, model), [])}
    for number, output in enumerate(outputs):
        if output.fmt is not None and output.fmt.onnx_enum is None:
            raise FileError(f"{path}: cannot hold {output.fmt.name}, for which ONNX has no type")
        name, one = output.origin.name, inner.get(output.origin.name)
        if name in originals:
            revised.tensors[number] = _revised(onnx, originals[name], output)
            changes[id(graph)][1].append(_Change(number, output, None))
        elif one is not None:
            origin = replace(output.origin, name=one.name)
            local = replace(output, name=one.name + output.name[len(name) :], origin=origin)
            changes.setdefault(id(one.place.holder), (one.place, []))[1].append(_Change(number, local, one))
    taken = {id(place.scope): set(_names(place.scope)) for place, _ in changes.values() if place.scope is not model}
    taken[id(model)] = set(_names(graph)) | originals.keys()
    for place, some in sorted(changes.values(), key=lambda one: -one[0].depth):  # copies of nodes have what is in them
        nodes, dropped = _replace_tensors(onnx, path, place, some, marks)
        nodes += _decode(onnx, path, model, place, some, taken[id(place.scope)])
        kept = [node for index, node in enumerate(place.holder.node) if index not in dropped]
        del place.holder.node[:]
        place.holder.node.extend([*nodes, *kept])
    converted = {one.output.origin.name for one in changes[id(graph)][1] if one.output.role == "codes"}
    inputs = [one for one in graph.input if one.name not in converted]
    del graph.input[:]
    graph.input.extend(inputs)
    marks.resolve(revised)
    return revised


class _Marks:
    """Tensors that are found again by their names in a model that has been copied in parts meanwhile."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._names: dict[str, tuple[int, str | None]] = {}

    def set(self, tensor: Any, number: int) -> None:
        """Mark the tensor of an output."""
        mark = f"{self._token} {number}"
        self._names[mark] = number, tensor.name if tensor.HasField("name") else None
        tensor.name = mark

    def resolve(self, revised: Revised) -> None:
        """Note where all are, and give them their names back."""
        for is_model, message in ((True, revised.model), (False, revised.graph)):
            for steps, tensor in tensors_in(message):
                if tensor.name in self._names:
                    number, name = self._names[tensor.name]
                    revised.tensors[number], revised.steps[number] = tensor, (is_model, steps)
                    tensor.ClearField("name")
                    if name is not None:
                        tensor.name = name


def _replace_tensors(
    onnx: Any, path: Path, place: Place, changes: Sequence[_Change], marks: _Marks
) -> tuple[list[Any], set[int]]:
    """Put outputs in the place of tensors inside a graph or function; return new Constants, and the numbers of old."""
    nodes: list[Any] = []
    dropped: set[int] = set()
    for one in changes:
        output, inner = one.output, one.inner
        if inner is None or inner.tensor.data_type == onnx.TensorProto.STRING:
            continue
        tensor = _revised(onnx, inner.tensor, output)
        if not is_external(inner.tensor):
            tensor.raw_data = bytes(output.nbytes)  # the place for what is written later
        marks.set(tensor, one.number)
        if output.role == "kept" and inner.constant is not None and inner.constant.name != VALUE:
            inner.constant.CopyFrom(onnx.helper.make_attribute(VALUE, tensor))
        elif output.role == "kept":
            inner.tensor.CopyFrom(tensor)
        elif output.role == "codes" and inner.is_initializer:
            place.holder.initializer[inner.index].CopyFrom(tensor)
        elif place.scope is not place.holder:
            place.holder.initializer.append(tensor)
        else:
            _check_constant(onnx, path, place, inner, output)
            nodes.append(onnx.helper.make_node("Constant", [], [output.name], value=tensor))
        if output.role != "kept" and inner.constant is not None:
            dropped.add(inner.index)
    return nodes, dropped


def _check_constant(onnx: Any, path: Path, place: Place, inner: InnerTensor, output: OutputTensor) -> None:
    """Raise FileError for a format that no Constant has; a function, which has no initialisers, cannot hold it."""
    if output.fmt is None:
        return
    schema = onnx.defs.get_schema("Constant", opset_of(place.scope))
    name = f"tensor({onnx.TensorProto.DataType.Name(output.fmt.onnx_enum).lower()})"
    if not any(name in one.allowed_type_strs for one in schema.type_constraints):
        raise FileError(
            f"{path}: cannot hold {ascii(inner.name)[:80]} of {ascii(place.text)[1:-2][:80]} in {output.fmt.name}; "
            f"no Constant of opset {opset_of(place.scope)} has that type (`exclude` keeps it)"
        )


def _decode(onnx: Any, path: Path, model: Any, place: Place, changes: Sequence[_Change], taken: set[str]) -> list[Any]:
    """Return the nodes that compute what is converted in a graph or function from its codes.

    Raises FileError where they are of a newer opset, or names are taken.
    """
    scales = {one.output.origin.name: one.output for one in changes if one.output.role == "scale"}
    opset, nodes = opset_of(place.scope) or opset_of(model), []
    names: list[str] = []
    for output in (one.output for one in changes):
        if output.role == "kept" or output.fmt is None:
            continue
        names.append(output.name)
        if output.role == "codes":
            added, needed = _decoding(onnx, output, scales.get(output.origin.name), opset)
            if needed > opset:
                raise FileError(
                    f"{path}: asks for opset {opset}, and the node that reads {output.fmt.name} is there from "
                    f"opset {needed} on; raise it with onnx.version_converter first"
                )
            nodes += added
            names += [one for node in added for one in node.output if one != output.origin.name]
            floor = onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", first_opset(output.fmt))])
            model.ir_version = max(model.ir_version, floor, _FREE_INITIALIZERS)
    for name in names:
        if name in taken:
            raise FileError(f"{path}: has {ascii(name)[:80]} already, the name for what becomes of it")
    return nodes
