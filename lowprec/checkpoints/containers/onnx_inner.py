"""Tensors of an ONNX model besides the initialisers of its main graph: in bodies, in Constants, in functions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import onnx

__all__ = ["VALUE", "InnerTensor", "Place", "Steps", "find_inner", "tensors_in"]

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
