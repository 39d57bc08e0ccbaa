"""What `to` makes of every tensor, with scales or without: cast, quantized, dequantized or kept, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._notebook_display import and_so_text
from ...loss.error_stats import ErrorStats
from ...ops.encode_pack import encode
from ...spec.formats import BFLOAT16, Format
from ...spec.packing import is_packable
from ..chunks import Chunk
from ..containers.container import Container, StoredTensor
from ..containers.model_config import Description, find_descriptions
from ..files.errors import FileError
from ..inference_engines import dequantizes, gguf, quantized_weights
from ..operations.cast import Cast
from ..operations.copy import Copy
from ..operations.dequantize import Dequantize
from ..operations.operation import Operation
from ..operations.scale import Scale
from ..schemes.cast import Arithmetic, ElementRules, SourceBytes, bytes_of
from ..schemes.scale_grid import ScaleRequest
from ..weights.companion_tensors import affects_quantization, check_part, find_companions, find_tool, is_weight
from ..weights.quantized_weight import Weight
from ..weights.tensor_selection import NamePatterns
from .conversion_plan import ConversionPlan, check_names

__all__ = ["ToFormat"]


CACHE_SCALES = (".k_scale", ".v_scale")
"""Names of scales of the key and value cache, which a model without quantization does not have."""

_RAW = "(`exclude` keeps tensors as they are, `raw` converts all the same)"
_ALL, _NONE = NamePatterns("include"), NamePatterns("exclude")


def _why_left_out(name: str, include: NamePatterns, exclude: NamePatterns) -> str:
    """Return why the patterns do not choose a tensor, or nothing."""
    if include and not include.fit(name):
        return "not included"
    return "excluded" if exclude.fit(name) else ""


def _why_kept(tensor: StoredTensor) -> str:
    """Return why a tensor cannot be converted, or nothing."""
    if tensor.fixed or tensor.fmt is None:
        return tensor.fixed or "it holds no real numbers"
    return "" if tensor.fmt.is_float else "no floats"


def _check_rules(fmt: Format, rules: ElementRules) -> None:
    """Raise what the operators raise for rules: they convert a single element."""
    arithmetic, element = Arithmetic(), SourceBytes(np.zeros(1, fmt.code_dtype).view(np.uint8), fmt)
    result = np.empty(bytes_of(1, rules.to, rules.packs), np.uint8)
    if rules.scaling is None:
        arithmetic.cast(element, 1, rules, result, ErrorStats())
        return
    if not rules.to.signed or not rules.to.has_zero:
        raise ValueError(f"`to` must be a signed format to be scaled, since scales are symmetric; got {rules.to.name}")
    scales = None if rules.scaling.block_size else np.asarray(encode(np.ones(1, np.float32), rules.scaling.fmt))
    arithmetic.quantize(element, Chunk(0, (1, 1, 1), 0), rules, scales, result, ErrorStats())


def _check_axis(container: Container, scaling: ScaleRequest, wanted: Sequence[StoredTensor]) -> None:
    """Raise FileError if none of the tensors that are to be converted has the axis of the scales."""
    if wanted and not any(scaling.has_axis(one.shape) for one in wanted):
        ranks = ", ".join(map(str, sorted({len(one.shape) for one in wanted})))
        raise FileError(
            f"{container.path}: has no tensor to be converted with an axis {scaling.axis}; their ranks are {ranks}"
        )


def _check_integers(rules: ElementRules) -> None:
    if rules.to.is_integer and rules.scaling is None:
        raise ValueError(
            "`scale` must be tensor, axis:N or block:B for an integer format, or nearly every weight becomes 0; "
            f"got none, to {rules.to.name} (`raw` converts all the same)"
        )


def _check_companions(
    container: Container,
    tensors: Sequence[StoredTensor],
    converted: Sequence[StoredTensor],
    chosen: set[str],
    rules: ElementRules,
    raw: bool,
) -> list[str]:
    """Return a note on tensors that are converted without their companions, or raise FileError for them.

    It is an error too where the patterns choose codes and a known companion, though both be integers that are kept: who
    converts gpt-oss to bfloat16 expects no MXFP4 in the result. Where tensors are renamed, a node gives the old name
    the old type back, and codes and scales stay right.
    """
    if container.codes_suffix or not chosen:
        return []
    names = {one.name for one in converted}
    unapplied = []
    for one in find_companions(tensors):
        pair = {one.codes.name, one.tensor.name}
        if not names.isdisjoint(pair) or (one.row is not None and pair <= chosen):
            unapplied.append(one)
    if not unapplied:
        return []
    first = unapplied[0].text()
    if not raw:
        tool = find_tool(container)
        fault = tool.text() if tool else f"{first}; it would not be applied{_what_applies(container, rules)}"
        raise FileError(f"{container.path}: {fault} {_RAW}")
    n = len({one.tensor.name for one in unapplied})
    return [f"{first}, not applied{and_so_text(n - 1, 'is', 'are')}"]


def _what_applies(container: Container, rules: ElementRules) -> str:
    """Return what applies scales that these rules do not, if their layout is known; or nothing."""
    with suppress(FileError):
        if not dequantizes(rules) and quantized_weights(container):
            return f"; `to` {BFLOAT16.name} or a `recipe` applies it"
    return ""


def _check_descriptions(
    container: Container, rules: ElementRules, converted: Sequence[StoredTensor], raw: bool
) -> tuple[list[Description], list[str]]:
    """Return the descriptions of a quantization that no longer fit, with notes, or raise FileError for them.

    They fit while wide floats that they do not concern become other wide floats.
    """
    descriptions = find_descriptions(container)
    if not descriptions or not converted:
        return [], []
    if _stays_wide(rules):
        why = affects_quantization(container.tensors, converted)
    else:
        why = f"{ascii(converted[0].name)[:80]} becomes {rules.to.name}"
    if not why:
        return [], []
    if not raw:
        tool = find_tool(container)
        fault = tool.text() if tool else f"{descriptions[0].text()} would no longer fit, since {why}"
        raise FileError(f"{container.path}: {fault} {_RAW}")
    return descriptions, [f"{one.text()} left out" for one in descriptions]


def _stays_wide(rules: ElementRules) -> bool:
    return rules.to.is_float and rules.to.bits >= 16 and rules.scaling is None


def _is_chosen(weight: Weight, include: NamePatterns, exclude: NamePatterns) -> bool:
    """Whether patterns choose a weight, by the name of its codes or values, and exclude none of its tensors."""
    names = {weight.name, weight.codes.name}
    excluded = {weight.name, *(tensor.name for tensor in weight.tensors)}
    return (not include or any(map(include.fit, names))) and not any(map(exclude.fit, excluded))


def _dequantized(weights: Sequence[Weight], include: NamePatterns, exclude: NamePatterns) -> list[Weight]:
    """Return the weights that the patterns choose; all of them or none.

    Raises FileError where they choose some: no configuration would be true of the result.
    """
    chosen = [weight for weight in weights if _is_chosen(weight, include, exclude)]
    if chosen and len(chosen) < len(weights):
        kept = next(weight for weight in weights if weight not in chosen)
        raise FileError(
            f"{ascii(kept.name)[:80]}: would stay quantized, and {ascii(chosen[0].name)[:80]} would not; "
            "all quantized weights must be dequantized, or none"
        )
    return chosen


def _check_unscaled(others: Sequence[StoredTensor], chosen: set[str]) -> list[str]:
    """Return a remark on weights next to those that are dequantized which are narrow floats and have no scales.

    They have their values all the same. Raises FileError for integers: they have none.
    """
    unscaled = [tensor for tensor in others if tensor.name in chosen and is_weight(tensor)]
    for tensor in unscaled:
        if tensor.fmt is not None and tensor.fmt.is_integer:
            raise FileError(
                f"{ascii(tensor.name)[:80]}: has codes ({tensor.fmt.name}) and no scales that are known {_RAW}"
            )
    if not unscaled:
        return []
    first = ascii(unscaled[0].name)[:80]
    return [f"{first} has no scales; it is converted by value{and_so_text(len(unscaled) - 1, 'is', 'are')}"]


@dataclass(frozen=True, slots=True)
class ToFormat:
    """What `to` asks for: tensors of floats in another format, with scales or without.

    Attributes
    ----------
    elements : ElementRules
        The format, and how an element gets there.
    include, exclude : NamePatterns
        Which tensors are converted.
    raw : bool
        Whether codes part with their scales, and integers need none.
    """

    elements: ElementRules
    include: NamePatterns = _ALL
    exclude: NamePatterns = _NONE
    raw: bool = False

    @property
    def target(self) -> str:
        """The name of the format."""
        return self.elements.to.name

    @property
    def rules(self) -> Mapping[str, str | int]:
        """The rules beyond ONNX, for the report."""
        return self.elements.described()

    def plan(self, container: Container) -> ConversionPlan:
        """Decide what becomes of every tensor of a container.

        Raises FileError where a pattern names nothing, no tensor has the axis of the scales, two tensors would have one
        name, or, unless `raw`, codes would part with their scales; ValueError, unless `raw`, for integers without
        scales; and what `lowprec.encode` and `lowprec.quantize_linear` raise for what they cannot do.
        """
        gguf.check_types(container, copied=False)
        include, exclude, raw = self.include, self.exclude, self.raw
        for patterns in (include, exclude):
            patterns.check(container.path, (one.name for one in container.tensors))
        rules = replace(self.elements, packs=container.packs and is_packable(self.elements.to))
        plan = ConversionPlan()
        checked: set[Any] = set()
        chosen: set[str] = set()
        wanted: list[StoredTensor] = []
        converted: list[StoredTensor] = []
        found = quantized_weights(container) if dequantizes(rules) and not raw and not container.codes_suffix else []
        weights = {weight.codes.name: weight for weight in _dequantized(found, include, exclude)}
        applied = {tensor.name for weight in weights.values() for tensor in weight.tensors}
        applied |= {one.name for one in container.tensors if weights and one.name.endswith(CACHE_SCALES)}
        for tensor in container.tensors:
            if tensor.name in weights:
                plan.add(Dequantize(weights[tensor.name], rules))
            if tensor.name in applied:
                continue
            why = _why_left_out(tensor.name, include, exclude)
            if not why:
                chosen.add(tensor.name)
                why = _why_kept(tensor)
            if not why and weights and tensor.fmt is not None and tensor.fmt.bits > rules.to.bits:
                why = "wider than the target, in a quantized checkpoint"
            if not why:
                wanted.append(tensor)
                why = rules.scaling.problem(tensor.shape, tensor.fortran) if rules.scaling else ""
            if why or tensor.fmt is None:
                plan.add(Copy(tensor), why)
                continue
            if tensor.fmt not in checked:
                _check_rules(tensor.fmt, rules)
                checked.add(tensor.fmt)
            converted.append(tensor)
            plan.add(_operation(tensor, tensor.fmt, rules, container.codes_suffix))
        if rules.scaling is not None:
            _check_axis(container, rules.scaling, wanted)
        if converted and not raw:
            _check_integers(rules)
        others = [tensor for tensor in container.tensors if tensor.name not in applied]
        plan.notes = _check_companions(container, others, converted, chosen, rules, raw)
        if not raw:
            check_part(container, [tensor for tensor in others if tensor.name in chosen], f" {_RAW}")
        if weights:
            plan.misfits = find_descriptions(container)
            plan.remarks = _check_unscaled(others, chosen)
            plan.dtype = rules.to.name
        else:
            plan.misfits, left_out = _check_descriptions(container, rules, converted, raw)
            plan.notes += left_out
        check_names(container, plan.outputs)
        return plan


def _operation(tensor: StoredTensor, fmt: Format, rules: ElementRules, suffix: str) -> Operation:
    if rules.scaling is None:
        return Cast(tensor, fmt, rules, suffix)
    return Scale(tensor, fmt, rules, rules.scaling, suffix)
