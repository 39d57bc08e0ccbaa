"""The names, shapes and descriptions that ModelOpt has for weights that are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...spec.formats import FLOAT32, UINT8
from ..schemes.scheme import GlobalScale, Packing, Scheme
from .output import CODES, GLOBAL_SCALE, SCALES, Output

__all__ = ["FP8", "FP8_ROWS", "NAME", "NVFP4", "NVFP4_WEIGHTS", "VERSION", "describe", "outputs", "static_outputs"]

NAME = "modelopt"

VERSION = "0.47.0"
"""The version of ModelOpt with whose files the output is compared."""

FP8, FP8_ROWS = "FP8", "FP8_PER_CHANNEL_PER_TOKEN"
NVFP4, NVFP4_WEIGHTS = "NVFP4", "W4A16_NVFP4"
"""Algorithms: inputs of a layer have the scale ``input_scale``, or one to a token; or ``input_scale``, or no codes."""


def _numbers(bits: int) -> dict[str, Any]:
    return {"dynamic": False, "num_bits": bits, "type": "float"}


def outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the tensors that a weight of two axes becomes."""
    rows, columns = shape
    if scheme.packing is Packing.LOW_FIRST:
        yield Output(CODES, name, UINT8, (rows, scheme.row_bytes(columns)))
    else:
        yield Output(CODES, name, scheme.codes, shape)
    if not scheme.grid.rows:
        yield Output(GLOBAL_SCALE, f"{name}_scale", FLOAT32, ())
    elif not scheme.grid.columns:
        yield Output(SCALES, f"{name}_scale", FLOAT32, (rows,))
    else:
        yield Output(SCALES, f"{name}_scale", scheme.scale, scheme.grid.shape(rows, columns))
    if scheme.global_scale is not GlobalScale.NONE:
        yield Output(GLOBAL_SCALE, f"{name}_scale_2", FLOAT32, ())


def static_outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the same, and 1 as the scale of the layer's input."""
    yield from outputs(name, shape, scheme)
    one = np.array(1, "<f4").tobytes()
    yield Output("input_scale", f"{name.removesuffix('weight')}input_scale", FLOAT32, (), one)


def describe(
    algorithm: str, scheme: Scheme, ignore: Sequence[str], cache: str | None = None
) -> dict[str, Mapping[str, Any]]:
    """Return the entry ``quantization_config`` of config.json, and hf_quant_config.json, in ModelOpt's order.

    Parameters
    ----------
    algorithm : str
        `FP8`, `FP8_ROWS`, `NVFP4` or `NVFP4_WEIGHTS`.
    scheme : Scheme
        How the weights are stored.
    ignore : sequence of str
        The modules that are kept.
    cache : str, optional
        The algorithm for the cache of keys and values.
    """
    width = scheme.grid.columns
    group = {"group_size": width} if width else {}
    numbers = {**_numbers(scheme.codes.bits), **group}
    entry: dict[str, Any] = {}
    if algorithm != FP8_ROWS:  # for which ModelOpt writes no groups
        inputs = {} if algorithm == NVFP4_WEIGHTS else {"input_activations": numbers}
        entry["config_groups"] = {"group_0": {**inputs, "weights": numbers, "targets": ["Linear"]}}
    entry |= {"ignore": list(ignore), "quant_algo": algorithm}
    if cache is not None:
        entry["kv_cache_scheme"] = _numbers(8) if cache == FP8 else cache
    producer = {"name": NAME, "version": VERSION}  # engines know the file by this name
    quantization = {"quant_algo": algorithm, "kv_cache_quant_algo": cache, **group, "exclude_modules": list(ignore)}
    return {
        "quantization_config": {**entry, "producer": producer, "quant_method": NAME},
        "hf_quant_config.json": {"producer": producer, "quantization": quantization},
    }
