"""Which weights of a model a recipe quantizes, and what is kept and why."""

from __future__ import annotations

from ...spec.formats import BFLOAT16
from ..containers.container import Container
from ..containers.folder import Folder
from ..containers.safetensors_file import SafetensorsFile
from ..containers.tensors import StoredTensor
from ..files.errors import FileError
from ..operations.copy import Copy
from ..operations.quantize import Quantize
from ..recipes.recipe import Recipe
from .companions import find_companions
from .conversion_plan import ConversionPlan, check_names
from .name_patterns import NamePatterns
from .quantization_config import find_descriptions, model_type

__all__ = ["plan_recipe"]


def plan_recipe(
    container: Container,
    recipe: Recipe,
    keep: NamePatterns,
    also: NamePatterns,
) -> ConversionPlan:
    """Decide what a recipe makes of every tensor of a container.

    Raises FileError where the container or its model is of another kind than the recipe is for, or is quantized
    already, a pattern names nothing, no weight is quantized, or one is and another one of its module is kept.
    """
    _check_kind(container, recipe)
    for patterns in (keep, also):
        patterns.check(container.path, (one.name for one in container.tensors))
    _check_plain(container)
    plan = ConversionPlan()
    scheme, ignored, modules = recipe.scheme, set(), set()
    for tensor in container.tensors:
        why = recipe.why_unfit(tensor) or _why_kept(tensor, recipe, keep, also)
        why = why or recipe.problem(tensor)
        module = recipe.ignored(tensor)
        if why or tensor.fmt is None:
            plan.add(Copy(tensor), why)
            ignored.add(module)
            continue
        scheme = recipe.scheme_of(tensor.fmt)
        layout = tuple(recipe.outputs(tensor.name, recipe.shape_of(tensor), scheme))
        fused = recipe.fused(tensor.name)
        plan.add(Quantize(tensor, tensor.fmt, scheme, recipe.tool, layout, fused, recipe.transposed))
        modules.add(module)
    if not modules:
        raise FileError(f"{container.path}: has no weight that the recipe {recipe.name} quantizes")
    ignored.discard("")
    for module in sorted(ignored & modules):
        raise FileError(f"{container.path}: engines take all weights of {ascii(module)[:80]} for quantized, or none")
    check_names(container, plan.outputs)
    plan.descriptions = recipe.describe(scheme, sorted(ignored))
    if recipe.remark:
        plan.remarks.append(recipe.remark)
    if plan.descriptions and isinstance(container, SafetensorsFile):
        plan.remarks.append(f"config.json of the model must say how it is quantized: {recipe.layout}")
    return plan


def _why_kept(tensor: StoredTensor, recipe: Recipe, keep: NamePatterns, also: NamePatterns) -> str:
    """Return why a weight is kept for its name, or nothing."""
    if keep.fit(tensor.name):
        return "kept by name"
    return "" if also.fit(tensor.name) else recipe.why_kept(tensor)


def _check_kind(container: Container, recipe: Recipe) -> None:
    """Raise FileError for a container, or a model in it, that the recipe is not for."""
    if not isinstance(container, (Folder, SafetensorsFile)):
        raise FileError(f"{container.path}: must be a .safetensors file, or a folder of them, for {recipe.name}")
    model = model_type(container)
    if model and recipe.models and model not in recipe.models:
        which = " or ".join(recipe.models)
        raise FileError(f"{container.path}: must be a model of type {which} for {recipe.name}; got {ascii(model)[:40]}")


def _check_plain(container: Container) -> None:
    """Raise FileError where a container is quantized already."""
    described = find_descriptions(container)
    companions = find_companions(container.tensors)
    if described or companions:
        why = described[0].text() if described else companions[0].text()
        raise FileError(f"{container.path}: is quantized already ({why}); convert it --to {BFLOAT16.name} first")
