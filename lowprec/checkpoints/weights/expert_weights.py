"""Experts of a layer that are stored as one tensor of three axes: which axis has the inputs, and each one's weights."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..containers.container import StoredTensor

__all__ = ["Experts", "expert_rows", "experts_module_of", "why_not_told"]


EXPERTS = re.compile(r"^(.*\bexperts)\.(gate_up|gate|up|down)_proj(\.weight)?$")
"""The names of the weights of all experts of a layer as one parameter of three axes; the first group is the module."""

MOST = 1 << 14
"""No layer has more experts: a header that says so is broken."""


class Experts(enum.Enum):
    """What a recipe makes of experts that are stored as one tensor."""

    AS_STORED = "what it makes of any other tensor"
    WHOLE = "one tensor of codes, whose last axis has the inputs"
    SEPARATE = "weights of their own, as engines name them: experts.0.gate_proj.weight"


class ExpertRows(NamedTuple):
    """The weight of one expert: its name, and which rows of the stored tensor it is, all matrices counted."""

    name: str
    first: int
    rows: int


def experts_module_of(tensor: StoredTensor) -> str:
    """Return the module of the experts whose weights a tensor is as a whole, or nothing."""
    match = EXPERTS.match(tensor.name)
    return match[1] if match and len(tensor.shape) == 3 else ""


def _projections(tensor: StoredTensor) -> tuple[str, ...]:
    """Return the layers whose rows an expert's matrix has, in their order."""
    match = EXPERTS.match(tensor.name)
    kind = match[2] if match else ""
    return ("gate_proj", "up_proj") if kind == "gate_up" else (f"{kind}_proj",)


def expert_rows(tensor: StoredTensor) -> Iterator[ExpertRows]:
    """Yield the weights of each expert, in the order of memory; rows are outputs, those of the gate come first."""
    module, projections = experts_module_of(tensor), _projections(tensor)
    experts, rows, _ = tensor.shape
    count = rows // len(projections)
    for expert in range(experts):
        for number, projection in enumerate(projections):
            name = f"{module}.{expert}.{projection}.weight"
            yield ExpertRows(name, expert * rows + number * count, count)


def why_not_told(tensors: Iterable[StoredTensor], hidden: int | None) -> str:
    """Return why nothing says that the last axes of the experts of a layer are the inputs, or nothing.

    `hidden` is how many numbers go into a layer's experts and come out of them; None where it is not known. Tensors of
    one layer have their axes in the same order, so one that tells is enough.
    """
    if hidden is None:
        return "config.json has no hidden_size, which would tell which axis has the inputs"
    said = set()
    for tensor in tensors:
        experts, *axes = tensor.shape
        if 0 in tensor.shape:
            return "it is empty"
        if experts > MOST or axes[0] % len(_projections(tensor)):
            return f"its shape {list(tensor.shape)} is none of experts"
        places = [axis for axis, length in enumerate(axes) if length == hidden]
        if not places:
            return f"no axis has the length {hidden}, the hidden_size of config.json"
        if len(places) == 1:
            outputs = "down_proj" in _projections(tensor)
            said.add((places[0] == 1) != outputs)
    if said == {True}:
        return ""
    return "its last axis has the outputs, not the inputs" if said == {False} else "both axes could be the inputs"
