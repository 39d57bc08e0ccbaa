"""What a recipe makes of every tensor, plain or quantized already, experts in one tensor among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ..._notebook_display import and_so_text
from ...spec.formats import BFLOAT16, FLOAT32, Format
from ...spec.operator_versions import NEWEST
from ..containers.container import Container, StoredTensor
from ..containers.folder import Folder
from ..containers.gguf_file import GgufFile
from ..containers.model_config import EXPERTS, check_model, find_descriptions, hidden_size, model_config, model_type
from ..containers.safetensors_file import SafetensorsFile
from ..files.errors import FileError
from ..inference_engines import gguf, quantized_weights
from ..operations.cast import Cast
from ..operations.copy import Copy
from ..operations.dequantize import Dequantize
from ..operations.lossless import find_step
from ..operations.operation import Operation
from ..operations.quantize import Quantize
from ..operations.rows import Rows
from ..recipes import Recipe, find_alike
from ..schemes.cast import ElementRules
from ..schemes.lossless import FNUZ
from ..schemes.scheme import Scheme
from ..weights.companion_tensors import check_part, find_companions, find_tool
from ..weights.expert_weights import Experts, expert_rows, experts_module_of, why_not_told
from ..weights.quantized_weight import Weight
from ..weights.tensor_selection import FORMATS, NamePatterns, kept_head, tied_head
from .conversion_plan import ConversionPlan, check_names
from .plan_for_format import ToFormat

__all__ = ["ToRecipe"]

_KINDS: dict[type, str] = {
    Folder: "a folder of .safetensors files",
    SafetensorsFile: "a .safetensors file",
    GgufFile: "a .gguf file",
}


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


@dataclass(frozen=True, slots=True)
class ToRecipe:
    """What a recipe asks for: the weights of a model quantized, or quantized otherwise.

    Attributes
    ----------
    recipe : Recipe
        How.
    keep, also : NamePatterns
        Weights that it does not quantize, and those that it does besides its own.
    rules : mapping
        The rules other than its own, for the report.
    """

    recipe: Recipe
    keep: NamePatterns
    also: NamePatterns
    rules: Mapping[str, str | int]

    @property
    def target(self) -> str:
        """The name of the recipe."""
        return self.recipe.name

    def plan(self, container: Container) -> ConversionPlan:
        """Decide what a recipe makes of every tensor of a container.

        Weights that are quantized already go from their codes to those of the recipe: by a step that loses nothing
        where there is one, else through their values. What the recipe does not quantize becomes what a conversion to
        bfloat16 makes of it or, in a container that says the type of each tensor, stays as it is.

        Raises FileError where the container or its model is of another kind than the recipe is for, or is quantized in
        an unknown way, a pattern names nothing, no weight is quantized, or one is and another one of its module is
        kept.
        """
        recipe, keep, also = self.recipe, self.keep, self.also
        check_model(container)
        _check_kind(container, recipe)
        plain = _plain_weights(container) if recipe.mixes_types else _plain_model(container)
        operations = [one.operation for one in plain.tensor_plans]
        candidates = find_candidates(operations, recipe.experts, hidden_size(container))
        names = {name for one in candidates for name in (one.stored, one.tensor.name)}
        for patterns in (keep, also):
            patterns.check(container.path, names | {one.name for one in container.tensors})
        remarks = [*plain.remarks, *kept_experts(candidates)]
        plan = ConversionPlan(misfits=plain.misfits, remarks=remarks, dtype=plain.dtype)
        scheme, ignored, modules = recipe.scheme, set(), set()
        quantized_twice: list[Weight] = []
        fused: dict[bool, set[str]] = {True: set(), False: set()}
        for one in candidates:
            tensor, why = one.tensor, _why_kept(one, recipe, keep, also)
            module = recipe.ignored(tensor)
            fused[bool(why)].add(recipe.fused(tensor.name))
            if why or tensor.fmt is None:
                for operation in _kept(one.operation, recipe):
                    plan.add(operation, why or "its values are not known")
                ignored.add(module)
                continue
            scheme = recipe.scheme_of(tensor.fmt)
            layout = tuple(recipe.outputs(tensor.name, recipe.shape_of(tensor), scheme))
            rows = _rows(one.operation, tensor.fmt, recipe.transposed)
            step = None if rows.weight is None else find_step(rows.weight, rows, scheme, layout)
            if rows.weight is not None and step is None:
                quantized_twice.append(rows.weight)
            plan.add(step or Quantize(rows, scheme, recipe.tool, layout, recipe.fused(tensor.name)))
            modules.add(module)
        if not modules:
            seen = "".join(f"; {text}" for text in _seen(container, recipe, candidates, plan))
            raise FileError(f"{container.path}: has no weight that the recipe {recipe.name} quantizes{seen}")
        ignored.discard("")
        for module in sorted(ignored & modules):
            raise FileError(
                f"{container.path}: engines take all weights of {ascii(module)[:80]} for quantized, or none"
            )
        config = model_config(container)
        if head := tied_head(config, modules):
            said = "config.json says that it is the embedding (tie_word_embeddings)"
            raise FileError(f"{container.path}: {head} must not be quantized, since {said}")
        check_names(container, plan.outputs)
        ignored.add(kept_head(config, [one.name for one in container.tensors], modules))
        listed = recipe.listed(ignored - {""}, modules)
        plan.descriptions = {**recipe.describe(scheme, listed), **_experts(plan, scheme)}
        plan.remarks += _fused_in_part(fused[True] & fused[False])
        plan.remarks += _remarks(container, recipe, quantized_twice, bool(plan.descriptions))
        return plan


def _fused_in_part(groups: Set[str]) -> Iterator[str]:
    """Yield a remark on modules some of which are quantized and others kept, although engines fuse them."""
    names = sorted(groups - {""})
    if names:
        others = f", and so are {len(names) - 1} more" if len(names) > 1 else ""
        first = ascii(names[0])[:80]
        yield f"{first} is quantized in part{others}; vLLM fuses these modules and requires one type of them"


def _remarks(container: Container, recipe: Recipe, twice: Sequence[Weight], described: bool) -> Iterator[str]:
    """Yield what may surprise: values that are rounded twice, what the recipe says, a configuration that is missing."""
    if twice:
        more = and_so_text(len(twice) - 1, "was", "were")
        yield f"{ascii(twice[0].name)[:80]} was quantized already ({twice[0].scheme.code_name}){more}; errors add up"
    if recipe.remark:
        yield recipe.remark
    if described and isinstance(container, SafetensorsFile):
        yield f"config.json of the model must say how it is quantized: {recipe.layout}"


def _plain_model(container: Container) -> ConversionPlan:
    """Return what becomes of every tensor without the recipe: a copy, or what a conversion to bfloat16 makes of it."""
    plan = ConversionPlan()
    if quantized_weights(container):
        rules = ElementRules(BFLOAT16, True, None, NEWEST)
        plain = ToFormat(rules).plan(container)
        for one in plain.tensor_plans:
            tensor, is_same = one.operation.tensor, isinstance(one.operation, Cast) and one.operation.fmt == BFLOAT16
            plan.add(Copy(tensor) if is_same else one.operation)
        plan.misfits, plan.remarks, plan.dtype = plain.misfits, plain.remarks, plain.dtype
        return plan
    tool = find_tool(container)
    if tool:
        raise FileError(f"{container.path}: {tool.text()}")
    described = find_descriptions(container)
    companions = find_companions(container.tensors)
    if described or companions:
        why = described[0].text() if described else companions[0].text()
        raise FileError(f"{container.path}: is quantized already, in a way that is not known ({why})")
    check_part(container, container.tensors)
    for tensor in container.tensors:
        plan.add(Copy(tensor))
    return plan


def _plain_weights(container: Container) -> ConversionPlan:
    """Return the values of quantized weights in float32, and copies of all other tensors."""
    gguf.check_types(container, copied=True)
    plan, rules = ConversionPlan(), ElementRules(FLOAT32, True, None, NEWEST)
    weights = {weight.codes.name: weight for weight in quantized_weights(container)}
    companions = {tensor.name for weight in weights.values() for tensor in weight.tensors} - weights.keys()
    for tensor in container.tensors:
        if tensor.name not in companions:
            weight = weights.get(tensor.name)
            plan.add(Copy(tensor) if weight is None else Dequantize(weight, rules))
    return plan


def _kept(operation: Operation, recipe: Recipe) -> Iterator[Operation]:
    """Yield what is done with a tensor that the recipe does not quantize."""
    if recipe.mixes_types and isinstance(operation, Dequantize):
        yield from map(Copy, operation.weight.tensors)
    else:
        yield operation


def _rows(operation: Operation, fmt: Format, transposed: bool) -> Rows:
    """Return the rows that an operation makes."""
    if isinstance(operation, Dequantize):
        return Rows.of_weight(operation.weight, fmt, transposed=transposed)
    rules = operation.rules if isinstance(operation, Cast) else None
    return Rows.of_tensor(operation.tensor, fmt, rules, transposed=transposed)


def _experts(plan: ConversionPlan, scheme: Scheme) -> dict[str, str]:
    """Return what config.json says of experts in FP8 where it said of what type they were."""
    said = any(entry.split(".")[-1] == EXPERTS for one in plan.misfits for entry in one.entries)
    return {EXPERTS: "fp8"} if said and scheme.codes in FNUZ else {}


def _why_kept(one: Candidate, recipe: Recipe, keep: NamePatterns, also: NamePatterns) -> str:
    """Return why values are not quantized: for their type and shape, their name, or the length of rows; or nothing."""
    tensor, names = one.tensor, {one.stored, one.tensor.name}
    if unfit := one.why or recipe.why_unfit(tensor):
        return unfit
    if any(map(keep.fit, names)):
        return "kept by name"
    named = "" if any(map(also.fit, names)) else recipe.why_kept(tensor)
    return named or recipe.problem(tensor)


def _seen(container: Container, recipe: Recipe, candidates: Sequence[Candidate], plan: ConversionPlan) -> Iterator[str]:
    """Yield why nothing is quantized: for each reason the first tensor, and how many there are; what would help."""
    reasons: dict[str, list[StoredTensor]] = {}
    for one in plan.tensor_plans:
        reasons.setdefault(one.why, []).append(one.operation.tensor)
    for why, (first, *others) in sorted(reasons.items(), key=lambda pair: -len(pair[1])):
        yield f"{ascii(first.name)[:80]}, {first.type_name} {first.shape}: {why}{and_so_text(len(others), 'is', 'are')}"
    if found := gguf.types_without_values(container):
        yield f"the values of {gguf.types_text(found)} are not known"
    tensors = [one.tensor for one in candidates if not (one.why or recipe.why_unfit(one.tensor))]
    if any(recipe.why_kept(one) and not recipe.problem(one) for one in tensors):
        yield "`also` quantizes what is kept for its name"


def _check_kind(container: Container, recipe: Recipe) -> None:
    """Raise FileError for a container, or a model in it, that the recipe is not for."""
    if not isinstance(container, recipe.containers):
        kinds = ", or ".join(_KINDS[kind] for kind in recipe.containers)
        raise FileError(f"{container.path}: must be {kinds}, for {recipe.name}{_instead(container, recipe)}")
    model = model_type(container)
    if model and recipe.models and model not in recipe.models:
        which = " or ".join(recipe.models)
        raise FileError(f"{container.path}: must be a model of type {which} for {recipe.name}; got {ascii(model)[:40]}")


def _instead(container: Container, recipe: Recipe) -> str:
    """Return which recipe may be meant for such a container, or what makes a container that it is for."""
    if alike := find_alike(recipe, type(container)):
        return f"; did you mean {' or '.join(alike)}?"
    if isinstance(container, GgufFile):
        return f"; `to` {BFLOAT16.name} makes a .safetensors file of it"
    if GgufFile in recipe.containers:
        return "; llama.cpp's convert_hf_to_gguf.py makes one of a model"
    return "; `to` with a `scale` takes any file"
