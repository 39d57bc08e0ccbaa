"""A quantized weight: the tensors that it is stored in, recognised by their names, types and shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...spec.formats import FLOAT8_E8M0FNU, Format
from ..containers.tensors import StoredTensor
from ..element_rules import SCALE_FORMATS
from ..files.errors import FileError
from ..schemes.scheme import Grid, Scheme

__all__ = ["Source", "Weight", "fail", "grid_of", "scale_format", "shape_of_pairs", "split", "take"]


@dataclass(frozen=True, slots=True)
class Source:
    """The tensors in which weights are recognised.

    Attributes
    ----------
    tensors : dict
        Tensors by their names; those of a weight are removed when it is recognised.
    description : mapping
        The entry ``quantization_config`` of config.json; empty where there is none.
    read : callable
        Returns the elements of a small tensor of integers.
    layers : mapping
        What the metadata of the files say of single modules, by their names.
    """

    tensors: dict[str, StoredTensor]
    description: Mapping[str, Any]
    read: Callable[[StoredTensor], Any]
    layers: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Weight:
    """A quantized weight.

    Attributes
    ----------
    name : str
        The name of its values in a checkpoint that is not quantized.
    layout : str
        The layout that recognised it.
    shape : tuple of int
        Of the values, in the order of the codes.
    scheme : Scheme
        How the values follow from the codes.
    codes, scales : StoredTensor
        The tensors with the codes and the scales; None for blocks, which hold their scales, without other ones.
    global_scale, zero_points, groups : StoredTensor or None
        A second scale; zero points; the group of scales that each input has, where that is not by position: each
        column or, in a weight that is transposed, each row.
    unused : tuple of StoredTensor
        Tensors that mean nothing without the codes: scales of activations, shapes, marks.
    transposed : bool
        Whether the last two axes are exchanged where the weight is not quantized.
    padding : int
        How many rows the codes have after the last row of the weight.
    """

    name: str
    layout: str
    shape: tuple[int, ...]
    scheme: Scheme
    codes: StoredTensor
    scales: StoredTensor | None
    global_scale: StoredTensor | None = None
    zero_points: StoredTensor | None = None
    groups: StoredTensor | None = None
    unused: tuple[StoredTensor, ...] = ()
    transposed: bool = False
    padding: int = 0

    @property
    def tensors(self) -> tuple[StoredTensor, ...]:
        """All tensors that it is stored in."""
        optional = (self.scales, self.global_scale, self.zero_points, self.groups)
        return (self.codes, *(one for one in optional if one is not None), *self.unused)

    @property
    def columns(self) -> int:
        """The length of its last axis."""
        return self.shape[-1] if self.shape else 1

    @property
    def rows(self) -> int:
        """The number of rows of that length."""
        return math.prod(self.shape[:-1])

    @property
    def plain_shape(self) -> tuple[int, ...]:
        """The shape of the values where the weight is not quantized."""
        return (*self.shape[:-2], self.shape[-1], self.shape[-2]) if self.transposed else self.shape

    def part(self, name: str, first: int, count: int) -> Weight | None:
        """Return some of its rows as a weight of their own; None where blocks of scales do not end with them.

        What belongs to the weight as a whole goes with the first rows.
        """
        grid, scales, codes = self.scheme.grid, self.scales, self.codes
        optional = (self.zero_points, self.groups, self.scheme.blocks)
        if scales is None or any(one is not None for one in optional):
            return None
        if self.transposed or self.padding or self.scheme.tiles or grid.repeats:
            return None
        matrix, inside = divmod(first, grid.period or self.rows)
        height = grid.rows or max(1, grid.period or self.rows)
        if matrix != (first + count - 1) // (grid.period or self.rows) or (grid.rows and inside % height):
            return None
        row = int(grid.indices(first, 1, self.rows)[0])
        shape = -(-count // height), grid.shape(self.rows, self.columns)[1]
        width = codes.shape[-1]
        part = codes.part(name, first * width, (count, width))
        own = scales.part(scales.name, row * shape[1], shape)
        if part is None or own is None:
            return None
        scheme, unused = replace(self.scheme, grid=replace(grid, period=0)), () if first else self.unused
        return replace(
            self, name=name, shape=(count, self.columns), scheme=scheme, codes=part, scales=own, unused=unused
        )


def fail(tensor: StoredTensor, text: str) -> FileError:
    """Return an error about a tensor."""
    return FileError(f"{ascii(tensor.name)[:80]}: {text}")


def split(name: str) -> tuple[str, str]:
    """Return the module of a name, with the dot or slash that ends it, and the last part."""
    at = max(name.rfind("."), name.rfind("/")) + 1
    return name[:at], name[at:]


def take(source: Source, module: str, *names: str) -> Iterator[StoredTensor]:
    """Yield the tensors of a module with some of the names."""
    for name in names:
        if module + name in source.tensors:
            yield source.tensors[module + name]


def scale_format(scales: StoredTensor, *, exponents: bool = False) -> Format:
    """Return the format of scales; with `exponents`, U8 stands for powers of two."""
    fmt = FLOAT8_E8M0FNU if exponents and scales.type_name == "U8" else scales.fmt
    if fmt is None or not fmt.is_float:
        raise fail(scales, f"must hold floats{', or U8 exponents' * exponents}, to be scales; got {scales.type_name}")
    if fmt not in SCALE_FORMATS:
        names = ", ".join(one.name for one in SCALE_FORMATS)
        raise fail(scales, f"must hold {names}, to be scales; got {scales.type_name}")
    return fmt


def shape_of_pairs(codes: StoredTensor) -> tuple[int, ...]:
    """Return the shape of a weight whose bytes hold two codes each; raise FileError where it has no axes."""
    if not codes.shape:
        raise fail(codes, "must have axes, the last one of bytes that hold two codes; got a single byte")
    return (*codes.shape[:-1], 2 * codes.shape[-1])


def grid_of(shape: tuple[int, ...], scales: StoredTensor, block: tuple[int, int] | None = None) -> Grid:
    """Return which elements share a scale, from the shapes.

    Parameters
    ----------
    shape : tuple of int
        The weight's.
    scales : StoredTensor
        One scale; one to a row, with or without a last axis of 1; one to a block of rows and columns; each of these for
        every index of the first axis where the weight has three.
    block : tuple of int, optional
        The rows and columns of a block, if the checkpoint names them; scales of as many axes as the weight must fit.

    Raises
    ------
    FileError
        If the shape of the scales fits none of these.
    """
    lengths = scales.shape
    *experts, rows, columns = (*(1,) * (2 - len(shape)), *shape)
    in_blocks = len(lengths) == len(shape) >= 2 and lengths[:-2] == shape[:-2]
    if block and in_blocks:
        blocks = [block]
    elif math.prod(lengths) == 1:
        return Grid(0, 0)
    elif experts and lengths in [(*experts, *(1,) * n) for n in range(3)]:
        return Grid(0, 0, rows)
    elif columns > 1 and lengths in [(*experts, rows), (*experts, rows, 1)]:
        return Grid(1, 0, rows)
    else:
        blocks = [(1, _width(columns, lengths[-1])), (128, 128), (64, 64), (256, 256)] if in_blocks else []
    for height, width in blocks:
        if width and (-(-rows // height), -(-columns // width)) == lengths[-2:]:
            return Grid(height, width, rows)
    blocked = f" in blocks of {block[0]} x {block[1]}" if block else ""
    raise fail(scales, f"has the shape {list(lengths)}, which fits no weight of shape {list(shape)}{blocked}")


def _width(columns: int, count: int) -> int:
    """Return how many columns share a scale where a row has `count` scales; 0 if no length fits."""
    if count and columns % count == 0:
        return columns // count
    return next((width for width in (16, 32, 64, 128) if -(-columns // width) == count), 0)
