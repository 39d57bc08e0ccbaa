"""GGUF: weights in blocks, which hold their scales, and in llama.cpp's models a factor; types without values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..._notebook_display import count_text
from ...spec.formats import FLOAT32, UINT8
from ..containers.container import Container
from ..containers.gguf_file import GgufFile
from ..containers.gguf_types import UNKNOWN
from ..containers.tensors import StoredTensor
from ..files.errors import FileError
from ..schemes.block_type import BlockType
from ..schemes.ggml import BLOCK_TYPES
from ..schemes.scheme import Grid, Packing, Scheme
from .output import CODES, Output
from .weight import Source, Weight, fail, grid_of, split, take

__all__ = [
    "METHODS", "NAME", "check_types", "describe", "find", "outputs", "scheme_of", "types_text", "types_without_values",
]  # fmt: skip

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


def types_without_values(container: Container) -> dict[str, list[StoredTensor]]:
    """Return the tensors of a .gguf file whose values are not known, by the names of their types."""
    found: dict[str, list[StoredTensor]] = {}
    if isinstance(container, GgufFile):
        for one in container.tensors:
            if one.fmt is None and one.type_name not in BLOCK_TYPES:
                found.setdefault(one.type_name, []).append(one)
    return found


def types_text(found: Mapping[str, Sequence[StoredTensor]]) -> str:
    """Return types and how many tensors have them: ``IQ3_S (20 tensors) and unknown type 42 (1 tensor)``."""
    return " and ".join(f"{name} ({count_text(len(tensors), 'tensor')})" for name, tensors in found.items())


def check_types(container: Container, *, copied: bool) -> None:
    """Raise FileError for tensors whose values are not known; if `copied`, for those that cannot be copied either."""
    found = types_without_values(container)
    unknown = {name: tensors for name, tensors in found.items() if name.startswith(UNKNOWN)}
    if not (unknown if copied else found):
        return
    (first, *_), *_ = (unknown or found).values()
    if unknown:
        text = "can neither read nor copy; a llama-quantize that knows them makes BF16 of them with --allow-requantize"
    else:
        text = "can copy but not read; llama-quantize --allow-requantize makes BF16 of them, recipes for GGUF copy them"
    types = f"{types_text(unknown or found)}, such as {ascii(first.name)[:80]}"
    raise FileError(f"{container.path}: has {types}, which lowprec {text}")
