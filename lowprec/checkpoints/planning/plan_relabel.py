"""Another layout for a quantized checkpoint, ModelOpt's or that of compressed-tensors: names, scales, descriptions.

Codes, and scales of blocks, are copied. NVFP4's second scale is a factor in the one and a divisor in the other.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...ops.codes import decode
from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT32
from ..containers.container import Container
from ..containers.folder import Folder
from ..containers.safetensors_file import SafetensorsFile
from ..containers.tensors import StoredTensor, TensorReader
from ..files.errors import FileError
from ..layouts import compressed_tensors, compressed_tensors_output, modelopt, modelopt_output
from ..layouts.output import CODES, GLOBAL_SCALE, SCALES, Output
from ..layouts.weight import Weight, fail, split
from ..layouts.weight_reader import read_tensor
from ..operations.constant import Constant
from ..operations.copy import Copy
from ..operations.operation import Operation
from ..recipes.selection import linear_module
from ..schemes.scheme import GlobalScale, Grid, Packing, Scheme
from .conversion_plan import ConversionPlan, check_names
from .quantization_config import find_descriptions, quantization_of

__all__ = ["LAYOUTS", "plan_relabel"]

CACHE = {"dynamic": False, "num_bits": 8, "type": "float"}
"""How both describe a cache of keys and values in FP8, the only numbers that both have for it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout that is written.

    Attributes
    ----------
    title : str
        Its name in weights that were read.
    outputs : callable
        Takes the name and the shape of a weight and its scheme; yields the tensors that it is stored in.
    second : GlobalScale
        What a second scale does.
    nvfp4_input, fp8_input : str
        The names of the scale of a layer's input.
    scalar : tuple of int
        The shape of one number.
    describe : callable
        Takes the scheme, whether inputs have a scale, modules that are not quantized, and whether the cache is FP8;
        returns what a recipe's `describe` does.
    """

    title: str
    outputs: Callable[[str, tuple[int, ...], Scheme], Iterable[Output]]
    second: GlobalScale
    nvfp4_input: str
    fp8_input: str
    scalar: tuple[int, ...]
    describe: Callable[[Scheme, bool, Sequence[str], bool], Mapping[str, Any]]

    def input_name(self, scheme: Scheme) -> str:
        """Return the name of the scale of a layer's input."""
        return self.fp8_input if scheme.global_scale is GlobalScale.NONE else self.nvfp4_input


def _describe_compressed_tensors(scheme: Scheme, static: bool, ignore: Sequence[str], cache: bool) -> dict[str, Any]:
    preset, activations = "NVFP4A16", None
    if scheme.global_scale is GlobalScale.NONE:
        preset, activations = "FP8_DYNAMIC", {"dynamic": True, "strategy": "token"}
    if static:
        preset, activations = preset.removesuffix("A16").removesuffix("_DYNAMIC"), {"observer": "static_minmax"}
    if static and preset == "NVFP4":
        activations |= {"num_bits": 4, "group_size": scheme.grid.columns, "strategy": "tensor_group"}
        activations |= {"dynamic": "local", "scale_dtype": f"torch.{scheme.scale.torch_name}"}
    described = compressed_tensors_output.describe(preset, activations, scheme, ignore)
    if cache:
        described["quantization_config"]["kv_cache_scheme"] = {**compressed_tensors_output.ARGUMENTS, **CACHE}
    return described


def _describe_modelopt(scheme: Scheme, static: bool, ignore: Sequence[str], cache: bool) -> dict[str, Any]:
    algorithm = modelopt_output.FP8
    if scheme.global_scale is not GlobalScale.NONE:
        algorithm = modelopt_output.NVFP4 if static else modelopt_output.NVFP4_WEIGHTS
    return dict(modelopt_output.describe(algorithm, scheme, ignore, modelopt_output.FP8 if cache else None))


LAYOUTS = {
    compressed_tensors_output.NAME: Layout(
        compressed_tensors.NAME, compressed_tensors_output.outputs, GlobalScale.INVERSE, "input_global_scale",
        "input_scale", (1,), _describe_compressed_tensors,
    ),
    modelopt_output.NAME: Layout(
        modelopt.NAME, modelopt_output.outputs, GlobalScale.FACTOR, "input_scale", "input_scale", (),
        _describe_modelopt,
    ),
}  # fmt: skip
"""The layouts that `convert` writes without quantizing, by the names that its parameter takes."""


def plan_relabel(container: Container, name: str) -> ConversionPlan:
    """Decide what becomes of every tensor where a quantized checkpoint gets another layout.

    Raises FileError where the container is of another kind, is not quantized, has that layout already, or has weights
    or a cache that the layout has no names for.
    """
    layout = LAYOUTS[name]
    if not isinstance(container, (Folder, SafetensorsFile)):
        raise FileError(f"{container.path}: must be a .safetensors file or a folder of them for the layout {name}")
    description, weights = quantization_of(container), quantized_weights(container)
    if not weights:
        raise FileError(f"{container.path}: has no quantized weights, to be stored in the layout {name}")
    reader = TensorReader()
    try:
        relabelling = _Relabelling(layout, reader)
        for weight in weights:
            relabelling.add(weight, name)
    finally:
        reader.close()
    plan, ignore = ConversionPlan(), _patterns(description, name)
    for tensor in container.tensors:
        if tensor.name in relabelling.operations:
            plan.add(*relabelling.operations[tensor.name])
        else:
            plan.add(Copy(tensor), "not quantized")
            ignore.add(linear_module(tensor))
    check_names(container, plan.outputs)
    plan.misfits = find_descriptions(container)
    scheme, static = relabelling.kind(weights)
    if layout is LAYOUTS[modelopt_output.NAME] and scheme.global_scale is GlobalScale.NONE and not static:
        raise fail(weights[0].codes, "has no input_scale, which FP8 needs in the layout modelopt (only calibration has it)")
    plan.descriptions = layout.describe(scheme, static, sorted(ignore - {""}), _has_fp8_cache(container, description))
    plan.remarks.append(relabelling.remark())
    if isinstance(container, SafetensorsFile):
        plan.remarks.append(f"config.json of the model must say how it is quantized: {name}")
    return plan
