"""The names, shapes and description that compressed-tensors has for weights that are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...spec.formats import FLOAT8_E8M0FNU
from ..schemes.scheme import GlobalScale, Packing, Scheme

__all__ = ["VERSION", "describe", "names_of"]

VERSION = "0.19.0"
"""The version of compressed-tensors with whose files the output is compared."""

_ARGUMENTS: dict[str, Any] = {
    "actorder": None, "block_structure": None, "dynamic": False, "group_size": None, "num_bits": 8, "observer": None,
    "observer_kwargs": {}, "scale_dtype": None, "strategy": "tensor", "symmetric": True, "type": "float",
    "zp_dtype": None,
}  # fmt: skip


def names_of(scheme: Scheme) -> dict[str, str]:
    """Return the names of a weight's tensors in its module, by their role."""
    names = {"codes": "weight" if scheme.packing is Packing.NONE else "weight_packed", "scales": "weight_scale"}
    if scheme.global_scale is not GlobalScale.NONE:
        names["global_scale"] = "weight_global_scale"
    if scheme.packing is Packing.WORDS:
        names["shape"] = "weight_shape"
    return names


def describe(name: str, scheme: Scheme, ignore: Sequence[str], activations: dict[str, Any] | None) -> dict[str, Any]:
    """Return the entry ``quantization_config`` of config.json, its keys in alphabetical order.

    Parameters
    ----------
    name : str
        The name of the group of weights: llm-compressor's name of the preset.
    scheme : Scheme
        How the weights are stored.
    ignore : sequence of str
        The modules that are kept.
    activations : dict or None
        What ``input_activations`` says beyond the defaults: how the engine quantizes the inputs of a layer.
    """
    fmt = _format(scheme)
    group = {
        "format": fmt,
        "input_activations": None if activations is None else {**_ARGUMENTS, **activations},
        "output_activations": None,
        "targets": ["Linear"],
        "weights": {
            **_ARGUMENTS,
            "num_bits": scheme.bits or scheme.codes.bits,
            "type": "int" if scheme.codes.is_integer else "float",
            **_strategy(scheme),
        },
    }
    return {
        "config_groups": {name: group},
        "format": fmt,
        "global_compression_ratio": None,
        "ignore": list(ignore),
        "kv_cache_scheme": None,
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
        "transform_config": {},
        "version": VERSION,
    }


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
