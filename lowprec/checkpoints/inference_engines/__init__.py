"""The engines whose quantized weights are read, a row each, and the weights of a container."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...spec.formats import BFLOAT16, FLOAT16, FLOAT32
from ..containers.container import Container, TensorReader
from ..containers.model_config import layer_descriptions, quantization_of
from ..schemes.cast import ElementRules
from ..weights import lowprec_names
from ..weights.engine_interface import check_module_lists
from ..weights.quantized_weight import Source, Weight, fail, read_integers
from . import awq_gptq, comfy_ui, compressed_tensors, deepseek_fp8, gguf, gpt_oss, modelopt

__all__ = ["ENGINES", "dequantizes", "find_weights", "quantized_weights", "source_of"]

VALUES = (BFLOAT16, FLOAT16, FLOAT32)
"""The formats that weights are dequantized to."""


class Engine(NamedTuple):
    """How one engine stores quantized weights.

    Attributes
    ----------
    name : str
        Its name in texts.
    methods : tuple of str
        What ``quant_method`` in config.json may be; empty where config.json does not say.
    find : callable
        Takes a source; yields the weights that are stored so.
    """

    name: str
    methods: tuple[str, ...]
    find: Callable[[Source], Iterator[Weight]]


ENGINES = (
    Engine(gguf.NAME, gguf.METHODS, gguf.find),
    Engine(comfy_ui.NAME, comfy_ui.METHODS, comfy_ui.find),
    Engine(gpt_oss.NAME, gpt_oss.METHODS, gpt_oss.find),
    Engine(compressed_tensors.NAME, compressed_tensors.METHODS, compressed_tensors.find),
    Engine(awq_gptq.AUTO_ROUND, awq_gptq.AUTO_ROUND_METHODS, awq_gptq.find_auto_round),
    Engine(awq_gptq.AWQ, awq_gptq.AWQ_METHODS, awq_gptq.find_awq),
    Engine(awq_gptq.GPTQ, awq_gptq.GPTQ_METHODS, awq_gptq.find_gptq),
    Engine(modelopt.NAME, modelopt.METHODS, modelopt.find),
    Engine(deepseek_fp8.NAME, deepseek_fp8.METHODS, deepseek_fp8.find),
    Engine(lowprec_names.NAME, lowprec_names.METHODS, lowprec_names.find),
)
"""The first whose names fit counts."""


def find_weights(source: Source) -> list[Weight]:
    """Return the quantized weights of a checkpoint, and remove their tensors from `source`.

    Where the configuration names a method, only the engines of that method, and those of none, are tried.

    Raises
    ------
    FileError
        If the tensors of a weight do not fit each other or the configuration.
    """
    method = source.description.get("quant_method")
    weights: list[Weight] = []
    for engine in ENGINES:
        if method is not None and engine.methods and method not in engine.methods:
            continue
        for weight in engine.find(source):
            check_module_lists(source.description)
            weights.append(weight)
            for tensor in weight.tensors:
                if tensor.fortran and len(tensor.shape) > 1:
                    raise fail(tensor, "has its axes in Fortran's order, and cannot be read with the weight's codes")
                source.tensors.pop(tensor.name, None)
    return weights


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
