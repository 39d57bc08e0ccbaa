"""Python and ONNX that a page of the explorer offers to copy are run and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from .optional import optional

__all__ = ["model_of", "number", "offered", "run"]

onnx: Any = optional("onnx")


def run(text: str, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """Return the names that it defines, and what it prints; skip the test where it needs onnx and that is missing."""
    names: dict[str, Any] = {}
    capsys.readouterr()
    if text.startswith("import onnx"):
        pytest.importorskip("onnx")
    exec(text, names)
    return names, capsys.readouterr().out


def number(text: str) -> float:
    """Return the number in a line that prints an array of one, or a bool."""
    text = text.strip("[] \n")
    return float({"True": "1", "False": "0"}.get(text, text))


def model_of(nodes: Sequence[Any], inputs: Mapping[str, Any], opset: int = 28) -> Any:
    """Put nodes into a model of an opset and let onnx check it, types and shapes inferred; return it."""
    given = [onnx.helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    wanted = [onnx.helper.make_empty_tensor_value_info(node.output[0]) for node in nodes]
    graph = onnx.helper.make_graph(nodes, "g", given, wanted)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    onnx.checker.check_model(inferred, full_check=True)
    return inferred


def offered(names: Mapping[str, Any], nodes: Sequence[Any], opset: int) -> tuple[list[int], list[int]]:
    """Let onnx check the model that is copied with nodes, and return the types of its inputs and outputs."""
    model = names["model"]
    onnx.checker.check_model(model, full_check=True)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", opset)]
    assert list(model.graph.node) == list(nodes)
    ends = (model.graph.input, model.graph.output)
    inputs, outputs = ([one.type.tensor_type.elem_type for one in end] for end in ends)
    return inputs, outputs
