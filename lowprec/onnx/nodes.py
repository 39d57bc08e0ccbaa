"""The operators as classes that ONNX's reference evaluator runs, each node by the version its opset import names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import onnx
import onnx.defs
from onnx.reference.op_run import OpRun

from ..ops.cast import bitcast, cast, cast_like
from ..ops.dynamic_quantize_linear import dynamic_quantize_linear
from ..ops.quantize_linear import onnx_dequantize_linear, onnx_quantize_linear

__all__ = ["NODES"]


def _schema(node: onnx.NodeProto, opset: int) -> Any:
    """Return what ONNX says of the operator in the version that an opset uses."""
    try:
        return onnx.defs.get_schema(node.op_type, opset, node.domain)
    except onnx.defs.SchemaError:
        first = min(s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == node.op_type)
        raise ValueError(f"{node.op_type} is in ONNX since opset {first}; the model imports opset {opset}") from None


def _check_attributes(node: onnx.NodeProto, schema: Any) -> None:
    """Raise ValueError for an attribute that the version lacks, or holds as another type."""
    for attribute in node.attribute:
        known = schema.attributes.get(attribute.name)
        version = f"{node.op_type}-{schema.since_version}"
        if known is None:
            has = ", ".join(sorted(schema.attributes)) or "none"
            raise ValueError(f"attribute `{attribute.name}` must be one that {version} has ({has})")
        if attribute.type and attribute.type != int(known.type.value):
            wanted, got = known.type.name, onnx.AttributeProto.AttributeType.Name(attribute.type)
            raise ValueError(f"attribute `{attribute.name}` of {version} must be of type {wanted}; got {got}")
    missing = {name for name, known in schema.attributes.items() if known.required}
    missing -= {attribute.name for attribute in node.attribute}
    if missing:
        raise ValueError(f"attribute `{min(missing)}` must be given for {node.op_type}-{schema.since_version}")


class _Node(OpRun):
    """A node of the default domain: its attributes are those of its version, its errors name it."""

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        self._label = (
            f"node {onnx_node.name!r} ({onnx_node.op_type})" if onnx_node.name else f"{onnx_node.op_type} node"
        )
        try:
            schema = schema or _schema(onnx_node, run_params["opsets"][onnx_node.domain])
            _check_attributes(onnx_node, schema)
        except ValueError as error:
            raise ValueError(f"{self._label}: {error}") from None
        self.version: int = schema.since_version
        super().__init__(onnx_node, run_params, schema)

    def _run(self, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        try:
            return self.compute(inputs, attributes)
        except (TypeError, ValueError) as error:  # the evaluator hides what a TypeError says
            raise ValueError(f"{self._label}, version {self.version}: {error}") from error

    @abstractmethod
    def compute(self, inputs: tuple[Any, ...], attributes: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the outputs; `attributes` holds all that the version has, those left out with their defaults."""


class Cast(_Node):
    """Cast, versions 1 to 28."""

    def compute(self, inputs: tuple[Any, ...], attributes: Mapping[str, Any]) -> tuple[Any, ...]:
        (x,) = inputs
        options = {name: value for name, value in attributes.items() if name != "to"}
        return (cast(x, attributes["to"], opset=self.version, **options),)


class CastLike(_Node):
    """CastLike, versions 15 to 25."""

    def compute(self, inputs: tuple[Any, ...], attributes: Mapping[str, Any]) -> tuple[Any, ...]:
        x, like = inputs
        return (cast_like(x, like, opset=self.version, **attributes),)


class BitCast(_Node):
    """BitCast, version 26."""

    def compute(self, inputs: tuple[Any, ...], attributes: Mapping[str, Any]) -> tuple[Any, ...]:
        (x,) = inputs
        return (bitcast(x, attributes["to"], opset=self.version),)


class QuantizeLinear(_Node):
    """QuantizeLinear, versions 10 to 28."""

    def compute(self, inputs: tuple[Any, ...], attributes: Mapping[str, Any]) -> tuple[Any, ...]:
        return (onnx_quantize_linear(*inputs, opset=self.version, **attributes),)


class DequantizeLinear(_Node):
    """DequantizeLinear, versions 10 to 28."""

    def compute(self, inputs: tuple[Any, ...], attributes: Mapping[str, Any]) -> tuple[Any, ...]:
        return (onnx_dequantize_linear(*inputs, opset=self.version, **attributes),)


class DynamicQuantizeLinear(_Node):
    """DynamicQuantizeLinear, version 11."""

    def compute(self, inputs: tuple[Any, ...], attributes: Mapping[str, Any]) -> tuple[Any, ...]:
        (x,) = inputs
        return dynamic_quantize_linear(x, opset=self.version)


NODES: list[type[OpRun]] = [Cast, CastLike, BitCast, QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear]
"""What ``ReferenceEvaluator(model, new_ops=...)`` takes; one class an operator, whatever the version."""
