"""Another layout for a quantized checkpoint, ModelOpt's or that of compressed-tensors: names, scales, descriptions.

Codes, and scales of blocks, are copied. NVFP4's second scale is a factor in the one and a divisor in the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...ops.encode_pack import decode
from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT32
from ..containers.container import Container, StoredTensor, TensorReader
from ..containers.folder import Folder
from ..containers.model_config import check_model, find_descriptions, model_config, quantization_of
from ..containers.safetensors_file import SafetensorsFile
from ..files.errors import FileError
from ..inference_engines import compressed_tensors, modelopt, quantized_weights
from ..operations.copy import Constant, Copy, CopyScales
from ..operations.operation import Operation
from ..schemes.scale_grid import Grid
from ..schemes.scheme import GlobalScale, Packing, Scheme
from ..weights.companion_tensors import check_part, find_tool
from ..weights.engine_interface import CODES, GLOBAL_SCALE, SCALES, Output
from ..weights.quantized_weight import Weight, fail, read_tensor, split
from ..weights.tensor_selection import kept_head, linear_module
from .conversion_plan import ConversionPlan, check_names

__all__ = ["LAYOUTS", "ToLayout"]


EXPRESSION = "re:"
CACHE = {"dynamic": False, "num_bits": 8, "type": "float"}
"""How both describe a cache of keys and values in FP8. Engines take the names of ModelOpt's scales in both layouts."""

LARGEST_CHANGE = 5 * 2.0**-24
"""A factor or a divisor: the one is a quotient, a product and a product, each rounded, the other two of these."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout that is written.

    Attributes
    ----------
    title : str
        Its name in weights that were read.
    outputs : callable
        Takes the name and the shape of a weight and its scheme; yields the tensors that it is stored in.
    second : GlobalScale
        What a second scale does.
    inputs : mapping
        The name of the scale of a layer's input, by whether there is a second scale.
    scalar : tuple of int
        The shape of one number.
    listed : callable
        As that of a recipe.
    describe : callable
        Takes the scheme, whether inputs have a scale, modules that are not quantized, and whether the cache is in FP8;
        returns what a recipe's `describe` does.
    """

    title: str
    outputs: Callable[[str, tuple[int, ...], Scheme], Iterable[Output]]
    second: GlobalScale
    inputs: Mapping[bool, str]
    scalar: tuple[int, ...]
    listed: Callable[[Set[str], Set[str]], list[str]]
    describe: Callable[[Scheme, bool, Sequence[str], bool], Mapping[str, Any]]


_NVFP4_INPUTS = {
    "num_bits": 4, "group_size": 16, "strategy": "tensor_group", "dynamic": "local", "observer": "static_minmax",
    "scale_dtype": f"torch.{FLOAT8_E4M3FN.torch_name}",
}  # fmt: skip

PRESETS: dict[tuple[bool, bool], tuple[str, dict[str, Any] | None]] = {
    (True, True): ("NVFP4", _NVFP4_INPUTS),
    (True, False): ("NVFP4A16", None),
    (False, True): ("FP8", {"observer": "static_minmax"}),
    (False, False): ("FP8_DYNAMIC", {"dynamic": True, "strategy": "token"}),
}
"""Presets of compressed-tensors and what they say of inputs: by whether there is a second scale, and one of inputs."""


def _describe_compressed_tensors(
    scheme: Scheme, static: bool, ignore: Sequence[str], fp8_cache: bool
) -> Mapping[str, Any]:
    preset, inputs = PRESETS[_is_nvfp4(scheme), static]
    described = compressed_tensors.describe(preset, inputs, scheme, ignore)
    if fp8_cache:
        described["quantization_config"]["kv_cache_scheme"] = {**compressed_tensors.ARGUMENTS, **CACHE}
    return described


def _describe_modelopt(scheme: Scheme, static: bool, ignore: Sequence[str], fp8_cache: bool) -> Mapping[str, Any]:
    nvfp4 = modelopt.NVFP4 if static else modelopt.NVFP4_WEIGHTS
    algorithm = nvfp4 if _is_nvfp4(scheme) else modelopt.FP8
    return modelopt.describe(algorithm, scheme, ignore, modelopt.FP8 if fp8_cache else None)


LAYOUTS = {
    compressed_tensors.NAME: Layout(
        compressed_tensors.NAME, compressed_tensors.outputs, GlobalScale.INVERSE,
        {True: "input_global_scale", False: "input_scale"}, (1,), compressed_tensors.listed,
        _describe_compressed_tensors,
    ),
    modelopt.LAYOUT: Layout(
        modelopt.NAME, modelopt.outputs, GlobalScale.FACTOR,
        {True: "input_scale", False: "input_scale"}, (), lambda kept, _: sorted(kept), _describe_modelopt,
    ),
}  # fmt: skip
"""The layouts that `convert` writes without quantizing anything, by the names that its parameter takes."""


