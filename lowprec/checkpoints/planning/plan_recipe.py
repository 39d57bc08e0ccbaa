"""Which weights of a model a recipe quantizes, and what is kept and why."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from ...spec.formats import BFLOAT16
from ..containers.container import Container, OutputTensor
from ..containers.tensors import StoredTensor
from ..files.errors import FileError
from ..schemes.presets import Preset
from .companions import find_companions
from .conversion_plan import ConversionPlan, TensorPlan, check_names
from .quantization_config import find_descriptions
from .weights_to_quantize import QuantizedWeight, configuration, outputs_of, quantized_weight, why_kept

__all__ = ["plan_preset"]


def plan_preset(container: Container, preset: Preset, keep: Sequence[str] = ()) -> ConversionPlan:
    """Decide what a preset makes of every tensor of a container.

    Raises FileError where the container is quantized already, a pattern names nothing, or no weight is quantized.
    """
    for pattern in keep:
        names = (name for one in container.tensors for name in (one.name, one.name.removesuffix(".weight")))
        if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
            raise FileError(f"{container.path}: has no tensor or module that --keep {pattern!r} names")
    described = find_descriptions(container)
    companions = find_companions(container.tensors)
    if described or companions:
        why = described[0].text() if described else companions[0].text()
        raise FileError(f"{container.path}: is quantized already ({why}); convert it --to {BFLOAT16.name} first")
    tensor_plans: list[TensorPlan] = []
    outputs: list[OutputTensor] = []
    weights: list[QuantizedWeight] = []
    kept: list[StoredTensor] = []
    for tensor in container.tensors:
        why = why_kept(tensor, preset, keep)
        if why:
            tensor_plans.append(TensorPlan(tensor, None, why, len(outputs)))
            outputs.append(OutputTensor(tensor.name, tensor.shape, tensor.fmt, tensor.location.nbytes, tensor, "kept"))
            kept.append(tensor)
            continue
        weights.append(quantized_weight(tensor, preset))
        tensor_plans.append(TensorPlan(tensor, None, "", len(outputs), quantized=weights[-1]))
        outputs += outputs_of(weights[-1])
    if not weights:
        raise FileError(f"{container.path}: has no weight that the preset {preset.name} quantizes")
    check_names(container, outputs)
    return ConversionPlan(tensor_plans, outputs, configuration=configuration(preset, weights, kept))
