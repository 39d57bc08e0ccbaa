"""`open`: a checkpoint as a mapping from names to arrays, read when asked for."""

from __future__ import annotations

import difflib
import math
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from ..ops.cast import cast
from ..ops.to_library import to_torch
from ..spec.custom_formats import why_not_converted
from ..spec.formats import BFLOAT16, FLOAT32, Format, as_format, is_in_table, own_dtype
from ..spec.old_names import renamed
from ..spec.scalar_arguments import as_flag, as_path
from .containers.container import Container, StoredTensor, TensorReader
from .containers.registry import open_container
from .convert_arguments import as_number_format
from .files.errors import FileError
from .inference_engines import VALUES, quantized_weights
from .inspection import TensorInfo, contents_text, info_of
from .memory_limit import Limits, parse_size
from .weights.companion_tensors import check_part, find_companions, find_tool
from .weights.quantized_weight import Weight, WeightReader, fail, read_packed

__all__ = ["Checkpoint", "open"]

Array = np.ndarray[Any, Any]

CHUNK = 1 << 21
"""Elements that are read at once where they do not go straight into the result."""

_MOST_AXES = 64
_MOST_ELEMENTS = np.iinfo(np.intp).max // 16
"""NumPy counts the bytes of an array with axes of length 0 taken for 1; the widest elements have 16."""

LibraryName = Literal["numpy", "torch"]
"""Whose arrays a checkpoint is read into."""

_One = TypeVar("_One", bound=StoredTensor | Weight)

LIBRARIES: tuple[LibraryName, ...] = get_args(LibraryName)


def check_shape(one: StoredTensor | Weight, shape: tuple[int, ...]) -> None:
    """Raise FileError for a shape that NumPy has not: with more axes, or, without elements, with too long ones."""
    if len(shape) > _MOST_AXES or math.prod(length for length in shape if length) > _MOST_ELEMENTS:
        tensor = one if isinstance(one, StoredTensor) else one.codes
        raise fail(tensor, f"has the shape {str(list(shape))[:200]}, which no array can have")


def values_format(tensor: StoredTensor, wanted: Format | None) -> Format | None:
    """Return the format in which the values of a tensor are read, None for its own: codes of others are no values.

    Those of a described format for which ml_dtypes has no dtype are read as float32. Raises FileError where float32
    does not hold them.
    """
    fmt = tensor.fmt
    if fmt is None or is_in_table(fmt):
        return wanted
    if problem := why_not_converted(fmt):
        raise fail(tensor, f"holds codes of {fmt.name}, {problem} (raw=True reads the codes)")
    return FLOAT32 if wanted is None and own_dtype(fmt) is None else wanted


def read_plain(tensor: StoredTensor, reader: TensorReader, rows: range | None, to: Format | None) -> Array:
    """Return a tensor, or rows of it, in its own format or, where `to` is given, cast to that.

    Only the bytes of these rows are read, unless the file has the axes the other way round.
    """
    fmt = tensor.fmt
    if fmt is None:
        raise fail(tensor, f"holds no numbers that can be read ({tensor.fixed or tensor.type_name})")
    result = fmt if to is None else to
    if rows is None or tensor.fortran:
        flat = _elements(tensor, fmt, reader, range(tensor.size), result)
        whole = flat.reshape(tensor.shape[::-1]).T if tensor.fortran else flat.reshape(tensor.shape)
        return whole if rows is None else whole[rows.start : rows.stop].copy()
    width = math.prod(tensor.shape[1:])
    flat = _elements(tensor, fmt, reader, range(rows.start * width, rows.stop * width), result)
    return flat.reshape(len(rows), *tensor.shape[1:])


def _elements(tensor: StoredTensor, fmt: Format, reader: TensorReader, which: range, to: Format) -> Array:
    """Return some elements, numbered in the order of the file."""
    out = np.empty(len(which), to.dtype)
    if to is fmt and not tensor.packed:
        reader.read_into(out.view(np.uint8), tensor.location, tensor.bytes_of(which.start))
        if tensor.swapped:
            out.view(fmt.code_dtype).byteswap(inplace=True)
        return out
    for start in range(0, len(which), CHUNK):
        end = min(start + CHUNK, len(which))
        values = _chunk(tensor, fmt, reader, which.start + start, end - start)
        out[start:end] = values if to is fmt else cast(values, to, source=fmt)
    return out


def _chunk(tensor: StoredTensor, fmt: Format, reader: TensorReader, first: int, count: int) -> Array:
    """Return some elements in their own format."""
    if tensor.packed:
        return read_packed(reader, tensor, fmt, first, count)
    content = np.empty(tensor.bytes_of(count), np.uint8)
    reader.read_into(content, tensor.location, tensor.bytes_of(first))
    codes = content.view(fmt.code_dtype)
    return (codes.byteswap() if tensor.swapped else codes).view(fmt.dtype)


