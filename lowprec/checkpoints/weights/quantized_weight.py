"""A quantized weight: its tensors, checked against each other; rows of its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...ops.encode_pack import unpack
from ...spec.formats import FLOAT8_E8M0FNU, FLOAT32, Format
from ...spec.packing import group, packed_bytes
from ..containers.container import ArchiveMember, StoredTensor, TensorReader
from ..files.errors import FileError
from ..schemes import scale_grid
from ..schemes.dequantize import Parameters, dequantize
from ..schemes.packing import ROWS as TILE_ROWS
from ..schemes.packing import columns_to_rows, deinterleave, from_blocked, tiled_shape, unpack_words
from ..schemes.scale_grid import SCALE_FORMATS, Grid, GridError
from ..schemes.scheme import Packing, Scheme, WordOrder

__all__ = [
    "Source", "Weight", "WeightReader", "fail", "grid_of", "read_integers", "read_packed", "read_tensor",
    "scale_format", "shape_of_pairs", "split", "take",
]  # fmt: skip

Array = np.ndarray[Any, Any]

BLOCK = 1 << 18
"""Bytes of words that are brought into the order of rows at once."""

SMALL = 1 << 20
"""Scales of up to so many bytes are read once for a weight, larger ones with the rows that they belong to."""


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
    def nbytes(self) -> int:
        """The bytes of all of them."""
        return sum(tensor.location.nbytes for tensor in self.tensors)

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
    """Return which elements of a weight share a scale, as `scale_grid.grid_of`; raise FileError where nothing fits."""
    try:
        return scale_grid.grid_of(shape, scales.shape, block)
    except GridError as error:
        raise fail(scales, str(error)) from None


def read_tensor(reader: TensorReader, tensor: StoredTensor, first: int = 0, nbytes: int | None = None) -> Array:
    """Return bytes of a tensor as uint8, in this machine's byte order."""
    buffer = np.empty(tensor.location.nbytes if nbytes is None else nbytes, np.uint8)
    reader.read_into(buffer, tensor.location, first)
    if tensor.swapped and tensor.fmt is not None:
        buffer.view(tensor.fmt.code_dtype).byteswap(inplace=True)
    return buffer


def read_integers(reader: TensorReader, tensor: StoredTensor) -> Array:
    """Return the elements of a tensor of U8, I32 or I64."""
    return read_tensor(reader, tensor).view({"U8": np.uint8, "I32": np.int32, "I64": np.int64}[tensor.type_name])


def read_packed(reader: TensorReader, tensor: StoredTensor, fmt: Format, first: int, count: int) -> Array:
    """Return some elements of packed codes, in the dtype of their format; they are read from a whole byte on."""
    before = first % group(fmt)[0]
    content = np.empty(packed_bytes(before + count, fmt), np.uint8)
    reader.read_into(content, tensor.location, tensor.bytes_of(first - before))
    return np.asarray(unpack(content, fmt, before + count)).view(fmt.dtype)[before:]


