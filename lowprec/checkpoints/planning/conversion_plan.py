"""What becomes of each tensor of a checkpoint, and all tensors that are written: decided before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...spec.formats import Format
from ..containers.container import Container, OutputTensor
from ..containers.tensors import StoredTensor
from ..files.errors import FileError
from ..layouts.weight import Weight
from ..recipe import Recipe, ScaleLayout
from .quantization_config import Description
from .weights_to_quantize import QuantizedWeight

__all__ = ["SCALE", "ConversionPlan", "TensorPlan", "check_names"]

SCALE = "_scale"
"""What is added to a tensor's name for its scales."""


@dataclass(frozen=True, slots=True)
class TensorPlan:
    """What becomes of one tensor.

    Attributes
    ----------
    tensor : StoredTensor
        The tensor.
    recipe : Recipe or None
        How it is converted; None where it is kept.
    why : str
        Why it is kept.
    codes, scale : int
        The numbers of its outputs; `scale` is None without scales.
    weight : Weight or None
        The quantized weight that is dequantized; `tensor` has its codes.
    quantized : QuantizedWeight or None
        How the weight is quantized by a preset; its outputs are numbered from `codes` on.
    """

    tensor: StoredTensor
    recipe: Recipe | None
    why: str
    codes: int
    scale: int | None = None
    weight: Weight | None = None
    quantized: QuantizedWeight | None = None

    @property
    def quantization(self) -> tuple[Format, ScaleLayout]:
        """The target and the scales of a tensor that is quantized."""
        if self.recipe is None or self.recipe.scaling is None:
            raise ValueError(f"{self.tensor.name} is not quantized")
        return self.recipe.to, self.recipe.scaling


@dataclass(frozen=True, slots=True)
class ConversionPlan:
    """What becomes of every tensor, in the order of the container, and all outputs.

    Attributes
    ----------
    tensor_plans, outputs : list
        What becomes of each tensor, and what is written.
    misfits : list of Description
        The descriptions of a quantization that must not be written, since they no longer fit.
    notes : list of str
        What a raw conversion does that would be an error.
    remarks : list of str
        What else the result has that may surprise.
    dtype : str
        The type of all weights where a quantized checkpoint is dequantized, for its configuration; else empty.
    configuration : dict or None
        The ``quantization_config`` of a preset.
    """

    tensor_plans: list[TensorPlan]
    outputs: list[OutputTensor]
    misfits: list[Description] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    dtype: str = ""
    configuration: dict[str, Any] | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes the tensors take in the source."""
        return sum(one.tensor.location.nbytes for one in self.tensor_plans)

    @property
    def two_pass(self) -> list[int]:
        """The numbers of the tensors that are read twice: their scales need every element first."""
        scalings = [one.recipe.scaling if one.recipe else None for one in self.tensor_plans]
        whole = {number for number, scaling in enumerate(scalings) if scaling is not None and not scaling.block_size}
        whole |= {n for n, one in enumerate(self.tensor_plans) if one.quantized and one.quantized.needs_largest}
        return sorted(whole)


def check_names(container: Container, outputs: Sequence[OutputTensor]) -> None:
    """Raise FileError where two outputs would have one name."""
    seen: dict[tuple[str, str], OutputTensor] = {}
    for output in outputs:
        other = seen.setdefault((container.name_scope(output.origin), output.name), output)
        if other is not output:
            is_scale = "scale" in (output.role, other.role)
            what = "has, or would have, next to a tensor's scales, another tensor named" if is_scale else "names twice"
            raise FileError(f"{container.path}: {what} {ascii(output.name)[:80]}")
