"""Which weights of a model a recipe quantizes, and what is kept and why."""

from __future__ import annotations

from collections.abc import Sequence

from ...spec.formats import BFLOAT16
from ..containers.container import Container
from ..containers.folder import Folder
from ..containers.safetensors_file import SafetensorsFile
from ..containers.tensors import StoredTensor
from ..files.errors import FileError
from ..operations.copy import Copy
from ..operations.quantize import Quantize
from ..recipes.recipe import Recipe
from ..recipes.selection import module_of
from .companions import find_companions
from .conversion_plan import ConversionPlan, check_names
from .name_patterns import NamePatterns
from .quantization_config import find_descriptions

__all__ = ["plan_recipe"]


def plan_recipe(
    container: Container,
    recipe: Recipe,
    keep: NamePatterns,
    also: NamePatterns,
) -> ConversionPlan:
    """Decide what a recipe makes of every tensor of a container.

    Raises FileError where the container is of another kind than the recipe writes or is quantized already, a pattern
    names nothing, or no weight is quantized.
    """
    if not isinstance(container, (Folder, SafetensorsFile)):
        raise FileError(f"{container.path}: must be a .safetensors file, or a folder of them, for {recipe.name}")
    for patterns in (keep, also):
        patterns.check(container.path, (one.name for one in container.tensors))
    _check_plain(container)
    plan = ConversionPlan()
    scheme, kept = recipe.scheme, []
    for tensor in container.tensors:
        why = recipe.why_unfit(tensor) or _why_kept(tensor, recipe, keep, also)
        why = why or recipe.problem(tensor.shape)
        if why or tensor.fmt is None:
            plan.add(Copy(tensor), why)
            kept.append(tensor)
            continue
        scheme = recipe.scheme_of(tensor.fmt)
        layout = tuple(recipe.outputs(tensor.name, tensor.shape, scheme))
        plan.add(Quantize(tensor, tensor.fmt, scheme, recipe.tool, layout, recipe.fused(tensor.name)))
    if len(kept) == len(container.tensors):
        raise FileError(f"{container.path}: has no weight that the recipe {recipe.name} quantizes")
    check_names(container, plan.outputs)
    plan.descriptions = recipe.describe(scheme, _ignored(kept))
    if isinstance(container, SafetensorsFile):
        plan.remarks.append(f"config.json of the model must say how it is quantized: {recipe.layout}")
    return plan


def _why_kept(tensor: StoredTensor, recipe: Recipe, keep: NamePatterns, also: NamePatterns) -> str:
    """Return why a weight is kept for its name, or nothing."""
    if keep.fit(tensor.name):
        return "kept by name"
    return "" if also.fit(tensor.name) else recipe.why_kept(tensor)


def _check_plain(container: Container) -> None:
    """Raise FileError where a container is quantized already."""
    described = find_descriptions(container)
    companions = find_companions(container.tensors)
    if described or companions:
        why = described[0].text() if described else companions[0].text()
        raise FileError(f"{container.path}: is quantized already ({why}); convert it --to {BFLOAT16.name} first")


def _ignored(kept: Sequence[StoredTensor]) -> list[str]:
    """Return the modules that engines must not take for quantized ones.

    Modules whose name ends with "norm" are not listed: they are no linear layers.
    """
    modules = [module_of(one.name) for one in kept if one.name.endswith(".weight") and len(one.shape) == 2]
    return sorted(module for module in modules if not module.endswith("norm"))
