"""Which weights of a model a recipe quantizes, and what is kept and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...spec.formats import BFLOAT16, FLOAT32
from ..containers.container import Container
from ..containers.folder import Folder
from ..containers.gguf_file import GgufFile
from ..containers.safetensors_file import SafetensorsFile
from ..containers.tensors import StoredTensor
from ..files.errors import FileError
from ..layouts.weight import Weight
from ..operations.copy import Copy
from ..operations.quantize import Quantize
from ..recipes.recipe import Recipe
from .companions import find_companions
from .conversion_plan import ConversionPlan, check_names
from .name_patterns import NamePatterns
from .quantization_config import find_descriptions, model_type
from .quantized_weights import quantized_weights

__all__ = ["plan_recipe"]

_KINDS: dict[type, str] = {
    Folder: "a folder of .safetensors files",
    SafetensorsFile: "a .safetensors file",
    GgufFile: "a .gguf file",
}


def plan_recipe(
    container: Container,
    recipe: Recipe,
    keep: NamePatterns,
    also: NamePatterns,
) -> ConversionPlan:
    """Decide what a recipe makes of every tensor of a container.

    Raises FileError where the container or its model is of another kind than the recipe is for or, unless the recipe
    allows it, is quantized already, a pattern names nothing, no weight is quantized, or one is and another one of its
    module is kept.
    """
    _check_kind(container, recipe)
    for patterns in (keep, also):
        patterns.check(container.path, (one.name for one in container.tensors))
    if not recipe.requantizes:
        _check_plain(container)
    plan = ConversionPlan()
    scheme, ignored, modules = recipe.scheme, set(), set()
    reasons = {tensor.name: _why_kept(tensor, recipe, keep, also) for tensor in container.tensors}
    weights = _quantized_already(container, recipe, reasons)
    applied = {tensor.name for one in weights.values() for tensor in one.tensors} - weights.keys()
    for tensor in container.tensors:
        if tensor.name in applied:
            continue
        why, weight = reasons[tensor.name], weights.get(tensor.name)
        fmt = tensor.fmt if weight is None else FLOAT32
        module = recipe.ignored(tensor)
        if why or fmt is None:
            plan.add(Copy(tensor), why or "its values are not known")
            ignored.add(module)
            continue
        scheme = recipe.scheme_of(fmt)
        layout = tuple(recipe.outputs(tensor.name, recipe.shape_of(tensor), scheme))
        fused = recipe.fused(tensor.name)
        plan.add(Quantize(tensor, fmt, scheme, recipe.tool, layout, fused, recipe.transposed, weight))
        modules.add(module)
    if not modules:
        raise FileError(f"{container.path}: has no weight that the recipe {recipe.name} quantizes")
    ignored.discard("")
    for module in sorted(ignored & modules):
        raise FileError(f"{container.path}: engines take all weights of {ascii(module)[:80]} for quantized, or none")
    check_names(container, plan.outputs)
    plan.descriptions = recipe.describe(scheme, sorted(ignored))
    plan.remarks += _requantized(list(weights.values()))
    if recipe.remark:
        plan.remarks.append(recipe.remark)
    if plan.descriptions and isinstance(container, SafetensorsFile):
        plan.remarks.append(f"config.json of the model must say how it is quantized: {recipe.layout}")
    return plan


def _why_kept(tensor: StoredTensor, recipe: Recipe, keep: NamePatterns, also: NamePatterns) -> str:
    """Return why a tensor is not quantized: for its type and shape, its name, or the length of its rows; or nothing."""
    if unfit := recipe.why_unfit(tensor):
        return unfit
    if keep.fit(tensor.name):
        return "kept by name"
    named = "" if also.fit(tensor.name) else recipe.why_kept(tensor)
    return named or recipe.problem(tensor)


def _quantized_already(container: Container, recipe: Recipe, reasons: Mapping[str, str]) -> dict[str, Weight]:
    """Return the weights that are dequantized for a recipe that allows it, by the names of their codes."""
    weights = quantized_weights(container) if recipe.requantizes else []
    return {one.codes.name: one for one in weights if not reasons[one.codes.name]}


def _requantized(weights: Sequence[Weight]) -> list[str]:
    """Return a remark on weights that are quantized twice."""
    if not weights:
        return []
    first, others = weights[0], len(weights) - 1
    more = f", and so were {others} other tensors" if others else ""
    return [f"{ascii(first.name)[:80]} was quantized already ({first.scheme.codes_name}){more}; errors add up"]


def _check_kind(container: Container, recipe: Recipe) -> None:
    """Raise FileError for a container, or a model in it, that the recipe is not for."""
    if not isinstance(container, recipe.containers):
        kinds = ", or ".join(_KINDS[kind] for kind in recipe.containers)
        raise FileError(f"{container.path}: must be {kinds}, for {recipe.name}")
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