def read_values(weight: WeightReader, rows: range | None, to: Format) -> Array:
    """Return the values of a quantized weight, or of the given part of its first axis, in a format of floats."""
    stored = weight.weight
    shape = stored.plain_shape
    if len(stored.shape) < 2:
        out = np.empty(shape, to.dtype)
        if out.size:
            weight.read(0, 1, out.reshape(1, stored.columns))
        return out if rows is None else out[rows.start : rows.stop].copy()
    rows = range(shape[0]) if rows is None else rows
    out = np.empty((len(rows), *shape[1:]), to.dtype)
    if not out.size:
        return out
    inner = math.prod(stored.shape[1:-1])
    first, count, columns = rows.start * inner, len(rows) * inner, stored.columns
    step = max(1, CHUNK // max(1, columns))
    if not stored.transposed:
        flat = out.reshape(count, columns)
        for start in range(0, count, step):
            end = min(start + step, count)
            weight.read(first + start, end - start, flat[start:end])
        return out
    some = slice(None)
    if len(shape) == 2:  # one matrix, whose columns are asked for
        first, some = 0, slice(rows.start, rows.stop)
    matrices = out.reshape(-1, *out.shape[-2:])
    height = stored.shape[-2]
    buffer = np.empty((min(step, height), columns), to.dtype)
    for index, matrix in enumerate(matrices):
        for start in range(0, height, step):
            end = min(start + step, height)
            values = weight.read(first + index * height + start, end - start, buffer[: end - start])
            matrix[:, start:end] = values[:, some].T
    return out


class Checkpoint(Mapping[str, Array]):
    """The tensors of a checkpoint by the names of their values; made by `lowprec.checkpoints.open`.

    It is a read-only mapping: ``checkpoint[name]`` reads a tensor, or dequantizes a weight, anew each time. Threads can
    share it; they read in turn. It is a context manager that closes its files at the end.
    """

    def __init__(self, container: Container) -> None:
        self._container, self._reader, self._lock = container, TensorReader(), threading.Lock()
        try:
            weights = [] if container.codes_suffix else quantized_weights(container)
        except FileError as error:
            raise self._named(error) from None
        self._weights = weights
        self._parts = {part.name: weight for weight in weights for part in weight.tensors}
        by_codes = {weight.codes.name: weight for weight in weights}
        self._tensors: dict[str, StoredTensor | Weight] = {}
        self._stored: dict[str, StoredTensor] = {}
        for tensor in container.tensors:
            self._add(self._stored, tensor, tensor)
            one = by_codes.get(tensor.name) or (None if tensor.name in self._parts else tensor)
            if one is not None:
                self._add(self._tensors, one, tensor)
        self._companions: dict[str, str] | None = None
        self._last: WeightReader | None = None
        self._closed = False

    def _add(self, names: dict[str, _One], one: _One, tensor: StoredTensor) -> None:
        """Enter a tensor by its name; those inside nodes of ONNX models have none that means anything."""
        if one.name not in names:
            names[one.name] = one
        elif not tensor.fixed:
            raise FileError(f"{self.path}: has two tensors for the name {ascii(one.name)[:80]}")

    @property
    def path(self) -> Path:
        """The file or folder."""
        return self._container.path

    def __len__(self) -> int:
        return len(self._tensors)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __getitem__(self, name: str) -> Array:
        return np.asarray(self.read(name))

    def __repr__(self) -> str:
        text = contents_text(self._container, self._weights)
        quantized = f", {len(self._weights)} of them quantized" if self._weights else ""
        closed = "; closed" if self._closed else ""
        return f"<Checkpoint {str(self.path)!r}: {text}; {len(self)} tensors{quantized}{closed}>"

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; reading is a ValueError then."""
        with self._lock:
            self._closed, self._last = True, None
            self._reader.close()

    def info(self, name: str) -> TensorInfo:
        """Return what is known of a tensor without reading it.

        Parameters
        ----------
        name : str
            A name of the mapping.

        Returns
        -------
        TensorInfo
            Shape, format and size; for a quantized weight its layout, codes and scales.

        Raises
        ------
        KeyError
            If there is no tensor of that name.
        """
        return info_of(self._find(name))

    @renamed(dtype="to")
    def read(
        self,
        name: str,
        *,
        to: object = None,
        rows: slice | None = None,
        library: LibraryName = "numpy",
        raw: bool = False,
    ) -> Any:
        """Return a tensor, or some of its rows, as a new array.

        The weights of known layouts are codes times scales, rounded to float32 and once more to `to`, as `convert`
        has them: NaN codes become NaN, -0 stays -0, products out of range become Inf. Other tensors are as they are,
        bit for bit, or cast as `lowprec.cast` does.

        Parameters
        ----------
        name : str
            A name of the mapping.
        to : str, int, dtype or Format, optional
            bfloat16, float16 or float32. The default is bfloat16 for quantized weights, the type of models, and for
            other tensors their own. Integers and bools stay what they are.
        rows : slice, optional
            Which indices of the first axis, without a step. Only the bytes of these rows, and their scales, are read;
            .npy arrays in Fortran order are read whole.
        library : {"numpy", "torch"}
            Whose array is returned, with NumPy's own dtype or ml_dtypes', or with torch's.
        raw : bool
            Return a stored tensor of the name `name` as it is in the file: codes without their scales, or scales.

        Returns
        -------
        numpy.ndarray or torch.Tensor
            An array with memory of its own.

        Raises
        ------
        KeyError
            If there is no tensor of that name.
        FileError
            If the tensor cannot be read, its scales are NaN, infinite or, where they cannot be, negative, or it has
            codes whose scales are in a layout that is not known.
        TypeError, ValueError
            If a parameter is out of its range, or the checkpoint is closed.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> import lowprec as lp
        >>> folder = tempfile.TemporaryDirectory()
        >>> np.savez(folder.name + "/x.npz", w=np.int8([[1, -2, 0], [3, 4, 5]]), w_scale=np.float32([0.5, 2]))
        >>> with lp.checkpoints.open(folder.name + "/x.npz") as checkpoint:
        ...     checkpoint.read("w", rows=slice(1, 2), to="float32")
        array([[ 6.,  8., 10.]], dtype=float32)
        >>> folder.cleanup()
        """
        target = None if to is None else as_format(to, parameter="to")
        if target is not None and target not in VALUES:
            raise ValueError(f"`to` must be {', '.join(fmt.name for fmt in VALUES)} or None; got {to!r}")
        if library not in LIBRARIES:
            raise ValueError(f"`library` must be one of {', '.join(LIBRARIES)}; got {library!r}")
        one = self._find_stored(name) if raw else self._find(name)
        shape = one.plain_shape if isinstance(one, Weight) else one.shape
        wanted = None if rows is None else _rows(rows, shape)
        if isinstance(one, StoredTensor) and not raw:
            self._check_scaled(one)
        with self._lock:
            if self._closed:
                raise ValueError(f"the checkpoint {str(self.path)!r} is closed")
            array = self._array(one, wanted, target, raw)
        return to_torch(array) if library == "torch" else array

    def _array(self, one: StoredTensor | Weight, rows: range | None, to: Format | None, raw: bool) -> Array:
        try:
            check_shape(one, one.plain_shape if isinstance(one, Weight) else one.shape)
            if isinstance(one, Weight):
                if self._last is None or self._last.weight is not one:
                    self._last = WeightReader(one, self._reader)
                return read_values(self._last, rows, to or BFLOAT16)
            to = to if raw else values_format(one, to)
            is_float = one.fmt is not None and one.fmt.is_float
            return read_plain(one, self._reader, rows, to if is_float and to is not one.fmt else None)
        except FileError as error:
            raise self._named(error) from None

    def _named(self, error: FileError) -> FileError:
        """Return an error that names the checkpoint."""
        text = str(error)
        return FileError(text if str(self.path) in text else f"{self.path}: {text}")

    def _find(self, name: str) -> StoredTensor | Weight:
        one = self._tensors.get(name)
        if one is not None:
            return one
        weight = self._parts.get(name)
        if weight is not None:
            what = "codes" if name == weight.codes.name else "what it is stored with"
            raise KeyError(
                f"{ascii(name)[:80]} is a part of {ascii(weight.name)[:80]} ({what}); read(..., raw=True) has it"
            )
        raise KeyError(f"{self.path}: has no tensor {ascii(name)[:80]}{self._hint(name, list(self._tensors))}")

    def _find_stored(self, name: str) -> StoredTensor:
        one = self._stored.get(name)
        if one is not None:
            return one
        weight = self._tensors.get(name)
        if isinstance(weight, Weight):
            names = ", ".join(ascii(part.name)[:80] for part in weight.tensors)
            raise KeyError(f"{self.path}: has {ascii(name)[:80]} as {names}, which are what raw=True reads")
        raise KeyError(f"{self.path}: has no tensor {ascii(name)[:80]}{self._hint(name, list(self._stored))}")

    @staticmethod
    def _hint(name: object, names: list[str]) -> str:
        """Return which of the names may be meant."""
        if not isinstance(name, str):
            return f"; names are texts, not {type(name).__name__}"
        close = [one for one in names if name and (one.endswith(f".{name}") or one.startswith(f"{name}."))]
        if not close and len(names) <= 4096:
            close = difflib.get_close_matches(name, names, 3)
        return f"; did you mean {' or '.join(ascii(one)[:80] for one in close[:3])}?" if close else ""

    def _other_files(self, tensor: StoredTensor) -> str:
        """Return what to open for codes that config.json, next to a file, describes: those of AWQ and GPTQ."""
        if self.path.suffix != ".safetensors" or not tensor.name.endswith("qweight"):
            return ""
        return "; open the folder, whose config.json describes it"

    def _check_scaled(self, tensor: StoredTensor) -> None:
        """Raise FileError for codes that have scales, or may have, which would not be applied."""
        if self._companions is None:
            others = [one for one in self._container.tensors if one.name not in self._parts]
            found = [] if self._container.codes_suffix else find_companions(others)
            self._companions = {one.codes.name: one.text() for one in reversed(found)}
        text = self._companions.get(tensor.name)
        if text is not None:
            tool = find_tool(self._container)
            fault = tool.text() if tool else f"{text}; it would not be applied{self._other_files(tensor)}"
            raise FileError(f"{self.path}: {fault} (raw=True reads the codes all the same)")
        try:
            check_part(self._container, [tensor], " (raw=True reads the codes)")
        except FileError as error:
            raise self._named(error) from None


def _rows(rows: slice, shape: tuple[int, ...]) -> range:
    """Return the indices of the first axis that a slice means."""
    if not isinstance(rows, slice):
        raise TypeError(f"`rows` must be a slice; got {type(rows).__name__}")
    if not shape:
        raise ValueError("`rows` must be None for a tensor without axes")
    if rows.step not in (None, 1):
        raise ValueError(f"`rows` must be a slice without a step; got {rows}")
    start, stop, _ = rows.indices(shape[0])
    return range(start, max(start, stop))


def open(
    path: str | os.PathLike[str],
    /,
    *,
    source: object = None,
    follow_links: bool = False,
    max_memory: int | str = "256M",
    part: bool = False,
) -> Checkpoint:
    """Open a checkpoint as a mapping from names to arrays: quantized weights as their values, all else as it is.

    Only headers are read; ``checkpoint[name]`` then reads one tensor. A quantized weight in a layout that `convert`
    dequantizes is one entry, under the name that it has in a model without quantization, and its value is codes times
    scales in bfloat16, the type of models; `Checkpoint.read` returns float16 and float32, some rows, torch tensors, and
    the codes as they are. Formats that NumPy lacks have the dtypes of ml_dtypes; codes of described formats, which have
    none, are read as float32, which holds their values.

    Parameters
    ----------
    path : path
        A .safetensors, .gguf, .npy, .npz or .onnx file, or a folder with .safetensors, with or without an index.
    source : str, int, dtype or Format, optional
        .npy and .npz: the format of codes whose header does not name it.
    follow_links, max_memory : bool, int or str
        As in `convert`; the memory is that of names, shapes and places, and not that of arrays.
    part : bool
        As in `convert`: open a part of a model without the others.

    Returns
    -------
    Checkpoint
        A read-only mapping, and a context manager that closes the files.

    Raises
    ------
    FileError
        If the file cannot be read or is broken, or the tensors of a quantized weight do not fit each other.
    ValueError
        If `source` is no format of numbers, or `max_memory` no size.

    Notes
    -----
    A tensor is read when it is asked for, and not kept. NaN codes become NaN, -0 stays -0, products beyond the largest
    value become Inf. Codes whose scales are in an unknown layout are a FileError, and not numbers without their scale.
    Source: the layouts' own tools, as docs/checkpoints/layouts_read.md names them.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import lowprec as lp
    >>> folder = tempfile.TemporaryDirectory()
    >>> w, w_scale = np.int8([[1, -2, 0], [3, 4, 5]]), np.float32([0.5, 2])
    >>> np.savez(folder.name + "/x.npz", w=w, w_scale=w_scale, n=np.arange(3))
    >>> checkpoint = lp.checkpoints.open(folder.name + "/x.npz")
    >>> list(checkpoint), "w_scale" in checkpoint
    (['w', 'n'], False)
    >>> checkpoint["w"]
    array([[0.5, -1, 0],
           [6, 8, 10]], dtype=bfloat16)
    >>> checkpoint.info("w").scheme
    'int8, a float32 scale to a row'
    >>> checkpoint.close()
    >>> folder.cleanup()
    """
    fmt = None if source is None else as_number_format(source, "source")
    limits, part = Limits(parse_size(max_memory)), as_flag(part, "part")
    return Checkpoint(open_container(as_path(path, "path"), fmt, follow_links=follow_links, limits=limits, part=part))
