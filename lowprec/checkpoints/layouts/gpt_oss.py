"""MXFP4 as gpt-oss stores it: groups of 32 FP4 codes in 16 bytes each, and one E8M0 scale to a group."""

from __future__ import annotations

from collections.abc import Iterator

from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E8M0FNU
from ..schemes.scheme import Grid, Packing, Scheme
from .weight import Source, Weight, fail, split

__all__ = ["METHODS", "NAME", "find"]

NAME = "gpt-oss MXFP4"
METHODS = ("mxfp4",)

GROUP = 32


def find(source: Source) -> Iterator[Weight]:
    """Yield ``*_blocks`` with ``*_scales`` of Hugging Face's files, and ``*.blocks`` with ``*.scales`` of OpenAI's.

    In Hugging Face's model without quantization the last two axes are exchanged; in OpenAI's they are not.
    """
    for codes in list(source.tensors.values()):
        module, last = split(codes.name)
        if last != "blocks" and not last.endswith("_blocks"):
            continue
        scales = source.tensors.get(module + last.removesuffix("blocks") + "scales")
        if scales is None or codes.type_name != "U8" or len(codes.shape) < 3 or codes.shape[-1] != GROUP // 2:
            continue
        if scales.type_name not in ("U8", "F8_E8M0") or scales.shape != codes.shape[:-1]:
            raise fail(scales, f"must be U8 {list(codes.shape[:-1])}; got {scales.type_name} {list(scales.shape)}")
        hugging_face = last != "blocks"
        name = module + last.removesuffix("_blocks") if hugging_face else module[:-1]
        shape = (*codes.shape[:-2], codes.shape[-2] * GROUP)
        scheme = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E8M0FNU, Grid(1, GROUP))
        yield Weight(name, NAME, shape, scheme, codes, scales, transposed=hugging_face and len(shape) == 3)
