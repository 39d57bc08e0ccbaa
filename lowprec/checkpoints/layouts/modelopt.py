"""ModelOpt: FP8 with a scale to a tensor, a row or a block, NVFP4 with two levels of scales, MXFP8."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E4M3FNUZ
from ..containers.tensors import StoredTensor
from ..schemes.scheme import GlobalScale, Grid, Packing, Scheme
from .described_values import wrong_value
from .weight import Source, Weight, fail, grid_of, scale_format, shape_of_pairs, split, take

__all__ = ["METHODS", "NAME", "find"]

NAME = "ModelOpt"
METHODS = ("modelopt", "modelopt_fp4", "modelopt_mxfp8", "modelopt_mixed")

BLOCK = (128, 128)
"""The rows and columns of a block (FP8_PB_WO); its scales have four axes, [rows / 128, 1, columns / 128, 1]."""


def find(source: Source) -> Iterator[Weight]:
    """Yield ``P.weight`` with ``P.weight_scale`` and, for NVFP4, ``P.weight_scale_2``."""
    for codes in list(source.tensors.values()):
        module, last = split(codes.name)
        scales, second = source.tensors.get(f"{module}{last}_scale"), source.tensors.get(f"{module}{last}_scale_2")
        if scales is None or (second is None and not source.description) or f"{module}comfy_quant" in source.tensors:
            continue
        if f"{module}pre_quant_scale" in source.tensors:
            raise fail(source.tensors[f"{module}pre_quant_scale"], "is a scale of columns, which is not supported")
        size = source.description.get("group_size")
        if size is not None and (type(size) is not int or size < 0):
            raise wrong_value("group_size", "an integer from 0 on", size)
        unused = tuple(take(source, module, "input_scale"))
        if second is not None and codes.type_name == "U8":
            shape = shape_of_pairs(codes)
            if scales.type_name != "F8_E4M3":
                raise fail(scales, f"must be F8_E4M3 where there is a {last}_scale_2; got {scales.type_name}")
            grid = grid_of(shape, scales)
            scheme = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E4M3FN, grid, GlobalScale.FACTOR)
            yield Weight(codes.name, NAME, shape, scheme, codes, scales, second, unused=unused)
        elif second is None and codes.fmt in (FLOAT8_E4M3FN, FLOAT8_E4M3FNUZ):
            fmt = scale_format(scales, exponents=True)
            scheme = Scheme(codes.fmt, Packing.NONE, fmt, _grid(codes, scales))
            yield Weight(codes.name, NAME, codes.shape, scheme, codes, scales, unused=unused)


def _grid(codes: StoredTensor, scales: StoredTensor) -> Grid:
    """Return which elements of FP8 share a scale."""
    lengths = scales.shape
    if len(codes.shape) == 2 and len(lengths) == 4 and lengths[1::2] == (1, 1):
        return grid_of(codes.shape, replace(scales, shape=lengths[::2]), BLOCK)
    return grid_of(codes.shape, scales)
