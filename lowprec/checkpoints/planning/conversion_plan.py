"""What becomes of each tensor of a checkpoint, and all tensors that are written: decided before anything is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..containers.container import Container, OutputTensor
from ..containers.model_config import Description
from ..files.errors import FileError
from ..operations.operation import Operation

__all__ = ["ConversionPlan", "TensorPlan", "check_names"]


@dataclass(frozen=True, slots=True)
class TensorPlan:
    """What becomes of one tensor.

    Attributes
    ----------
    operation : Operation
        What is done with it.
    first, count : int
        The number of the first of its outputs, and how many there are.
    why : str
        Why it is kept; nothing where it is converted.
    """

    operation: Operation
    first: int
    count: int
    why: str = ""


@dataclass(slots=True)
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
    descriptions : dict
        What describes the quantization of the result: the entry ``quantization_config`` of config.json, and files.
    """

    tensor_plans: list[TensorPlan] = field(default_factory=list)
    outputs: list[OutputTensor] = field(default_factory=list)
    misfits: list[Description] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    dtype: str = ""
    descriptions: Mapping[str, Any] = field(default_factory=dict)

    def add(self, operation: Operation, why: str = "") -> None:
        """Add an operation and its outputs; `why` says why a tensor is kept."""
        made = list(operation.outputs())
        self.tensor_plans.append(TensorPlan(operation, len(self.outputs), len(made), why))
        self.outputs += made

    @property
    def nbytes(self) -> int:
        """How many bytes of tensors one pass reads."""
        return sum(one.operation.nbytes for one in self.tensor_plans)

    @property
    def measured(self) -> list[int]:
        """The numbers of the tensors that are read twice: their scales need every element first."""
        return [n for n, one in enumerate(self.tensor_plans) if one.operation.measured is not None]

    @property
    def passes_nbytes(self) -> int:
        """How many bytes are read until everything is converted."""
        return self.nbytes + sum(self.tensor_plans[number].operation.nbytes for number in self.measured)


def check_names(container: Container, outputs: Sequence[OutputTensor]) -> None:
    """Raise FileError where two outputs would have one name."""
    seen: dict[tuple[str, str], OutputTensor] = {}
    for output in outputs:
        other = seen.setdefault((container.name_scope(output.origin), output.name), output)
        if other is not output:
            is_scale = "scale" in (output.role, other.role)
            what = "has, or would have, next to a tensor's scales, another tensor named" if is_scale else "names twice"
            raise FileError(f"{container.path}: {what} {ascii(output.name)[:80]}")
