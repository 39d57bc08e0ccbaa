"""Which weights of a model a preset quantizes, which tensors they become, and which weights share a scale."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...spec.formats import BFLOAT16, FLOAT8_E8M0FNU, FLOAT16, FLOAT32, INT32, INT64, UINT8, Format
from ..containers.container import OutputTensor
from ..containers.tensors import StoredTensor
from ..layouts.compressed_tensors_output import describe, names_of
from ..schemes.presets import Preset
from ..schemes.scheme import GlobalScale, Packing, Scheme

__all__ = [
    "QuantizedWeight", "configuration", "constant_outputs", "module_of", "outputs_of", "quantized_weight", "why_kept",
]  # fmt: skip

FORMATS = (BFLOAT16, FLOAT16, FLOAT32)

KEPT = re.compile(
    r"(^|[._])(lm_head|head|output|embed\w*|wte|wpe|norm\w*|\w*norm|router|vision\w*|visual|audio\w*|gate)($|\.)"
)
"""Parts of the names of modules that engines do not quantize: heads, embeddings, norms, routers, towers."""

FUSED = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"), ("w1", "w3"), ("q_a_proj", "kv_a_proj_with_mqa"),
         ("wq_a", "wkv_a_with_mqa"))  # fmt: skip
"""Modules that engines fuse, so that their weights have one second scale."""


@dataclass(frozen=True, slots=True)
class QuantizedWeight:
    """A weight to be quantized.

    Attributes
    ----------
    tensor : StoredTensor
        The weight.
    fmt : Format
        Its format.
    scheme : Scheme
        How it is to be stored.
    group : str
        What the weights have in common that share a second scale.
    roles : tuple of str
        What its outputs hold, in their order.
    """

    tensor: StoredTensor
    fmt: Format
    scheme: Scheme
    group: str
    roles: tuple[str, ...]

    @property
    def needs_largest(self) -> bool:
        """Whether the largest magnitude of all of it is needed first."""
        return self.scheme.global_scale is not GlobalScale.NONE


def module_of(name: str) -> str:
    """Return the module of a weight."""
    return name.removesuffix(".weight")


def why_kept(tensor: StoredTensor, preset: Preset, keep: Sequence[str]) -> str:
    """Return why a preset does not quantize a tensor, or nothing."""
    module = module_of(tensor.name)
    if not tensor.name.endswith(".weight") or len(tensor.shape) != 2 or tensor.fmt not in FORMATS:
        return f"no weight of two axes in {', '.join(fmt.name for fmt in FORMATS)}"
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in keep for name in (module, tensor.name)):
        return "kept by name"
    if not re.search(r"\.\d+\.", tensor.name):
        return "not in a repeated block"
    if KEPT.search(module):
        return "engines keep it"
    return preset.problem(tensor.shape) or ("it is empty" if 0 in tensor.shape else "")


def quantized_weight(tensor: StoredTensor, preset: Preset) -> QuantizedWeight:
    """Return a tensor as a weight to be quantized."""
    if tensor.fmt is None:
        raise ValueError(f"{tensor.name} holds no numbers")
    scheme = preset.scheme_of(tensor.fmt)
    return QuantizedWeight(tensor, tensor.fmt, scheme, _group(module_of(tensor.name)), tuple(names_of(scheme)))


def _group(module: str) -> str:
    before, _, last = module.rpartition(".")
    fused = next((names for names in FUSED if last in names), (last,))
    return f"{before}.{'+'.join(fused)}"


def outputs_of(weight: QuantizedWeight) -> Iterator[OutputTensor]:
    """Yield the tensors that a weight becomes, one to each of its roles."""
    tensor, scheme = weight.tensor, weight.scheme
    rows, columns = tensor.shape
    width = scheme.row_bytes(columns)
    scale = UINT8 if scheme.scale == FLOAT8_E8M0FNU else scheme.scale
    tensors: dict[str, tuple[Format, tuple[int, ...]]] = {
        "codes": (scheme.codes, (rows, columns)),
        "scales": (scale, scheme.grid.shape(rows, columns)),
        "global_scale": (FLOAT32, (1,)),
        "shape": (INT64, (2,)),
    }
    if scheme.packing is Packing.LOW_FIRST:
        tensors["codes"] = UINT8, (rows, width)
    elif scheme.packing is Packing.WORDS:
        tensors["codes"] = INT32, (rows, width // 4)
    for role, name in names_of(scheme).items():
        fmt, shape = tensors[role]
        nbytes = math.prod(shape) * fmt.storage_bits // 8
        yield OutputTensor(f"{module_of(tensor.name)}.{name}", shape, fmt, nbytes, tensor, role)


def constant_outputs(weight: QuantizedWeight, second: np.float32 | None) -> dict[str, bytes]:
    """Return the contents of the outputs that hold no rows, by their roles."""
    contents = {"shape": np.array(weight.tensor.shape, np.int64).tobytes()}
    if second is not None:
        contents["global_scale"] = second.tobytes()
    return {role: content for role, content in contents.items() if role in weight.roles}


def configuration(preset: Preset, weights: Sequence[QuantizedWeight], kept: Sequence[StoredTensor]) -> dict[str, Any]:
    """Return the entry ``quantization_config`` for a model of these weights; engines ignore the modules that are kept.

    Modules whose name ends with "norm" are not listed: they are no linear layers.
    """
    modules = [module_of(one.name) for one in kept if one.name.endswith(".weight") and len(one.shape) == 2]
    ignore = sorted(module for module in modules if not module.endswith("norm"))
    activations = None if preset.activations is None else dict(preset.activations)
    return describe(preset.title, weights[0].scheme, ignore, activations)
