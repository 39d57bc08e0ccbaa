"""Which weights of a model a recipe quantizes, and what is kept and why."""

from __future__ import annotations

from dataclasses import replace

from ...spec.formats import BFLOAT16, Format
from ...spec.opset_rules import NEWEST
from ..containers.container import Container
from ..containers.folder import Folder
from ..containers.safetensors_file import SafetensorsFile
from ..containers.tensors import StoredTensor
from ..element_rules import ElementRules
from ..files.errors import FileError
from ..operations.cast import Cast
from ..operations.copy import Copy
from ..operations.dequantize import Dequantize
from ..operations.lossless import find_step
from ..operations.operation import Operation
from ..operations.quantize import Quantize
from ..operations.rows import Rows, StoredRows, WeightRows
from ..recipes.recipe import Recipe
from ..schemes.fnuz import FNUZ
from ..schemes.scheme import Scheme
from .companions import find_companions
from .conversion_plan import ConversionPlan, check_names
from .name_patterns import NamePatterns
from .plan_casts import plan_conversion
from .quantization_config import EXPERTS, find_descriptions, model_type
from .quantized_weights import quantized_weights

__all__ = ["plan_recipe"]

VALUES = ElementRules(BFLOAT16, True, None, NEWEST)
"""How the values of weights that are quantized already are rounded."""


def plan_recipe(container: Container, recipe: Recipe, keep: NamePatterns, also: NamePatterns) -> ConversionPlan:
    """Decide what a recipe makes of every tensor of a container.

    Weights that are quantized already go from their codes to those of the recipe: by a step that loses nothing where
    there is one, else through their values, rounded to bfloat16. All others become what a conversion to bfloat16 makes
    of them.

    Raises FileError where the container or its model is of another kind than the recipe is for, or is quantized in an
    unknown way, a pattern names nothing, no weight is quantized, or one is and another one of its module is kept.
    """
    _check_kind(container, recipe)
    plain = _plain(container)
    values = [_values(one.operation) for one in plain.tensor_plans]
    for patterns in (keep, also):
        patterns.check(container.path, (one.name for one in [*container.tensors, *values]))
    plan = ConversionPlan(misfits=plain.misfits, remarks=plain.remarks, dtype=plain.dtype)
    scheme, ignored, modules = recipe.scheme, set(), set()
    for one, tensor in zip(plain.tensor_plans, values, strict=True):
        why = recipe.why_unfit(tensor) or _why_kept(tensor, recipe, keep, also) or recipe.problem(tensor)
        module = recipe.ignored(tensor)
        if why or tensor.fmt is None:
            plan.add(one.operation, why)
            ignored.add(module)
            continue
        scheme = recipe.scheme_of(tensor.fmt)
        layout = tuple(recipe.outputs(tensor.name, recipe.shape_of(tensor), scheme))
        rows = _rows(one.operation, tensor.fmt, recipe.transposed)
        step = find_step(rows, scheme, layout) if isinstance(rows, WeightRows) else None
        plan.add(step or Quantize(rows, scheme, recipe.tool, layout, recipe.fused(tensor.name)))
        modules.add(module)
    if not modules:
        raise FileError(f"{container.path}: has no weight that the recipe {recipe.name} quantizes")
    ignored.discard("")
    for module in sorted(ignored & modules):
        raise FileError(f"{container.path}: engines take all weights of {ascii(module)[:80]} for quantized, or none")
    check_names(container, plan.outputs)
    plan.descriptions = {**recipe.describe(scheme, sorted(ignored)), **_experts(plan, scheme)}
    if plan.descriptions and isinstance(container, SafetensorsFile):
        plan.remarks.append(f"config.json of the model must say how it is quantized: {recipe.layout}")
    return plan


def _plain(container: Container) -> ConversionPlan:
    """Return what becomes of every tensor without the recipe: a copy, or what a conversion to bfloat16 makes of it."""
    plan = ConversionPlan()
    if quantized_weights(container):
        plain = plan_conversion(container, VALUES, NamePatterns("include"), NamePatterns("exclude"))
        for one in plain.tensor_plans:
            tensor, is_same = one.operation.tensor, isinstance(one.operation, Cast) and one.operation.fmt == VALUES.to
            plan.add(Copy(tensor) if is_same else one.operation)
        plan.misfits, plan.remarks, plan.dtype = plain.misfits, plain.remarks, plain.dtype
        return plan
    described = find_descriptions(container)
    companions = find_companions(container.tensors)
    if described or companions:
        why = described[0].text() if described else companions[0].text()
        raise FileError(f"{container.path}: is quantized already, in a way that is not known ({why})")
    for tensor in container.tensors:
        plan.add(Copy(tensor))
    return plan


def _values(operation: Operation) -> StoredTensor:
    """Return a tensor as it is without the recipe."""
    output = next(operation.outputs())
    return replace(operation.tensor, name=output.name, shape=output.shape, fmt=output.fmt)


def _rows(operation: Operation, fmt: Format, transposed: bool) -> Rows:
    """Return the rows that an operation makes."""
    if isinstance(operation, Dequantize):
        return WeightRows(operation.tensor, fmt, operation.weight, transposed)
    rules = operation.rules if isinstance(operation, Cast) else None
    return StoredRows(operation.tensor, fmt, rules, transposed)


def _experts(plan: ConversionPlan, scheme: Scheme) -> dict[str, str]:
    """Return what config.json says of experts in FP8 where it said of what type they were."""
    said = any(entry.split(".")[-1] == EXPERTS for one in plan.misfits for entry in one.entries)
    return {EXPERTS: "fp8"} if said and scheme.codes in FNUZ else {}


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