@dataclass(frozen=True, slots=True)
class ToLayout:
    """What `layout` asks for: a quantized checkpoint as other engines name it.

    Attributes
    ----------
    target : str
        The name of the layout.
    rules : mapping
        Empty, for the report: nothing is rounded by a rule.
    """

    target: str
    rules: ClassVar[Mapping[str, str | int]] = {}

    def plan(self, container: Container) -> ConversionPlan:
        """Decide what becomes of every tensor where a quantized checkpoint gets another layout.

        Raises FileError where the container is of another kind, is not quantized, has that layout already, or has
        weights, or a cache, that the layout has no names for.
        """
        name = self.target
        check_model(container)
        if not isinstance(container, (Folder, SafetensorsFile)):
            raise FileError(
                f"{container.path}: must be a .safetensors file, or a folder of them, for the layout {name}"
            )
        description, weights = quantization_of(container), quantized_weights(container)
        if not weights:
            tool = find_tool(container)
            why = tool.text() if tool else f"has no quantized weights that the layout {name} could name"
            raise FileError(f"{container.path}: {why}")
        reader = TensorReader()
        try:
            renamed = RenamedWeights(name, reader, _is_weight_only(description))
            for weight in weights:
                renamed.add(weight)
        finally:
            reader.close()
        known = {tensor.name for weight in weights for tensor in weight.tensors}
        check_part(container, (tensor for tensor in container.tensors if tensor.name not in known))
        plan, ignore = ConversionPlan(), set(_ignored(description, name))
        for tensor in (one for one in container.tensors if one.name not in renamed.left_out):
            operation = renamed.operations.get(tensor.name)
            if operation is None:
                ignore.add(linear_module(tensor))
            plan.add(operation or Copy(tensor), "not quantized" if operation is None else _change(operation))
        check_names(container, plan.outputs)
        plan.misfits = find_descriptions(container)
        quantized = {split(weight.name)[0][:-1] for weight in weights}
        ignore.add(kept_head(model_config(container), [one.name for one in container.tensors], quantized))
        scheme, static = renamed.kind
        fp8_cache = _has_fp8_cache(container, description, name)
        listed = LAYOUTS[name].listed(ignore - {""}, quantized)
        plan.descriptions = LAYOUTS[name].describe(scheme, static, listed, fp8_cache)
        plan.remarks.append(renamed.remark())
        if renamed.left_out:
            plan.remarks.append(f"scales of inputs are left out ({len(renamed.left_out)}): inputs are not quantized")
        if isinstance(container, SafetensorsFile):
            plan.remarks.append(f"config.json of the model must say how it is quantized: {name}")
        return plan


