"""The quantized weights of a container that a conversion dequantizes, and the tensors that they are stored in."""

from __future__ import annotations

from ...spec.formats import BFLOAT16, FLOAT16, FLOAT32
from ..containers.container import Container
from ..containers.tensors import TensorReader
from ..element_rules import ElementRules
from ..layouts.registry import find_weights
from ..layouts.weight import Source, Weight
from ..layouts.weight_reader import read_integers
from .quantization_config import layer_descriptions, quantization_of

__all__ = ["dequantizes", "quantized_weights", "source_of"]

VALUES = (BFLOAT16, FLOAT16, FLOAT32)
"""The formats that weights are dequantized to."""


def dequantizes(rules: ElementRules) -> bool:
    """Whether a conversion applies the scales of quantized weights."""
    return rules.to in VALUES and rules.scaling is None


def source_of(container: Container, reader: TensorReader) -> Source:
    """Return the tensors of a container, and what it says of them, for layouts to recognise weights in."""
    return Source(
        {one.name: one for one in container.tensors},
        quantization_of(container),
        lambda tensor: read_integers(reader, tensor),
        layer_descriptions(container),
    )


def quantized_weights(container: Container) -> list[Weight]:
    """Return the quantized weights of a container, in the order of its tensors.

    Raises FileError if the tensors of a weight do not fit each other or config.json.
    """
    reader = TensorReader()
    try:
        weights = find_weights(source_of(container, reader))
    finally:
        reader.close()
    order = {one.name: number for number, one in enumerate(container.tensors)}
    return sorted(weights, key=lambda weight: order[weight.codes.name])
