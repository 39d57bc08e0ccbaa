"""`inspect`: names, formats, shapes and sizes of tensors; with `stats`, NaN, Inf, least and largest elements."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._notebook_display import aligned_table, count_text, html_block, html_lines, html_table
from ..loss.error_stats import CHUNK, ElementStats
from ..ops.codes import decode, unpack
from ..spec.scalar_arguments import as_flag, as_path
from .arguments import as_number_format
from .containers.container import Container
from .containers.registry import open_container
from .containers.tensors import StoredTensor, TensorReader
from .files.limits import Limits, parse_size
from .headline import headline
from .planning.companions import find_companions
from .progress import size_text
from .report import plain

__all__ = ["Entry", "as_text", "entry_of", "inspect", "inspect_with_headline"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One tensor of a checkpoint.

    Attributes
    ----------
    name, format, shape, nbytes : str, str, tuple of int, int
        The format is what the file calls it where it holds no numbers. Of a type of GGUF that is not known, the bytes
        up to the next tensor.
    nan, inf : int or None
        How many elements are NaN, how many infinite; None without `stats`.
    low, high : float, int or None
        The least and the largest finite element; None too where there is none.
    belongs_to : str or None
        The tensor whose codes need this one (its scales, zero points, shape), as far as names tell.
    """

    name: str
    format: str
    shape: tuple[int, ...]
    nbytes: int
    nan: int | None = None
    inf: int | None = None
    low: float | int | None = None
    high: float | int | None = None
    belongs_to: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON has for it."""
        return {name: plain(getattr(self, name)) for name in self.__slots__}

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        return Entries([self])._repr_html_()


class Entries(list[Entry]):
    """What `inspect` returns: a list that `print` and notebooks show as a table."""

    def __str__(self) -> str:
        rows = self._rows()
        return "\n".join([aligned_table(rows, right=_numbers(rows)), _total(self)])

    def _rows(self) -> list[tuple[str, ...]]:
        return _rows(self, stats=any(one.nan is not None for one in self))

    def _repr_html_(self) -> str:
        rows = self._rows()
        return html_block(html_table(rows, "tensors", right=_numbers(rows)), html_lines([_total(self)]))


def inspect(
    path: str | os.PathLike[str],
    /,
    *,
    source: object = None,
    stats: bool = False,
    follow_links: bool = False,
    max_memory: int | str = "256M",
    part: bool = False,
) -> Entries:
    """List the tensors of a checkpoint: a .safetensors, .gguf, .npy, .npz or .onnx file, or a folder of .safetensors.

    Parameters
    ----------
    path : path
        The file or folder.
    source : str, int, dtype or Format, optional
        .npy and .npz: the format of codes whose header does not name it.
    stats : bool
        Read the tensors too, chunk by chunk: count NaN and Inf, find the least and the largest element.
    follow_links : bool
        As in `convert`; only the links of files with tensors matter here.
    max_memory : int or str
        As in `convert`: how much memory the names, shapes and places of tensors may take.
    part : bool
        As in `convert`: list a part of a model without the others.

    Returns
    -------
    Entries
        A list of `Entry`, in the order of the file.

    Raises
    ------
    FileError
        If the file cannot be read or is broken.
    ValueError
        If `source` is no format of numbers, or `max_memory` no size.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.array([[0.5, -2.0]], np.float32))
    ...     [entry] = inspect(f"{folder}/x.npy", stats=True)
    >>> entry.format, entry.shape, entry.nbytes, entry.low, entry.high
    ('float32', (1, 2), 8, -2.0, 0.5)
    """
    stats = as_flag(stats, "stats")
    return _entries(_open(path, source, follow_links, max_memory, part), stats)


def inspect_with_headline(
    path: str | os.PathLike[str],
    *,
    source: object,
    stats: bool,
    follow_links: bool,
    max_memory: int | str,
    part: bool = False,
) -> tuple[Entries, str]:
    """Return what `inspect` returns, and what the checkpoint is in a line."""
    container = _open(path, source, follow_links, max_memory, part)
    return _entries(container, stats), headline(container)


def _open(
    path: str | os.PathLike[str], source: object, follow_links: bool, max_memory: int | str, part: bool
) -> Container:
    fmt = None if source is None else as_number_format(source, "source")
    limits, part = Limits(parse_size(max_memory)), as_flag(part, "part")
    return open_container(as_path(path, "path"), fmt, follow_links=follow_links, limits=limits, part=part)


def _entries(container: Container, stats: bool) -> Entries:
    reader = TensorReader()
    companions = [] if container.codes_suffix else find_companions(container.tensors)
    codes = {one.tensor.name: one.codes.name for one in companions if one.row is not None}
    try:
        listed = [entry_of(tensor, reader if stats else None) for tensor in container.tensors]
        return Entries(replace(one, belongs_to=codes[one.name]) if one.name in codes else one for one in listed)
    finally:
        reader.close()


def entry_of(tensor: StoredTensor, reader: TensorReader | None = None) -> Entry:
    """Return what a tensor is; with a reader, what its elements are too."""
    name = tensor.fmt.name if tensor.fmt else tensor.type_name
    head = (tensor.name, name, tensor.shape, tensor.location.nbytes)
    if reader is None or tensor.fmt is None:
        return Entry(*head)
    elements = _element_stats(tensor, reader)
    empty = elements.low > elements.high
    return Entry(*head, elements.nan, elements.inf, None if empty else elements.low, None if empty else elements.high)


def _element_stats(tensor: StoredTensor, reader: TensorReader) -> ElementStats:
    elements, fmt = ElementStats(), tensor.fmt
    buffer = np.empty(tensor.bytes_of(CHUNK), np.uint8)
    for start in range(0, tensor.size, CHUNK):
        n = min(CHUNK, tensor.size - start)
        content = buffer[: tensor.bytes_of(n)]
        reader.read_into(content, tensor.location, tensor.bytes_of(start))
        if fmt is None:
            break
        codes = (
            np.asarray(unpack(content, fmt, n)).view(fmt.code_dtype) if tensor.packed else content.view(fmt.code_dtype)
        )
        codes = codes.byteswap() if tensor.swapped else codes
        wide = fmt.bits >= 32 or (fmt.is_integer and fmt.bits >= 8)
        elements.count(codes.view(fmt.dtype) if wide else np.asarray(decode(codes, fmt)))
    return elements


def as_text(path: str, entries: list[Entry], headline: str, *, stats: bool) -> str:
    """Return a headline and a table for people."""
    rows = _rows(entries, stats)
    table = aligned_table(rows, right=_numbers(rows))
    return "\n".join([" ".join(f"{path}: {headline}".splitlines()), table, f"{path}: {_total(entries)}"])


def _rows(entries: list[Entry], stats: bool) -> list[tuple[str, ...]]:
    """Return the header of the table, and the cells of each tensor."""
    header = ("tensor", "format", "bytes", *(("NaN", "Inf", "min", "max") if stats else ()), "shape")
    return [header, *(_row(one, stats) for one in entries)]


def _numbers(rows: list[tuple[str, ...]]) -> range:
    """Return the columns of numbers."""
    return range(2, len(rows[0]) - 1)


def _total(entries: list[Entry]) -> str:
    """Return how many tensors there are, their bytes and formats."""
    formats = sorted({one.format for one in entries})
    return (
        f"{count_text(len(entries), 'tensor')}, {size_text(sum(one.nbytes for one in entries))}; {', '.join(formats)}"
    )


def _row(one: Entry, stats: bool) -> tuple[str, ...]:
    """Return the cells of a tensor."""
    name = one.name if one.name.isprintable() else ascii(one.name)
    counts = ["-" if n is None else str(n) for n in (one.nan, one.inf)]
    ends = ["-" if end is None else f"{end:.6g}" for end in (one.low, one.high)]
    shape = "x".join(map(str, one.shape)) or "scalar"
    belongs = "" if one.belongs_to is None else f", belongs to {one.belongs_to!a}"
    return (name, one.format, str(one.nbytes), *((*counts, *ends) if stats else ()), shape + belongs)
