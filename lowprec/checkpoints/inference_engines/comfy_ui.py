"""ComfyUI: a description to each weight; FP8, MXFP8, NVFP4 with scales in tiles, and int8.

A module's description is JSON in the tensor ``comfy_quant``, or in the file's metadata, which ComfyUI prefers. Files of
before November 2025 have none (see `fp8`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT8_E8M0FNU, FLOAT32, INT8, Format
from ..containers.tensors import StoredTensor
from ..schemes.scheme import GlobalScale, Grid, Packing, Scheme
from ..schemes.tiles import tiled_shape
from .weight import Source, Weight, fail, grid_of, scale_format, take

__all__ = ["DESCRIPTION", "METHODS", "NAME", "find"]

NAME = "ComfyUI"
METHODS: tuple[str, ...] = ()

DESCRIPTION = "comfy_quant"

LARGEST = 1 << 16
"""Descriptions have a few dozen bytes; one of more than so many is none."""

SCHEMES: Mapping[str, Scheme] = {
    str(FLOAT8_E4M3FN.torch_name): Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(0, 0)),
    str(FLOAT8_E5M2.torch_name): Scheme(FLOAT8_E5M2, Packing.NONE, FLOAT32, Grid(0, 0)),
    "int8_tensorwise": Scheme(INT8, Packing.NONE, FLOAT32, Grid(0, 0)),
    "mxfp8": Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT8_E8M0FNU, Grid(1, 32), tiles=True),
    "nvfp4": Scheme(FLOAT4_E2M1FN, Packing.HIGH_FIRST, FLOAT8_E4M3FN, Grid(1, 16), GlobalScale.FACTOR, tiles=True),
}
"""The formats of ComfyUI that are read; its others rotate the weight, or look values up in tables."""

TYPES: Mapping[Format, str] = {
    FLOAT8_E4M3FN: "F8_E4M3",
    FLOAT8_E5M2: "F8_E5M2",
    INT8: "I8",
    FLOAT4_E2M1FN: "U8",
}
"""The types of codes."""

SCALE_TYPES: Mapping[Format, tuple[str, ...]] = {
    FLOAT32: ("F32", "BF16", "F16"),
    FLOAT8_E8M0FNU: ("U8", "F8_E8M0"),
    FLOAT8_E4M3FN: ("F8_E4M3", "U8"),
}
"""The types of scales: ComfyUI casts wide ones to float32, and takes bytes for either of the narrow ones."""


def find(source: Source) -> Iterator[Weight]:
    """Yield the weights of all modules that are described."""
    ends = f".{DESCRIPTION}"
    modules = {name.removesuffix(DESCRIPTION) for name in source.tensors if name.endswith(ends) or name == DESCRIPTION}
    for module in sorted(modules | {f"{name}." for name in source.layers}):
        codes = source.tensors.get(f"{module}weight")
        if codes is not None:
            yield _weight(source, codes, module, _description(source, module))


def _description(source: Source, module: str) -> Mapping[str, Any]:
    """Return the description of a module."""
    tensor = source.tensors.get(module + DESCRIPTION)
    fields = source.layers.get(module[:-1])
    if fields is None and tensor is not None:
        if tensor.type_name != "U8" or tensor.size > LARGEST:
            raise fail(tensor, f"must be JSON in U8; got {tensor.type_name} {list(tensor.shape)}")
        try:
            fields = json.loads(source.read(tensor).tobytes())
        except (ValueError, RecursionError):
            raise fail(tensor, "must be JSON; it is none") from None
    if not isinstance(fields, dict) or not isinstance(fields.get("format"), str):
        raise fail(tensor or source.tensors[f"{module}weight"], "must be described by a JSON object with a format")
    return fields


def _weight(source: Source, codes: StoredTensor, module: str, description: Mapping[str, Any]) -> Weight:
    """Return a weight, once its tensors are those of its format."""
    name = description["format"]
    params = description.get("params")
    rotated = description.get("convrot", params.get("convrot") if isinstance(params, dict) else None)
    if name not in SCHEMES or rotated:
        kind = f"{ascii(name)[1:-1][:40]}{', rotated (convrot)' * bool(rotated)}"
        raise fail(codes, f"has the format {kind}, which is not supported; only {', '.join(SCHEMES)} are")
    scheme = SCHEMES[name]
    if codes.type_name != TYPES[scheme.codes] or len(codes.shape) < 2 or (scheme.tiles and len(codes.shape) > 2):
        wanted = f"{TYPES[scheme.codes]} of two axes{' or more' * (not scheme.tiles)}"
        raise fail(codes, f"must be {wanted} in the format {name}; got {codes.type_name} {list(codes.shape)}")
    rotation = next(take(source, module, "pre_quant_scale"), None)
    if rotation is not None:
        raise fail(rotation, "is a scale of columns, which is not supported")
    scales = _scales(source, codes, module, scheme)
    *_, rows, columns = codes.shape
    columns *= 8 // scheme.codes.bits
    if scheme.tiles:
        _check_tiles(scales, rows, columns, scheme)
    else:
        scheme = _in_rows(scheme, codes, scales)
    second = source.tensors.get(f"{module}weight_scale_2")
    if (second is not None) != (scheme.global_scale is not GlobalScale.NONE):
        raise fail(second or codes, f"{'has no' if second is None else 'is a'} weight_scale_2 in the format {name}")
    padding = _padding(source, module, rows, scheme.grid.columns) if scheme.tiles else 0
    unused = (*take(source, module, DESCRIPTION, "input_scale"),)
    return Weight(
        codes.name,
        NAME,
        (*codes.shape[:-2], rows - padding, columns),
        scheme,
        codes,
        scales,
        second,
        unused=unused,
        padding=padding,
    )


def _scales(source: Source, codes: StoredTensor, module: str, scheme: Scheme) -> StoredTensor:
    """Return the scales of a weight."""
    scales = source.tensors.get(f"{module}weight_scale")
    if scales is None:
        raise fail(codes, "has no weight_scale")
    types = SCALE_TYPES[scheme.scale]
    if scales.type_name not in types:
        raise fail(scales, f"must be {' or '.join(types)}; got {scales.type_name}")
    return scales


def _in_rows(scheme: Scheme, codes: StoredTensor, scales: StoredTensor) -> Scheme:
    """Return a scheme with the scales that are there: one to a tensor, or to each of its rows or matrices."""
    grid = grid_of(codes.shape, scales)
    if grid.columns:
        raise fail(scales, f"must be one scale, or one to each row; got the shape {list(scales.shape)}")
    return replace(scheme, scale=scale_format(scales), grid=grid)


def _check_tiles(scales: StoredTensor, rows: int, columns: int, scheme: Scheme) -> None:
    """Raise FileError unless a weight is whole blocks, and its scales are whole tiles."""
    group = scheme.grid.columns
    shape = tiled_shape(rows, columns // group)
    if columns % group or scales.size != shape[0] * shape[1]:
        text = f"must be tiles {list(shape)}, a scale to {group} of {columns} columns"
        raise fail(scales, f"{text}; got the shape {list(scales.shape)}")


def _padding(source: Source, module: str, rows: int, multiple: int) -> int:
    """Return how many rows were added to make a multiple.

    ComfyUI has the shape of a weight from its model, which is not in the file; but a bias has one element to a row.
    """
    bias = source.tensors.get(f"{module}bias")
    return rows - bias.size if bias is not None and -(-bias.size // multiple) * multiple == rows else 0
