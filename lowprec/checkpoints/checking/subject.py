"""A checkpoint that is checked: its weights as far as they are recognised, and everything else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..containers.container import Container, StoredTensor, TensorReader
from ..containers.folder import Folder
from ..containers.model_config import quantization_of
from ..files.errors import FileError
from ..inference_engines import find_weights, source_of
from ..weights.companion_tensors import Companion, find_companions, is_weight
from ..weights.quantized_weight import Source, Weight, split

__all__ = ["CONFIG", "Fault", "Subject", "fault_of", "module_of", "subject_of"]

CONFIG = "config.json"

_MARKS = ("scaled_fp8",)
"""Last parts of names of tensors that concern modules below theirs."""

_NAMED = re.compile(r"^'([^']*)': (.*)$", re.DOTALL)
"""An error about a tensor."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Tensors of a module that are named as those of a quantized weight are, and do not fit each other."""

    module: str
    tensor: str
    text: str


@dataclass(frozen=True, slots=True)
class Subject:
    """What is checked.

    Attributes
    ----------
    container : Container
        The checkpoint.
    reader : TensorReader
        Its open files.
    description : dict
        What its configuration says of the quantization; empty where it says nothing.
    weights : list of Weight
        The quantized weights of the layout that the configuration names, or of any where it names none.
    unexpected : list of Weight
        Those that would be of a layout if the configuration said so.
    faults, faulty : list of Fault, set of str
        What does not fit, and in which modules.
    others : list of StoredTensor
        All tensors that none of the weights is stored in.
    companions : list of Companion
        Those of `others` that are named as parts of layouts that are not read.
    """

    container: Container
    reader: TensorReader
    description: dict[str, Any]
    weights: list[Weight]
    unexpected: list[Weight]
    faults: list[Fault]
    faulty: set[str]
    others: list[StoredTensor]
    companions: list[Companion]

    @property
    def method(self) -> str:
        """The quantization method that the configuration names; empty without one."""
        return str(self.description.get("quant_method", "")) if self.description else ""

    @property
    def is_model(self) -> bool:
        """Whether it is a folder with a configuration, that is what engines load."""
        return isinstance(self.container, Folder) and CONFIG in self.container.others

    @property
    def is_quantized(self) -> bool:
        """Whether anything in it is quantized."""
        return bool(self.weights or self.unexpected or self.faults or self.companions)

    @property
    def codes(self) -> list[StoredTensor]:
        """Tensors that look like the codes of weights and belong to no weight that is recognised."""
        known = {part.name for weight in self.unexpected for part in weight.tensors}
        for one in self.companions:
            if one.row is not None:
                known |= {one.codes.name, one.tensor.name}
        return [one for one in self.others if is_weight(one) and one.name not in known and not self.is_faulty(one)]

    @property
    def unknown(self) -> dict[str, str]:
        """Tensors of no known kind that may belong to codes, by the names of the codes."""
        return {one.codes.name: one.tensor.name for one in self.companions if one.row is None}

    def is_faulty(self, tensor: StoredTensor) -> bool:
        """Whether something in the module of a tensor does not fit."""
        return split(tensor.name)[0] in self.faulty


def module_of(name: str) -> str:
    """Return the module of a tensor, without the dot after it."""
    return split(name)[0][:-1]


def fault_of(error: FileError, module: str) -> Fault:
    """Return an error about a tensor of a module in two parts."""
    match = _NAMED.match(str(error))
    return Fault(module, match[1], match[2]) if match else Fault(module, "", str(error))


def _find(source: Source) -> tuple[list[Weight], list[Fault]]:
    """Return the weights, and what does not fit: a fault in one module hides nothing in another."""
    try:
        return find_weights(replace(source, tensors=dict(source.tensors))), []
    except FileError:
        pass
    modules: dict[str, dict[str, StoredTensor]] = {}
    marks = {name: one for name, one in source.tensors.items() if split(name)[1] in _MARKS}
    for name, one in source.tensors.items():
        modules.setdefault(split(name)[0], dict(marks))[name] = one
    weights: list[Weight] = []
    faults: list[Fault] = []
    for module, tensors in modules.items():
        try:
            weights += find_weights(replace(source, tensors=tensors))
        except FileError as error:
            faults.append(fault_of(error, module))
    return weights, faults


def _names(weights: Iterable[Weight]) -> set[str]:
    return {part.name for weight in weights for part in weight.tensors}


def subject_of(container: Container, reader: TensorReader) -> Subject:
    """Recognise what a container holds."""
    described = quantization_of(container)
    if container.codes_suffix:
        return Subject(container, reader, described, [], [], [], set(), list(container.tensors), [])
    source = source_of(container, reader)
    weights, faults = _find(source)
    names = _names(weights)
    others = [one for one in container.tensors if one.name not in names]
    faulty = {one.module for one in faults}
    rest = {one.name: one for one in others if split(one.name)[0] not in faulty}
    unexpected = _find(replace(source, tensors=rest, description={}))[0] if described else []
    hidden = _names(unexpected)
    known = [one for one in rest.values() if one.name not in hidden]
    companions = find_companions(known)
    return Subject(container, reader, described, weights, unexpected, faults, faulty, others, companions)