class WeightReader:
    """Reads the values of one weight, some rows at a time.

    Parameters
    ----------
    weight : Weight
        The weight.
    reader : TensorReader
        The open files of a worker.
    """

    def __init__(self, weight: Weight, reader: TensorReader) -> None:
        self.weight, self._reader = weight, reader
        rows, self._columns = weight.scheme.grid.shape(weight.rows, weight.columns)
        if weight.scales is None:
            self._columns = 0
        elif weight.groups is not None:
            shape = weight.scales.shape
            if weight.transposed:
                rows = shape[0]
            else:
                self._columns = shape[-1] if shape else 1
        self._rows = rows
        self._check_sizes()
        self._global = self._global_scale()
        self._zeros = self._zero_points()
        self._groups = self._input_groups()
        self._scales = self._scale_rows(0, rows) if self._are_small(weight.scales) else None

    def codes(self, first: int, count: int) -> Array:
        """Return the bytes of some rows of codes; a byte to each code where packed rows end within a byte."""
        scheme, tensor = self.weight.scheme, self.weight.codes
        width = scheme.row_bytes(self.weight.columns)
        if self._unpacks:
            found = read_packed(self._reader, tensor, scheme.codes, first * width, count * width)
            return found.view(np.uint8).reshape(count, width)
        if scheme.word_order is not WordOrder.ROWS:
            return self._reordered_codes(first, count, width)
        return read_tensor(self._reader, tensor, first * width, count * width).reshape(count, width)

    @property
    def _unpacks(self) -> bool:
        return self.weight.codes.packed and self.weight.scheme.packing is Packing.NONE

    def _reordered_codes(self, first: int, count: int, width: int) -> Array:
        """Return rows of words, which are read and reordered a few at a time."""
        scheme, columns = self.weight.scheme, self.weight.columns
        by_columns = scheme.word_order is WordOrder.COLUMNS
        unit = 32 // math.gcd(32, scheme.bits) if by_columns else 1  # rows of codes in whole rows of words
        step, last = max(1, BLOCK // (unit * width)) * unit, first + count
        result = np.empty((count, width), np.uint8)
        for start in range(first // unit * unit, last, step):
            stop = min(start + step, -(-last // unit) * unit, self.weight.rows)
            content = read_tensor(self._reader, self.weight.codes, start * width, (stop - start) * width)
            words = content.view(np.uint32).reshape(-1, columns if by_columns else width // 4)
            rows = columns_to_rows(words, scheme.bits) if by_columns else deinterleave(words)
            low, high = max(start, first), min(stop, last)
            result[low - first : high - first] = rows[low - start : high - start]
        return result

    def parameters(self, first: int, count: int) -> Parameters:
        """Return the scales, and zero points, of some rows."""
        return self.shared_parameters(first, count).columns()

    def shared_parameters(self, first: int, count: int) -> Parameters:
        """Return the same, without a copy for each of the rows that share them."""
        by_row = self._groups is not None and self.weight.transposed
        if by_row and self._groups is not None:
            index = self._groups[first : first + count]
        else:
            index = self.weight.scheme.grid.indices(first, count, self.weight.rows)
        low, high = (int(index.min()), int(index.max()) + 1) if count else (0, 0)
        scales = self._scale_rows(low, high - low) if self._scales is None else self._scales[low:high]
        zeros = None if self._zeros is None else self._zeros[low:high]
        if self._groups is not None and not by_row:
            scales, zeros = scales[:, self._groups], None if zeros is None else zeros[:, self._groups]
        return Parameters(scales, zeros, self._global, index - low)

    def read(self, first: int, count: int, out: Array) -> Array:
        """Write the values of some rows to `out`, float32, float16 or bfloat16; return it."""
        return dequantize(self.weight.scheme, self.codes(first, count), self.parameters(first, count), out)

    def _check_sizes(self) -> None:
        weight = self.weight
        nbytes = (weight.rows + weight.padding) * weight.scheme.row_bytes(weight.columns)
        nbytes = packed_bytes(nbytes, weight.scheme.codes) if self._unpacks else nbytes
        if weight.codes.location.nbytes != nbytes:
            raise fail(weight.codes, f"has {weight.codes.location.nbytes} bytes; its scales say {nbytes}")
        shape = tiled_shape(self._rows, self._columns) if weight.scheme.tiles else (self._rows, self._columns)
        if (
            weight.scales is not None
            and weight.scales.location.nbytes != math.prod(shape) * weight.scheme.scale.code_dtype.itemsize
        ):
            tiles = " in tiles" if weight.scheme.tiles else ""
            raise fail(weight.scales, f"has the shape {list(weight.scales.shape)}, not {list(shape)}{tiles}")

    @staticmethod
    def _are_small(scales: StoredTensor | None) -> bool:
        """Whether scales are read once: where they are few, or can only be read from the first to the last."""
        location = None if scales is None else scales.location
        return location is not None and (isinstance(location, ArchiveMember) or location.nbytes <= SMALL)

    def _scale_rows(self, first: int, count: int) -> Array:
        """Return some rows of scales; where they are in tiles, whole tiles are read."""
        tensor, fmt = self.weight.scales, self.weight.scheme.scale
        if tensor is None:
            return np.empty((count, 0), fmt.code_dtype)
        start, stop, columns = first, first + count, self._columns
        if self.weight.scheme.tiles:
            start = first // TILE_ROWS * TILE_ROWS
            stop, columns = start + tiled_shape(stop - start, columns)[0], tiled_shape(1, columns)[1]
        size = columns * fmt.code_dtype.itemsize
        codes = read_tensor(self._reader, tensor, start * size, (stop - start) * size).view(fmt.code_dtype)
        if self.weight.scheme.tiles:
            codes = from_blocked(codes, stop - start, self._columns)[first - start :][:count]
        signed = self.weight.scheme.signed_scales and fmt.signed
        magnitudes = codes & fmt.code_dtype.type(fmt.magnitude_mask) if signed else codes
        if codes.size and magnitudes.max() > fmt.max_code:
            raise fail(tensor, f"has a scale that is NaN{' or infinite' if signed else ', infinite or negative'}")
        return codes.reshape(count, self._columns)

    def _global_scale(self) -> np.float32 | None:
        tensor = self.weight.global_scale
        if tensor is None:
            return None
        if tensor.fmt is not FLOAT32 or tensor.size != 1:
            raise fail(tensor, f"must be one F32; got {tensor.type_name} {list(tensor.shape)}")
        value = np.float32(read_tensor(self._reader, tensor).view(np.float32)[0])
        if not (math.isfinite(value) and value > 0):
            raise fail(tensor, f"must be a positive number; got {value}")
        return value

    def _zero_points(self) -> Array | None:
        """Return the zero points, one to a scale, in the type of the codes."""
        tensor, scheme = self.weight.zero_points, self.weight.scheme
        if tensor is None:
            return None
        if scheme.packing is not Packing.WORDS:
            if tensor.fmt is not scheme.codes or tensor.size != self._rows * self._columns:
                raise fail(tensor, f"must hold {self._rows * self._columns} zero points of {scheme.codes.name}")
            content = read_tensor(self._reader, tensor)
            codes = np.asarray(unpack(content, scheme.codes, tensor.size)) if tensor.packed else content
            return codes.view(scheme.codes.code_dtype).reshape(self._rows, self._columns)
        if scheme.word_order is not WordOrder.ROWS:
            return self._zero_point_rows(tensor)
        words = -(-self._rows * scheme.bits // 32)
        if tensor.type_name != "I32" or tensor.size != words * self._columns:
            raise fail(tensor, f"must be I32 {[words, self._columns]}; got {tensor.type_name} {list(tensor.shape)}")
        strings = read_tensor(self._reader, tensor).view(np.uint32).reshape(words, self._columns).T
        rows = np.ascontiguousarray(strings).view(np.uint8)
        return np.ascontiguousarray(unpack_words(rows, scheme.bits, self._rows).T)

    def _zero_point_rows(self, tensor: StoredTensor) -> Array:
        """Return zero points whose words run along rows."""
        scheme, columns = self.weight.scheme, self.weight.columns
        words = read_tensor(self._reader, tensor).view(np.uint32).reshape(self._rows, -1)
        is_interleaved = scheme.word_order is WordOrder.INTERLEAVED
        rows = deinterleave(words) if is_interleaved else words.astype("<u4", copy=False).view(np.uint8)
        zeros = unpack_words(rows, scheme.bits, columns)
        return zeros + np.uint8(scheme.zero_offset) & np.uint8((1 << scheme.bits) - 1)

    def _input_groups(self) -> Array | None:
        """Return the group of scales of each column of the weight, or of each row where it is transposed."""
        tensor = self.weight.groups
        if tensor is None:
            return None
        by_row = self.weight.transposed
        size, number = (self.weight.rows, self._rows) if by_row else (self.weight.columns, self._columns)
        if tensor.type_name != "I32" or tensor.size != size:
            raise fail(tensor, f"must be {size} I32; got {tensor.type_name} {list(tensor.shape)}")
        groups = read_integers(self._reader, tensor)
        if groups.size and not (groups.min() >= 0 and groups.max() < number):
            raise fail(tensor, f"must have groups from 0 to {number - 1}")
        return groups
