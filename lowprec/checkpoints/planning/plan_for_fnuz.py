"""What `fnuz` and `fn` make of every tensor: FP8 of MI300 and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..containers.container import Container, StoredTensor
from ..containers.folder import Folder
from ..containers.model_config import check_model
from ..containers.safetensors_file import SafetensorsFile
from ..files.errors import FileError
from ..inference_engines import comfy_ui, quantized_weights
from ..operations.change_codes import ChangeCodes, MultiplyScales
from ..operations.copy import Copy
from ..operations.operation import Operation
from ..recipes import CodeChange
from ..schemes.lossless import code_map
from ..schemes.scheme import GlobalScale, Packing
from ..weights.companion_tensors import is_weight
from ..weights.quantized_weight import Weight, fail, split
from ..weights.tensor_selection import NamePatterns
from .conversion_plan import ConversionPlan

__all__ = ["ToFnuz"]


INPUT_SCALES = ("input_scale", "scale_input", "qscale_act", "activation_scale")
"""Names of the scales by which engines quantize the inputs of a layer, to the format of its codes."""


@dataclass(frozen=True, slots=True)
class ToFnuz:
    """What the recipes `fnuz` and `fn` ask for: FP8 weights in other formats, of the same values.

    Attributes
    ----------
    change : CodeChange
        Which format becomes which.
    keep : NamePatterns
        Weights that stay as they are.
    rules : mapping
        Empty, for the report: nothing is rounded by a rule.
    """

    change: CodeChange
    keep: NamePatterns
    rules: ClassVar[Mapping[str, str | int]] = {}

    @property
    def target(self) -> str:
        """The name of the change."""
        return self.change.name

    def plan(self, container: Container) -> ConversionPlan:
        """Decide what a change of formats makes of every tensor of a container.

        Raises FileError where a pattern names nothing, no weight has codes of the formats, or one has them and no
        scales that are known.
        """
        change, keep = self.change, self.keep
        check_model(container)
        if not isinstance(container, (Folder, SafetensorsFile)):
            raise FileError(f"{container.path}: must be a .safetensors file, or a folder of them, for {change.name}")
        keep.check(container.path, (one.name for one in container.tensors))
        weights = quantized_weights(container)
        operations: dict[str, Operation] = {}
        for weight in weights:
            if _is_plain(weight, change) and not keep.fit(weight.codes.name):
                operations.update((one.tensor.name, one) for one in _operations(weight, change))
        if not operations:
            names = " or ".join(fmt.name for fmt in change.formats)
            raise FileError(
                f"{container.path}: has no weight in {names} with scales that the recipe {change.name} changes"
            )
        known = {tensor.name for weight in weights for tensor in weight.tensors}
        plan = ConversionPlan()
        for tensor in container.tensors:
            operation = operations.get(tensor.name)
            if operation is None and tensor.name not in known and not keep.fit(tensor.name):
                _check_scaled(tensor, change)
            why = f"times {operation.factor:g}" if isinstance(operation, MultiplyScales) else "as it was"
            plan.add(operation or Copy(tensor), "" if isinstance(operation, ChangeCodes) else why)
        return plan


def _is_plain(weight: Weight, change: CodeChange) -> bool:
    """Whether codes are those of one of the formats, a byte each with a scale."""
    scheme = weight.scheme
    has_bytes = (scheme.packing, scheme.global_scale) == (Packing.NONE, GlobalScale.NONE)
    return scheme.codes in change.formats and has_bytes and weight.scales is not None and weight.groups is None


def _operations(weight: Weight, change: CodeChange) -> list[ChangeCodes | MultiplyScales]:
    """Return what becomes of the tensors of a weight that change."""
    if weight.layout == comfy_ui.NAME:
        raise fail(weight.codes, f"is described by {comfy_ui.DESCRIPTION}, which has no names for MI300's formats")
    target = change.formats[weight.scheme.codes]
    codes, factor = ChangeCodes(weight, target), code_map(weight.scheme.codes, target).factor
    inputs = [one for one in weight.unused if split(one.name)[1] in INPUT_SCALES] if change.doubles else []
    return [
        codes,
        *(MultiplyScales(one, weight.scheme.scale, factor, codes) for one in (weight.scales,) if one is not None),
        *(MultiplyScales(one, one.fmt, factor) for one in inputs if one.fmt is not None and one.fmt.is_float),
    ]


def _check_scaled(tensor: StoredTensor, change: CodeChange) -> None:
    if tensor.fmt in change.formats and is_weight(tensor):
        raise FileError(f"{ascii(tensor.name)[:80]}: has no scales that are known, and its values would change without")
