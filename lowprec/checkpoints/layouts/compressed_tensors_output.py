"""The names, shapes and description that compressed-tensors has for weights that are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from typing import Any

import numpy as np

from ...spec.formats import FLOAT8_E8M0FNU, FLOAT32, INT32, INT64, UINT8
from ..schemes.scheme import GlobalScale, Packing, Scheme
from .output import CODES, GLOBAL_SCALE, SCALES, Output

__all__ = ["ARGUMENTS", "NAME", "VERSION", "describe", "listed", "outputs"]

NAME = "compressed-tensors"

VERSION = "0.19.0"
"""The version of compressed-tensors with whose files the output is compared."""

ARGUMENTS: dict[str, Any] = {
    "actorder": None, "block_structure": None, "dynamic": False, "group_size": None, "num_bits": 8, "observer": None,
    "observer_kwargs": {}, "scale_dtype": None, "strategy": "tensor", "symmetric": True, "type": "float",
    "zp_dtype": None,
}  # fmt: skip

TOWER = re.compile(r"(?:model\.)?(\w*(?:vision|visual|audio|multi_modal|projector|connector)\w*)(?:\.|$)")
"""What stands beside the language model, by the first part of the names of its modules."""

ROUTER = r"re:.*gate$"
"""What llm-compressor's examples ignore of mixtures of experts: layers that choose among experts, by any name."""


def listed(kept: Set[str], quantized: Set[str]) -> list[str]:
    """Return how the entry ``ignore`` names the modules that are kept.

    transformers compares whole names, those of its own modules: ``model.vision_tower.encoder`` is stored as
    ``vision_tower.vision_model.encoder`` by Gemma 3, and routers of Mixtral are ``mlp.gate``, stored as
    ``block_sparse_moe.gate``. So expressions stand for routers, and for a tower that is kept as a whole.
    """
    towers = {match[1] for name in kept if (match := TOWER.match(name))}
    expressions = {rf"re:.*\b{tower}\b" for tower in towers} | {ROUTER}
    whole = {one for one in expressions if not any(re.match(one[3:], name) for name in quantized)}
    whole = {one for one in whole if any(re.match(one[3:], name) for name in kept)}
    named = {name for name in kept if not any(re.match(one[3:], name) for one in whole)}
    return sorted(named | whole)


def outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the tensors that a weight of two axes becomes."""
    (rows, columns), module = shape, name.removesuffix("weight")
    width = scheme.row_bytes(columns)
    if scheme.packing is Packing.NONE:
        yield Output(CODES, name, scheme.codes, shape)
    elif scheme.packing is Packing.LOW_FIRST:
        yield Output(CODES, f"{module}weight_packed", UINT8, (rows, width))
    else:
        yield Output(CODES, f"{module}weight_packed", INT32, (rows, width // 4))
    scale = UINT8 if scheme.scale == FLOAT8_E8M0FNU else scheme.scale
    whole = not (scheme.grid.rows or scheme.grid.columns)
    yield Output(SCALES, f"{module}weight_scale", scale, (1,) if whole else scheme.grid.shape(rows, columns))
    if scheme.global_scale is not GlobalScale.NONE:
        yield Output(GLOBAL_SCALE, f"{module}weight_global_scale", FLOAT32, (1,))
    if scheme.packing is Packing.WORDS:
        yield Output("shape", f"{module}weight_shape", INT64, (2,), np.array(shape, "<i8").tobytes())


def describe(
    preset: str, activations: dict[str, Any] | None, scheme: Scheme, ignore: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the entry ``quantization_config`` of config.json, its keys in alphabetical order.

    Parameters
    ----------
    preset : str
        The name of the group of weights: llm-compressor's name of the preset.
    activations : dict or None
        What ``input_activations`` says beyond the defaults: how the engine quantizes the inputs of a layer.
    scheme : Scheme
        How the weights are stored.
    ignore : sequence of str
        The modules that are kept.
    """
    fmt = _format(scheme)
    group = {
        "format": fmt,
        "input_activations": None if activations is None else {**ARGUMENTS, **activations},
        "output_activations": None,
        "targets": ["Linear"],
        "weights": {
            **ARGUMENTS,
            "num_bits": scheme.bits or scheme.codes.bits,
            "type": "int" if scheme.codes.is_integer else "float",
            **_strategy(scheme),
        },
    }
    configuration = {
        "config_groups": {preset: group},
        "format": fmt,
        "global_compression_ratio": None,
        "ignore": list(ignore),
        "kv_cache_scheme": None,
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
        "transform_config": {},
        "version": VERSION,
    }
    return {"quantization_config": configuration}


def _strategy(scheme: Scheme) -> dict[str, Any]:
    grid = scheme.grid
    if grid.rows > 1:
        return {"strategy": "block", "block_structure": [grid.rows, grid.columns]}
    if not grid.columns:
        return {"strategy": "channel" if grid.rows else "tensor"}
    if scheme.global_scale is not GlobalScale.NONE:
        return {
            "strategy": "tensor_group",
            "group_size": grid.columns,
            "scale_dtype": f"torch.{scheme.scale.torch_name}",
        }
    exponents = "torch.uint8" if scheme.scale == FLOAT8_E8M0FNU else None
    return {"strategy": "group", "group_size": grid.columns, "scale_dtype": exponents}


def _format(scheme: Scheme) -> str:
    """Return compressed-tensors' name of how codes are stored."""
    if scheme.packing is Packing.WORDS:
        return "pack-quantized"
    if scheme.codes.is_integer:
        return "int-quantized"
    if scheme.global_scale is not GlobalScale.NONE:
        return "nvfp4-pack-quantized"
    if scheme.scale == FLOAT8_E8M0FNU:
        return "mxfp4-pack-quantized" if scheme.codes.bits == 4 else "mxfp8-quantized"
    return "float-quantized"
