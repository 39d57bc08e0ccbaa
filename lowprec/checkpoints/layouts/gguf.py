"""GGUF: weights in blocks, which hold their scales, and in llama.cpp's models a factor besides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...spec.formats import FLOAT32, UINT8
from ..schemes.block_type import BlockType
from ..schemes.ggml import BLOCK_TYPES
from ..schemes.scheme import Grid, Packing, Scheme
from .output import CODES, Output
from .weight import Source, Weight, fail, grid_of, split, take

__all__ = ["METHODS", "NAME", "describe", "find", "outputs", "scheme_of"]

NAME = "GGUF"
METHODS = ()

FACTOR = "scale"
"""What stands for ``weight`` in the name of a tensor of factors: one, or one to each expert."""

UNUSED = ("input_scale",)


def scheme_of(kind: BlockType, grid: Grid | None = None) -> Scheme:
    """Return the scheme of a type of blocks; the grid is that of a factor besides."""
    return Scheme(UINT8, Packing.NONE, FLOAT32, grid or Grid(1, kind.size), blocks=kind)


def find(source: Source) -> Iterator[Weight]:
    """Yield the tensors of blocks whose values are known."""
    for codes in list(source.tensors.values()):
        kind = BLOCK_TYPES.get(codes.type_name) if codes.fmt is None else None
        if kind is None:
            continue
        module, last = split(codes.name)
        factor = next(take(source, module, FACTOR), None) if last == "weight" else None
        if factor is not None and factor.fmt != FLOAT32:
            raise fail(factor, f"must hold F32, to be factors; got {factor.type_name}")
        grid = None if factor is None else grid_of(codes.shape, factor)
        unused = tuple(take(source, module, *UNUSED)) if last == "weight" else ()
        yield Weight(codes.name, NAME, codes.shape, scheme_of(kind, grid), codes, factor, unused=unused)


def outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the tensor of blocks that a weight becomes, under its own name."""
    kind = scheme.blocks
    yield Output(CODES, name, scheme.codes, shape, blocks=kind)


def describe(scheme: Scheme, ignore: Sequence[str]) -> Mapping[str, Any]:
    """Return nothing: the file itself names the type of every tensor."""
    return {}
