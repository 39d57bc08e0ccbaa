"""The table of layouts of quantized checkpoints; a new layout is one line here and one module of this folder."""

from __future__ import annotations

from . import auto_round, awq, comfy_ui, compressed_tensors, fp8, gguf, gpt_oss, gptq, modelopt, scaled
from .described_values import check_module_lists
from .weight import Source, Weight, fail

__all__ = ["LAYOUTS", "find_weights"]

LAYOUTS = (gguf, comfy_ui, gpt_oss, compressed_tensors, auto_round, awq, gptq, modelopt, fp8, scaled)
"""Each has `NAME`, `METHODS` (the values of ``quant_method`` in config.json) and `find`; the first that fits counts."""


def find_weights(source: Source) -> list[Weight]:
    """Return the quantized weights of a checkpoint, and remove their tensors from `source`.

    Where the configuration names a method, only the layouts of that method, and those of none, are tried.

    Raises
    ------
    FileError
        If the tensors of a weight do not fit each other or the configuration.
    """
    method = source.description.get("quant_method")
    weights: list[Weight] = []
    for layout in LAYOUTS:
        if method is not None and layout.METHODS and method not in layout.METHODS:
            continue
        for weight in layout.find(source):
            check_module_lists(source.description)
            weights.append(weight)
            for tensor in weight.tensors:
                if tensor.fortran and len(tensor.shape) > 1:
                    raise fail(tensor, "has its axes in Fortran's order, and cannot be read with the weight's codes")
                source.tensors.pop(tensor.name, None)
    return weights
