"""Experts of a layer that are stored as one tensor: weights of their own for a recipe, or why they are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..._notebook_display import and_so_text
from ..containers.tensors import StoredTensor
from ..operations.operation import Operation
from ..recipes.experts import Experts, expert_rows, experts_module_of, why_not_told
from ..recipes.selection import FORMATS

__all__ = ["Candidate", "find_candidates", "kept_experts", "values_of"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a recipe may quantize.

    Attributes
    ----------
    operation : Operation
        What makes its values without the recipe.
    tensor : StoredTensor
        The values, as if they were stored.
    stored : str
        The name of the tensor that they are a part of, or are.
    why : str
        Why they are kept as they are, for what only all experts of a layer show; else nothing.
    """

    operation: Operation
    tensor: StoredTensor
    stored: str
    why: str = ""


def values_of(operation: Operation) -> StoredTensor:
    """Return a tensor as it is without a recipe."""
    output = next(operation.outputs())
    return replace(operation.tensor, name=output.name, shape=output.shape, fmt=output.fmt)


def find_candidates(operations: Sequence[Operation], experts: Experts, hidden: int | None) -> list[Candidate]:
    """Return what a recipe chooses from; experts of one tensor as weights of their own where the recipe wants that.

    `hidden` is how many numbers go into the experts and come out, if that is known.
    """
    candidates = [Candidate(one, tensor := values_of(one), tensor.name) for one in operations]
    if experts is Experts.AS_STORED:
        return candidates
    layers: dict[str, list[int]] = {}
    for number, one in enumerate(candidates):
        if one.tensor.fmt in FORMATS and (module := experts_module_of(one.tensor)):
            layers.setdefault(module, []).append(number)
    found = [[one] for one in candidates]
    for members in layers.values():
        parts = _in_parts([candidates[number] for number in members], experts, hidden)
        for number, some in zip(members, parts, strict=True):
            found[number] = some
    return [one for some in found for one in some]


def _in_parts(members: Sequence[Candidate], experts: Experts, hidden: int | None) -> Iterator[list[Candidate]]:
    """Yield what each tensor of the experts of a layer becomes: all are treated alike."""
    why = why_not_told([one.tensor for one in members], hidden)
    parts: list[list[Candidate]] = []
    if not why and experts is Experts.SEPARATE:
        parts = [_parts(one) for one in members]
        why = "" if all(parts) else "its experts share scales"
    yield from parts if parts and not why else ([replace(one, why=why)] for one in members)


def _parts(one: Candidate) -> list[Candidate]:
    """Return the weights of each expert, or nothing where one of them cannot be read by itself."""
    parts = []
    for name, first, rows in expert_rows(one.tensor):
        operation = one.operation.part(name, first, rows)
        if operation is None:
            return []
        parts.append(Candidate(operation, values_of(operation), one.stored))
    return parts


def kept_experts(candidates: Sequence[Candidate]) -> Iterator[str]:
    """Yield a remark on experts that are kept for what only all experts of a layer show."""
    kept = [one for one in candidates if one.why]
    if kept:
        yield f"{ascii(kept[0].stored)[:80]} is kept ({kept[0].why}){and_so_text(len(kept) - 1, 'is', 'are')}"
