"""`save`: arrays, and quantized arrays with their scales, as a file."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays.libraries import namespace
from ..arrays.storage_dtypes import format_of
from ..ops.cast import cast
from ..ops.encode_pack import decode, pack
from ..ops.quantize import Quantized, parts_of
from ..ops.to_library import held_codes
from ..spec.formats import BFLOAT16, FLOAT32, Format, as_format
from ..spec.packing import is_packable, packed_bytes
from ..spec.scalar_arguments import as_flag, as_path, shown
from .containers.container import InMemory, OutputTensor, StoredTensor
from .containers.npy_file import arrange_npy
from .containers.npz_archive import arrange_archive
from .containers.safetensors_file import METADATA, SUFFIX, arrange_safetensors
from .containers.target_path import check_new_file
from .files.atomic_output import OutputFiles, Staging, check_space, rename_file
from .schemes.scale_grid import SCALE_SUFFIX, Grid, GridError, noted_grid
from .weights.lowprec_names import GLOBAL_SUFFIX, ZERO_SUFFIX

__all__ = ["save"]

Array = np.ndarray[Any, Any]

SUFFIXES = (SUFFIX, ".npz", ".npy")


class StoredScales(NamedTuple):
    """Scales as a file has them; `axis` and `block` are what .safetensors notes of them, as in `OutputTensor`."""

    scale: Array
    format: Format
    axis: int | None = None
    block: tuple[int, int] | None = None


def stored_scales(quantized: Quantized, notes: bool, parameter: str) -> StoredScales:
    """Return the scales of a quantized array as they are stored; `notes` says whether the file can say what they share.

    Raises ValueError, which names `parameter`, for what `open` would not read back.
    """
    q, shape = quantized, tuple(quantized.shape)
    if len(shape) != q.rank:
        raise _refused(parameter, "is several that are stacked: save each of them")
    fmt = as_format(q.scale_format)
    scale = held_codes(q.scale, fmt, parameter)
    if q.scheme == "mx" and q.format.is_integer:  # codes of MXINT8 count 64ths; bfloat16 has 64ths of powers of two
        fmt = BFLOAT16
        scale = np.asarray(cast(np.asarray(decode(scale, q.scale_format)) * np.float32(2**-6), BFLOAT16))
    stored = _readable(q, scale, fmt, notes)
    if stored is not None:
        return stored
    other = ": name a .safetensors file" if not notes and _readable(q, scale, fmt, True) else ""
    sharing = f"axis {q.axis}, block_size {q.block_size}"
    raise _refused(parameter, f"has scales that a file does not tell, {sharing} of shape {shape}{other}")


def _refused(parameter: str, why: str) -> ValueError:
    return ValueError(f"`{parameter}` must be a quantized array that `open` can read; it {why}")


def _readable(q: Quantized, scale: Array, fmt: Format, notes: bool) -> StoredScales | None:
    """Return the scales so that a reader takes them for what they are; None if there is no way."""
    is_taken = False
    for stored in _plain_ways(q, scale, fmt, notes):
        found = _grid(q, stored)
        if found is not None and _is_expected(found, q):
            return stored
        is_taken = is_taken or found is not None
    block = _block(q) if notes and not is_taken else None  # a copy that loses the note is then no other weight
    stored = StoredScales(scale, fmt, block=block)
    found = None if block is None else _grid(q, stored)
    return stored if found is not None and _is_expected(found, q) else None


def _plain_ways(q: Quantized, scale: Array, fmt: Format, notes: bool) -> Iterator[StoredScales]:
    """Yield the scales in the shapes from which readers know what shares them, or know it with a note of the axis."""
    axis = None if q.block_size else q.axis
    if scale.size == 1:
        yield StoredScales(scale.reshape(()), fmt)
    else:
        yield StoredScales(scale, fmt, axis if notes and scale.ndim == 1 and isinstance(axis, int) else None)
    if axis == 0 and len(q.shape) == 2:
        yield StoredScales(scale.reshape(-1, 1), fmt)


def _lengths(q: Quantized) -> dict[int, int]:
    """Return the block sizes by their axes; nothing where there are no blocks."""
    if not q.block_size:
        return {}
    axes: Any = q.axis if isinstance(q.axis, tuple) else (q.axis,)
    sizes: Any = q.block_size if isinstance(q.block_size, tuple) else (q.block_size,)
    return dict(zip(axes, sizes, strict=True))


def _block(q: Quantized) -> tuple[int, int] | None:
    """Return the rows and columns of a block; None where there are none, or where they lie along other axes."""
    lengths = {axis - q.rank: size for axis, size in _lengths(q).items()}
    return (lengths.get(-2, 1), lengths.get(-1, 1)) if lengths and lengths.keys() <= {-2, -1} else None


def _grid(q: Quantized, scales: StoredScales) -> Grid | None:
    """Return what a reader takes, from shapes, formats and notes, for the scale of each code; None for nothing."""
    try:
        return noted_grid(tuple(q.shape), scales.scale.shape, scales.axis, scales.block)
    except GridError:
        return None


def _is_expected(found: Grid, q: Quantized) -> bool:
    """Whether a grid has a scale to as many columns as the array, and the same rows of scales."""
    shape = tuple(q.shape)
    columns, rows = (shape[-1] if shape else 1), math.prod(shape[:-1])
    if not rows or not columns:
        return True
    width, index = _columns_and_rows(q, shape, columns, rows)
    same_columns = min(found.columns or columns, columns) == min(width, columns)
    return same_columns and np.array_equal(found.indices(0, rows, rows), index)


def _columns_and_rows(q: Quantized, shape: tuple[int, ...], columns: int, rows: int) -> tuple[int, Array]:
    """Return how many columns share a scale, and the row of scales of each row."""
    last = len(shape) - 1
    if lengths := _lengths(q):
        index: Array = np.arange(math.prod(q.scale.shape[:-1])).reshape(tuple(q.scale.shape[:-1]))
        for axis, size in lengths.items():
            if axis != last:
                index = np.repeat(index, min(size, shape[axis]), axis).take(range(shape[axis]), axis)
        return lengths.get(last, 1), index.reshape(-1)
    if not isinstance(q.axis, int):  # one scale for all
        return columns, np.zeros(rows, np.int64)
    if q.axis == last:
        return 1, np.zeros(rows, np.int64)
    return columns, np.arange(rows) // math.prod(shape[q.axis + 1 : -1]) % shape[q.axis]


@dataclass(frozen=True, slots=True)
class _Part:
    """A tensor to be written: its array, of any library, and the parameter that gave it."""

    name: str
    array: Any
    fmt: Format
    parameter: str
    axis: int | None = None
    block: tuple[int, int] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def output(self, packs: bool) -> OutputTensor:
        """Return what containers know of it."""
        n = math.prod(self.shape)
        nbytes = packed_bytes(n, self.fmt) if packs and is_packable(self.fmt) else n * self.fmt.storage_bits // 8
        origin = StoredTensor(self.name, self.shape, self.fmt, self.fmt.name, InMemory(b""))
        return OutputTensor(self.name, self.shape, self.fmt, nbytes, origin, "codes", axis=self.axis, block=self.block)

    def content(self, packs: bool) -> Array:
        """Return its bytes."""
        if isinstance(self.array, Quantized):
            codes = parts_of(self.array, self.parameter).codes
        else:
            codes = held_codes(self.array, self.fmt, self.parameter)
        if packs and is_packable(self.fmt):
            return np.asarray(pack(codes, self.fmt))
        return np.ascontiguousarray(codes).reshape(-1).view(np.uint8)


def save(
    path: str | os.PathLike[str],
    arrays: Any,
    *,
    source: object = None,
    metadata: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> None:
    """Save arrays under their names to a .safetensors, .npz or .npy file, every bit as it is.

    `open`, `inspect` and `convert` know the formats of the result. The file is written aside, and renamed when it is
    whole and on the disk.

    Parameters
    ----------
    path : path
        The file; the end of its name says which kind. Links are followed. An .npy file takes one array of a dtype that
        NumPy itself has.
    arrays : mapping of str to array or Quantized
        The arrays by name, of any library, shape and strides: bools, integers and floats of any format. Dask arrays are
        computed, one after the other; arrays on other devices are copied to the host. For .npy the array itself, or a
        mapping of one, whose name the file does not keep. What `lowprec.quantize` made becomes codes ``W`` and scales
        ``W_scale``, as ``convert(scale=...)`` names them, with zero points ``W_zero_point`` or a second scale
        ``W_global_scale`` where it has them, and `open` reads its values: one scale for all, one to each index of an
        axis, or blocks along the last axis; in .safetensors, whose metadata tell them, also blocks along the last axis
        but one, and tiles of the last two.
    source : mapping of str to format, optional
        The formats of arrays whose dtype only carries the codes (uint8, uint16, int8), by the names of the arrays; for
        one array without a name its format.
    metadata : mapping of str to str, optional
        .safetensors: texts for the header. transformers reads files with ``{"format": "pt"}``.
    overwrite : bool
        Replace an existing file, which is an error otherwise.

    Raises
    ------
    FileError
        If the file exists, or cannot be written; if the format of an array has no place in an .npy file.
    TypeError
        If `arrays` is no such mapping, or an array holds text, complex numbers, or nothing (JAX's tracers).
    ValueError
        If `path` has another end, a name cannot be written, or `source` does not go with the dtype of an array; if
        `open` could not tell which codes share a scale.

    Notes
    -----
    NaN payloads, -0 and Inf stay as they are; nothing is out of range. A .safetensors file packs codes of 2, 4 and 6
    bits; formats that it has no type for are U8 or U16 tensors, and its metadata name them. An .npz archive holds one
    code a byte, or two, where NumPy has no dtype; the comment of the member names the format. Scales of codes ``W`` are
    known by the name ``W_scale``: `open` then multiplies.

    Source: the safetensors format, and NumPy's.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import lowprec as lp
    >>> w = lp.cast(np.array([[0.3, -2.0], [1.0, 6.0]]), "float4_e2m1fn")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lp.checkpoints.save(f"{folder}/w.safetensors", {"w": w, "bias": np.zeros(2, np.float32)})
    ...     with lp.checkpoints.open(f"{folder}/w.safetensors") as checkpoint:
    ...         checkpoint.read("w"), checkpoint.info("w").nbytes
    (array([[0.5, -2],
           [1, 6]], dtype='float4_e2m1fn'), 2)
    """
    target, replace = _target(path), as_flag(overwrite, "overwrite")
    if metadata is not None and target.suffix != SUFFIX:
        raise ValueError(f"`metadata` must be None unless `path` ends in {SUFFIX}; got {shown(metadata)}")
    texts = _texts(metadata)
    parts = _parts(arrays, source, target)
    packs = target.suffix == SUFFIX
    real = check_new_file(target, replace)
    outputs = [part.output(packs) for part in parts]
    files = _arrange(outputs, target, texts)
    check_space(files, real)
    with Staging(files, real, replace, target) as staging:
        for part, slot in zip(parts, files.slots, strict=True):
            staging.write(slot, part.content(packs))
        staging.seal()
        staging.publish(rename_file)


def _target(path: object) -> Path:
    target = as_path(path, "path")
    if target.suffix not in SUFFIXES:
        raise ValueError(f"`path` must end in {', '.join(SUFFIXES)}; got {shown(str(path))}")
    return target


def _texts(metadata: object) -> dict[str, str]:
    texts = {} if metadata is None else metadata
    if not isinstance(texts, Mapping) or not all(isinstance(one, str) for pair in texts.items() for one in pair):
        raise TypeError(f"`metadata` must be a mapping of texts to texts; got {shown(metadata)}")
    return dict(texts)


def _arrange(outputs: Sequence[OutputTensor], target: Path, metadata: Mapping[str, str]) -> OutputFiles:
    if target.suffix == SUFFIX:
        return arrange_safetensors(outputs, target, metadata)
    return (arrange_archive if target.suffix == ".npz" else arrange_npy)(outputs, target)


def _parts(arrays: object, source: object, target: Path) -> list[_Part]:
    """Return what is to be written; everything is checked but the elements."""
    if not isinstance(arrays, Mapping):
        if target.suffix != ".npy":
            kind = type(arrays).__name__
            raise TypeError(f"`arrays` must be a mapping of names to arrays for {target.suffix} files; got {kind}")
        return [_part(target.stem, arrays, source, "arrays", "source")]
    if target.suffix == ".npy":
        if len(arrays) != 1:
            raise ValueError(f"`arrays` must be one array for an .npy file; got {len(arrays)}")
        if isinstance(next(iter(arrays.values())), Quantized):
            raise TypeError("`arrays` must be an array for an .npy file; got a Quantized: name an .npz file")
    formats = {} if source is None else source
    if not isinstance(formats, Mapping):
        raise TypeError(f"`source` must be a mapping of names to formats where `arrays` is one; got {shown(source)}")
    for name in formats:
        if name not in arrays:
            raise ValueError(f"`source` must have names that `arrays` has; got {shown(name)}")
    return list(_named_parts(arrays, formats, target.suffix == SUFFIX))


def _named_parts(arrays: Mapping[Any, Any], formats: Mapping[Any, object], packs: bool) -> Iterator[_Part]:
    for name, array in arrays.items():
        _check_name(name)
        place = f"[{shown(name)}]"
        if not isinstance(array, Quantized):
            yield _part(name, array, formats.get(name), f"arrays{place}", f"source{place}")
            continue
        if name in formats:
            raise ValueError(f"`source{place}` must be None for a quantized array; got {shown(formats[name])}")
        for suffix, what in ((SCALE_SUFFIX, "scales"), (ZERO_SUFFIX, "zero points"), (GLOBAL_SUFFIX, "global scale")):
            if name + suffix in arrays:
                raise ValueError(f"`arrays` must not have {shown(name + suffix)} too, the {what} of {shown(name)}")
        yield _Part(name, array, array.format, f"arrays{place}")
        found = stored_scales(array, packs, f"arrays{place}")
        yield _Part(name + SCALE_SUFFIX, found.scale, found.format, f"arrays{place}", found.axis, found.block)
        if array.zero_point is not None:
            zeros = held_codes(array.zero_point, array.format, f"arrays{place}").reshape(found.scale.shape)
            yield _Part(name + ZERO_SUFFIX, zeros, array.format, f"arrays{place}")
        if array.global_scale is not None:
            factor = held_codes(array.global_scale, FLOAT32, f"arrays{place}")
            yield _Part(name + GLOBAL_SUFFIX, factor, FLOAT32, f"arrays{place}")


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"`arrays` must have texts for names; got {shown(name)}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"`arrays` must have names that UTF-8 can write; got {ascii(name)[:80]}") from None
    if "\0" in name or name == METADATA:
        raise ValueError(f"`arrays` must have names that a file can hold; got {ascii(name)[:80]}")


def _part(name: str, array: Any, source: object, parameter: str, source_parameter: str) -> _Part:
    if isinstance(array, Quantized):
        raise TypeError(f"`{parameter}` must be an array for an .npy file; got a Quantized: name an .npz file")
    namespace(array, parameter)
    named = None if source is None else as_format(source, parameter=source_parameter)
    fmt = format_of(array.dtype, named, (parameter, source_parameter))
    if any(isinstance(length, float) for length in array.shape):
        raise ValueError(f"`{parameter}` must have known lengths; got {array.shape}: call `.compute_chunk_sizes()`")
    return _Part(name, array, fmt, parameter)
