"""A recipe: how weights are stored, with whose arithmetic, and how engines name and describe them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...spec.formats import Format
from ..containers.folder import Folder
from ..containers.safetensors_file import SafetensorsFile
from ..containers.tensors import StoredTensor
from ..layouts.output import Output
from ..schemes.scheme import Scheme
from ..schemes.tool import Tool
from .experts import Experts
from .selection import fused_group, linear_module, why_no_matrix, why_not_linear

__all__ = ["TRANSFORMERS", "Recipe"]

TRANSFORMERS = "transformers 5.23.0 on the CPU: dequantized to the same weights and logits"
"""What tests/checkpoints/check_transformers.py compares."""


def _sorted(kept: Set[str], quantized: Set[str]) -> list[str]:
    """Return the names of modules that are kept."""
    return sorted(kept)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the weights of a model are quantized and stored.

    Attributes
    ----------
    name, summary : str
        Its name, and in a line what is written.
    layout, readers : str
        The layout that is written; the engines that read it.
    scheme : Scheme
        How the weights are stored.
    source_scales : bool
        Whether scales have the type of the weight, which the scheme's format of scales then stands for.
    tool : Tool
        The arithmetic.
    outputs : callable
        Takes the name and the shape of a weight, its axes as they are quantized, and its scheme; yields the tensors
        that it becomes.
    describe : callable
        Takes the scheme and the modules that are kept; returns the entry ``quantization_config`` of config.json under
        that name, and whole files under theirs.
    why_unfit, why_kept : callable
        Each takes a tensor; they return why it cannot be quantized for its type and shape, and why it is not for its
        name, or nothing.
    fused : callable
        Takes the name of a weight; returns what the weights have in common that share the scale of a whole tensor, or
        nothing where each has its own.
    ignored : callable
        Takes a tensor that is kept; returns the module that engines must not take for a quantized one, or nothing.
    listed : callable
        Takes these modules, and those that are quantized; returns the list of the first for engines.
    transposed : bool
        Whether the last two axes of a weight are exchanged when it is quantized.
    experts : Experts
        What becomes of experts that are stored as one tensor; those whose axes are in another order are kept.
    models : tuple of str
        What ``model_type`` in config.json may be; empty for anything.
    remark : str
        What the result means that may surprise, for the report; nothing where the summary says all.
    containers : tuple of type
        The kinds of container whose weights it quantizes.
    mixes_types : bool
        Whether each tensor has a type of its own, so that those that are quantized already and kept stay as they are.
    checked : str
        The engines and tools, with their versions, that the output was compared with.
    """

    name: str
    summary: str
    layout: str
    readers: str
    scheme: Scheme
    source_scales: bool
    tool: Tool
    outputs: Callable[[str, tuple[int, ...], Scheme], Iterable[Output]]
    describe: Callable[[Scheme, Sequence[str]], Mapping[str, Any]]
    why_unfit: Callable[[StoredTensor], str] = why_no_matrix
    why_kept: Callable[[StoredTensor], str] = why_not_linear
    fused: Callable[[str], str] = fused_group
    ignored: Callable[[StoredTensor], str] = linear_module
    listed: Callable[[Set[str], Set[str]], list[str]] = _sorted
    transposed: bool = False
    experts: Experts = Experts.AS_STORED
    models: tuple[str, ...] = ()
    remark: str = ""
    containers: tuple[type, ...] = (SafetensorsFile, Folder)
    mixes_types: bool = False
    checked: str = ""

    @property
    def takes_scale_rule(self) -> bool:
        """Whether its scales are powers of two that another rule can choose."""
        return self.tool.takes_scale_rule and not self.scheme.scale.has_zero

    def with_scale_rule(self, scale_rule: str) -> Recipe:
        """Return the recipe with a scale rule of `absmax_scale` in place of the tool's own."""
        return replace(self, tool=replace(self.tool, quantize=partial(self.tool.quantize, scale_rule=scale_rule)))

    def scheme_of(self, fmt: Format) -> Scheme:
        """Return how a weight in `fmt` is stored."""
        return replace(self.scheme, scale=fmt) if self.source_scales else self.scheme

    def shape_of(self, tensor: StoredTensor) -> tuple[int, ...]:
        """Return the shape of a weight, its axes as they are quantized."""
        shape = tensor.shape
        return (*shape[:-2], shape[-1], shape[-2]) if self.transposed else shape

    def problem(self, tensor: StoredTensor) -> str:
        """Return why a weight of such a shape cannot be stored so, or nothing."""
        columns, width = self.shape_of(tensor)[-1], self.scheme.grid.columns
        if self.scheme.grid.rows == 1 and width and columns % width:
            return f"its rows are not divided into groups of {width}"
        return "it is empty" if 0 in tensor.shape else ""
