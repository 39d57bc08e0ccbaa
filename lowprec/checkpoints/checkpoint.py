"""`open`: a checkpoint as a mapping from the names of its tensors to their values, which are read when asked for."""

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from ..ops.interchange import to_torch
from ..spec.formats import BFLOAT16, Format, as_format
from ..spec.old_names import renamed
from ..spec.scalar_arguments import as_flag, as_path
from .arguments import as_number_format
from .containers.container import Container
from .containers.registry import open_container
from .containers.tensors import StoredTensor, TensorReader
from .files.errors import FileError
from .files.limits import Limits, parse_size
from .headline import contents_text
from .layouts.weight import Weight
from .layouts.weight_reader import WeightReader
from .planning.companions import check_part, find_companions
from .planning.foreign_tools import find_tool
from .planning.quantized_weights import VALUES, quantized_weights
from .tensor_info import TensorInfo, info_of
from .value_reader import check_shape, read_plain, read_values, values_format

__all__ = ["Checkpoint", "LibraryName", "open"]

LibraryName = Literal["numpy", "torch"]
"""Whose arrays a checkpoint is read into."""

Array = np.ndarray[Any, Any]

_One = TypeVar("_One", bound=StoredTensor | Weight)

LIBRARIES: tuple[LibraryName, ...] = get_args(LibraryName)


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
    Source: the layouts' own tools, as docs/checkpoints/layouts.md names them.

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
