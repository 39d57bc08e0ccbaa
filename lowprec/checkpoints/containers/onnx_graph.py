"""What converting tensors means for the graphs of a model: they must give the old names the old types.

An initialiser W becomes the initialiser ``W_codes`` and a node before all others that computes W from it: Cast, or,
with scales, DequantizeLinear. No other node, and no input or output of the model, changes its type. In the body of a
node the same is done there. A Constant becomes such an initialiser or, in a function, a Constant of codes.
"""

from __future__ import annotations

import dataclasses
import math
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...spec.formats import FLOAT32
from ...spec.operator_versions import first_opset
from ..files.errors import FileError
from .container import OutputTensor
from .onnx_protobuf import is_external

if TYPE_CHECKING:
    import onnx

__all__ = ["Revised", "find_inner", "revise", "tensors_in"]

Steps = tuple[tuple[int, int], ...]
"""Where a message is in another one: the number of a field, and which of its values, from the outermost on."""

VALUE = "value"
"""The attribute of Constant that is a tensor."""

_NUMBERS = {
    "value_float": ("FLOAT", "f"), "value_floats": ("FLOAT", "floats"),
    "value_int": ("INT64", "i"), "value_ints": ("INT64", "ints"),
    "value_string": ("STRING", "s"), "value_strings": ("STRING", "strings"),
}  # fmt: skip
"""The other attributes of Constant: the type of the tensor that they mean, and their field."""

_AXIS, _BLOCKS, _OUTPUT_TYPE = 13, 21, 23
"""The opsets since which DequantizeLinear has axis, block_size and output_dtype."""

_HALF = 19
"""The opset since which it computes in 16 bits."""

_FREE_INITIALIZERS = 4
"""The version of the format since which an initialiser need not be an input as well."""

_PLAIN = FLOAT32
"""ONNX's FLOAT."""

_CONTENTS = (
    "raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "external_data",
    "data_location",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """Where tensors are.

    Attributes
    ----------
    holder : GraphProto or FunctionProto
        The innermost graph or function.
    scope : ModelProto or FunctionProto
        What says of which opset its nodes are.
    text : str
        The nodes and attributes, or the function, around it; empty for the main graph.
    fixed : str
        Why everything there must stay as it is; empty where it need not.
    depth : int
        How many attributes are around it.
    """

    holder: Any
    scope: Any
    text: str = ""
    fixed: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class InnerTensor:
    """A tensor and where it is.

    Attributes
    ----------
    tensor : TensorProto
        Itself, or what the attribute of a Constant means that is none.
    name : str
        What its readers call it; for an attribute of another node the node's output and the attribute.
    place : Place
        Where it is.
    index : int
        The number of the initialiser, or of the node.
    constant : AttributeProto, optional
        What a Constant has it in.
    is_initializer : bool
        Whether it is an initialiser.
    fixed : str
        Why it must stay as it is.
    """

    tensor: onnx.TensorProto
    name: str
    place: Place
    index: int = 0
    constant: Any = None
    is_initializer: bool = False
    fixed: str = ""


def tensors_in(message: Any, steps: Steps = ()) -> Iterator[tuple[Steps, onnx.TensorProto]]:
    """Yield where every tensor inside a message is, however deep, and itself, always in the same order."""
    if message.DESCRIPTOR.full_name == "onnx.TensorProto":
        yield steps, message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for number, one in enumerate([value] if hasattr(value, "DESCRIPTOR") else value):
                yield from tensors_in(one, (*steps, (field.number, number)))


def find_inner(model: Any, graph: Any) -> Iterator[InnerTensor]:
    """Yield the tensors of a model and of its main graph, the initialisers of that apart, always in the same order."""
    yield from _in_graph(graph, Place(graph, model))
    for function in model.functions:
        name = f"{function.domain}.{function.name}" if function.domain else function.name
        place = Place(function, function, f"{name}/")
        for index, node in enumerate(function.node):
            yield from _in_node(node, index, place)
        for attribute in function.attribute_proto:
            why = "it is the default of an attribute"
            yield from _in_attribute(attribute, attribute.name, replace(place, fixed=why), why)
    for number, training in enumerate(model.training_info):
        for inner in (training.initialization, training.algorithm):
            yield from _in_graph(inner, Place(inner, model, f"training_info[{number}]/", "it is for training"))


def _in_graph(graph: Any, place: Place) -> Iterator[InnerTensor]:
    inputs = {one.name for one in graph.input}
    for index, tensor in enumerate(graph.initializer):
        fixed = place.fixed or ("it is the default of a graph input" if tensor.name in inputs else "")
        fixed = fixed or ("" if tensor.name else "it has no name")
        yield InnerTensor(tensor, tensor.name, place, index, is_initializer=True, fixed=fixed)
    for sparse in graph.sparse_initializer:
        yield from _in_sparse(sparse, sparse.values.name, place)
    for index, node in enumerate(graph.node):
        yield from _in_node(node, index, place)


def _in_sparse(sparse: Any, name: str, place: Place) -> Iterator[InnerTensor]:
    for part in ("values", "indices"):
        if sparse.HasField(part):
            yield InnerTensor(getattr(sparse, part), f"{name}.{part}", place, fixed="it is sparse")


def _in_node(node: Any, index: int, place: Place) -> Iterator[InnerTensor]:
    is_constant = node.op_type == "Constant" and node.domain in ("", "ai.onnx") and len(node.output) == 1
    around = f"{place.text}{node.name or node.op_type}/"
    for attribute in node.attribute:
        tensor = _value(attribute) if is_constant else None
        if tensor is None:
            name = f"{node.output[0] if node.output else node.op_type}.{attribute.name}"
            why = place.fixed or f"it is an attribute of {node.op_type}"
            yield from _in_attribute(attribute, name, replace(place, text=around), why)
        else:
            fixed = place.fixed or ("it is a single number" if math.prod(tensor.dims) == 1 else "")
            yield InnerTensor(tensor, node.output[0], place, index, attribute, fixed=fixed)


def _in_attribute(attribute: Any, name: str, place: Place, why: str) -> Iterator[InnerTensor]:
    """Yield what an attribute has: `why` is why its own tensors must stay as they are."""
    for tensor in [*([attribute.t] if attribute.HasField("t") else []), *attribute.tensors]:
        yield InnerTensor(tensor, name, place, fixed=why)
    sparse = [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []
    for one in [*sparse, *attribute.sparse_tensors]:
        yield from _in_sparse(one, name, place)
    for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
        inside = f"{place.text}{attribute.name}/"
        yield from _in_graph(graph, replace(place, holder=graph, text=inside, depth=place.depth + 1))


def _value(attribute: Any) -> onnx.TensorProto | None:
    """Return what an attribute of Constant means; None for a sparse one, and for one that a function's caller gives."""
    from onnx import TensorProto, helper

    if attribute.name == VALUE:
        return attribute.t if attribute.HasField("t") else None
    if attribute.name not in _NUMBERS or attribute.ref_attr_name:
        return None
    kind, field = _NUMBERS[attribute.name]
    found = getattr(attribute, field)
    values, dims = ([found], []) if field in ("f", "i", "s") else (list(found), [len(found)])
    return helper.make_tensor("", getattr(TensorProto, kind), dims, values)


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
    if scaling.axis is not None:
        options["axis"] = scaling.axis % len(codes.shape)
    if scaling.block_size:
        options["block_size"] = scaling.block_size
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