class RenamedWeights:
    """What becomes of the tensors of weights.

    Attributes
    ----------
    operations : dict
        What is done with each, by its name.
    kind : tuple
        The scheme of all weights in the new layout, and whether layers have a scale of their inputs.
    left_out : set of str
        Scales of inputs that are not quantized.
    """

    def __init__(self, name: str, reader: TensorReader, weight_only: bool) -> None:
        self.operations: dict[str, Operation] = {}
        self.kind: tuple[Scheme, bool]
        self.left_out: set[str] = set()
        self._name, self._layout, self._reader, self._weight_only = name, LAYOUTS[name], reader, weight_only
        self._first: Weight | None = None
        self._reciprocals: list[tuple[np.float32, np.float32]] = []

    def add(self, weight: Weight) -> None:
        """Decide for a weight; raise FileError where the layout has no names for it, or others are of another kind."""
        scheme, static = self._scheme(weight), bool(weight.unused) and not self._weight_only
        if self._first is None:
            self._first, self.kind = weight, (scheme, static)
        if self.kind != (scheme, static):
            raise fail(weight.codes, f"is quantized otherwise than {ascii(self._first.name)[:60]}, or its input is")
        if self._layout.second is GlobalScale.FACTOR and not _is_nvfp4(scheme) and not static:
            raise fail(weight.codes, f"needs an input_scale in the layout {self._name}, which only calibration gives")
        for tensor, operation in self._operations(weight, scheme):
            self.operations[tensor.name] = operation

    def remark(self) -> str:
        """Return what is the same, and what is not."""
        pairs = self._reciprocals
        if not pairs:
            return "lossless: codes are copied, and scales keep their values"
        with np.errstate(over="ignore"):
            changed = sum(bool(np.float32(1) / reciprocal != value) for value, reciprocal in pairs)
        again = f"for {changed} of them the reciprocal of that differs by an ulp"
        if not changed:
            again = "lossless: the reciprocals of those are the same again"
        copied = f"codes and scales of blocks are copied, {len(pairs)} other scales become their reciprocals in float32"
        return f"{copied} ({again}); values change by at most {LARGEST_CHANGE:.0e} of themselves"

    def _scheme(self, weight: Weight) -> Scheme:
        """Return how a weight is stored in the new layout."""
        scheme, last = weight.scheme, split(weight.name)[1]
        if weight.layout == self._layout.title:
            raise fail(weight.codes, f"has the layout {self._name} already")
        if weight.layout not in {one.title for one in LAYOUTS.values()}:
            raise fail(weight.codes, f"has the layout {weight.layout}, and not one of {', '.join(LAYOUTS)}")
        plain = len(weight.shape) == 2 and last == "weight" and weight.zero_points is None and weight.groups is None
        grid = replace(scheme.grid, period=0)
        if plain and _is_nvfp4(scheme) and scheme.codes == FLOAT4_E2M1FN and grid == Grid(1, 16):
            return replace(scheme, grid=grid, global_scale=self._layout.second)
        whole = weight.scales is not None and weight.scales.size == 1 and not _is_nvfp4(scheme)
        if plain and whole and scheme.codes == FLOAT8_E4M3FN and scheme.packing is Packing.NONE:
            return replace(scheme, grid=Grid(0, 0), scale=FLOAT32)
        raise fail(weight.codes, "is neither NVFP4 nor FP8 with one scale, which alone both layouts have names for")

    def _operations(self, weight: Weight, scheme: Scheme) -> Iterator[tuple[StoredTensor, Operation]]:
        """Yield the tensors of a weight, and what is done with them."""
        if weight.scales is None:
            raise fail(weight.codes, "has its scales in its codes, and both layouts have tensors for them")
        named = {one.role: one for one in self._layout.outputs(weight.name, weight.shape, scheme)}
        yield weight.codes, Copy(weight.codes, named[CODES].name)
        if weight.global_scale is not None:
            yield weight.scales, CopyScales(weight.scales, named[SCALES].name)
            second = named[GLOBAL_SCALE]
            yield weight.global_scale, self._number(weight.global_scale, second.name, inverse=True)
        else:
            scale = named.get(SCALES) or named[GLOBAL_SCALE]
            yield weight.scales, self._number(weight.scales, scale.name, inverse=False)
        nvfp4, module = _is_nvfp4(scheme), split(weight.name)[0]
        known = {f"{module}{one.inputs[nvfp4]}" for one in LAYOUTS.values() if one.title == weight.layout}
        for tensor in weight.unused:
            if tensor.name not in known:
                raise fail(tensor, f"has no name in the layout {self._name}")
            if self._weight_only:
                self.left_out.add(tensor.name)
                continue
            yield tensor, self._number(tensor, f"{module}{self._layout.inputs[nvfp4]}", inverse=nvfp4)

    def _number(self, tensor: StoredTensor, name: str, *, inverse: bool) -> Constant:
        """Return a scale, or its reciprocal, under another name in float32."""
        if tensor.fmt is None or not tensor.fmt.is_float or tensor.size != 1:
            raise fail(tensor, f"must be one float; got {tensor.type_name} {list(tensor.shape)}")
        codes = read_tensor(self._reader, tensor).view(tensor.fmt.code_dtype)
        value = np.asarray(decode(codes, tensor.fmt, to=np.float32)).reshape(-1)[0]
        with np.errstate(all="ignore"):
            result = np.float32(1) / value if inverse else value
        if not (np.isfinite(result) and np.isfinite(value) and value > 0 and result > 0):
            raise fail(tensor, f"must be a positive number with a finite reciprocal; got {value}")
        if inverse:
            self._reciprocals.append((value, result))
        return Constant(tensor, name, FLOAT32, self._layout.scalar, np.asarray(result, "<f4").tobytes())


def _is_nvfp4(scheme: Scheme) -> bool:
    return scheme.global_scale is not GlobalScale.NONE


def _is_weight_only(description: Mapping[str, Any]) -> bool:
    """Whether a description says that inputs of layers are not quantized, even if there are scales for them."""
    groups = description.get("config_groups")
    described = list(groups.values()) if isinstance(groups, dict) else []
    none = [isinstance(one, dict) and one.get("input_activations") is None for one in described]
    return description.get("quant_algo") == modelopt.NVFP4_WEIGHTS or (bool(none) and all(none))


def _change(operation: Operation) -> str:
    """Return what happens to a tensor that belongs to a weight."""
    (made,) = operation.outputs()
    last = split(made.name)[1]
    return f"written as {last}" if made.name != operation.tensor.name else "copied"


def _ignored(description: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield what a description says of modules that are not quantized, as the new layout spells it.

    ModelOpt has wildcards, compressed-tensors regular expressions. Those are left out for ModelOpt, which gets the
    names of all modules that have a weight.
    """
    listed = [description.get("ignore"), description.get("exclude_modules")]
    for one in (one for entries in listed if isinstance(entries, list) for one in entries):
        if not isinstance(one, str) or one.startswith(EXPRESSION):
            continue
        if name == compressed_tensors.NAME and "*" in one:
            yield EXPRESSION + re.escape(one).replace(r"\*", ".*") + "$"
        else:
            yield one


def _has_fp8_cache(container: Container, description: Mapping[str, Any], name: str) -> bool:
    """Whether keys and values are quantized to FP8; raise FileError where the new layout has no names for how."""
    cache = description.get("kv_cache_scheme") or description.get("kv_cache_quant_algo")
    if cache is None:
        return False
    said = {key: cache.get(key) for key in CACHE} if isinstance(cache, Mapping) else cache
    if name == modelopt.LAYOUT or said not in (CACHE, modelopt.FP8):
        raise FileError(
            f"{container.path}: the scheme of the cache, {str(cache)[:60]}, has no names in the layout {name}"
        )
    return True
