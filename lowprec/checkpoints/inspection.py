"""`inspect`: the tensors of a checkpoint and their statistics, and what it is in a line."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._notebook_display import aligned_table, count_text, facts_html, html_block, html_lines, html_table
from ..loss.error_stats import CHUNK, ElementStats
from ..ops.encode_pack import decode, unpack
from ..spec.formats import BFLOAT16
from ..spec.operator_versions import NEWEST
from ..spec.scalar_arguments import as_flag, as_path
from .containers.container import Container, StoredTensor, TensorReader
from .containers.gguf_file import UNKNOWN, GgufFile
from .containers.model_config import is_adapter, quantization_of
from .containers.registry import open_container
from .conversion_report import plain
from .convert_arguments import as_number_format
from .files.errors import FileError
from .inference_engines import deepseek_fp8, gguf, quantized_weights
from .memory_limit import Limits, parse_size
from .operations.dequantize import Dequantize
from .planning.plan_for_format import ToFormat
from .progress import size_text
from .schemes.cast import ElementRules
from .schemes.scheme import Scheme, scheme_name, scheme_text
from .weights.companion_tensors import find_companions, find_tool
from .weights.quantized_weight import Weight

__all__ = [
    "Entry", "TensorInfo", "as_text", "contents_text", "grouped_scheme", "info_of", "inspect",
    "inspect_with_headline", "kind_text",
]  # fmt: skip

SMALL = 0.02
"""The share of all bytes below which the format of plain tensors is not named."""

_TO_BFLOAT16 = ToFormat(ElementRules(BFLOAT16, True, None, NEWEST))

_FAMILIES = (
    (re.compile(r"_scales?_inv$"), "DeepSeek"), (re.compile(r"\.scale$"), "DeepSeek V4"),
    (re.compile(r"qscale_weight$"), "Mistral"), (re.compile(r"scale_weight$"), "ComfyUI"),
)  # fmt: skip
"""Whose layout it is, of those that share a module, by the names of scales."""

_LAYER = re.compile(r"^(|.*?[./])([A-Za-z_]\w*)[./](\d+)[./]")
"""The first number in a name, what it numbers, and what is before that."""


def kind_text(weight: Weight) -> str:
    """Return the layout of a weight and its scheme: DeepSeek block FP8 128x128, ModelOpt NVFP4, gpt-oss MXFP4."""
    scheme, layout = scheme_name(grouped_scheme(weight)), weight.layout
    if layout == deepseek_fp8.NAME and weight.scales is not None:
        layout = next((family for name, family in _FAMILIES if name.search(weight.scales.name)), layout)
    words = [word for word in layout.split() if word not in scheme.split()]
    return " ".join([*words, scheme])


def grouped_scheme(weight: Weight) -> Scheme:
    """Return the scheme of a weight; where a group is as long as the rows of this one, with that length."""
    scheme = weight.scheme
    narrow = scheme.bits in range(1, 8) or scheme.codes.bits < 8 or not scheme.scale.has_zero
    if narrow and (scheme.grid.rows, scheme.grid.columns) == (1, 0):
        return replace(scheme, grid=replace(scheme.grid, columns=weight.columns))
    return scheme


def _kinds(container: Container, weights: Sequence[Weight], method: str) -> str:
    """Return what most of the bytes are: of GGUF, whose tensors have a type each, types without values too."""
    nbytes: Counter[str] = Counter()
    plain = {one.name: one for one in container.tensors}
    total = sum(one.location.nbytes for one in container.tensors)
    for weight in weights:
        for part in weight.tensors:
            nbytes[kind_text(weight)] += part.location.nbytes
            plain.pop(part.name, None)
    for name, found in gguf.types_without_values(container).items():
        for one in found:
            nbytes[f"{gguf.NAME} {name}"] += plain.pop(one.name).location.nbytes
    others: Counter[str] = Counter()
    for one in plain.values():
        others[one.fmt.name if one.fmt else one.type_name] += one.location.nbytes
    if nbytes:
        most = {name: n for name, n in others.items() if 2 * n >= total} if isinstance(container, GgufFile) else {}
        return " and ".join(name for name, _ in (nbytes + Counter(most)).most_common())
    nbytes = others
    formats = " and ".join(name for name, n in nbytes.most_common() if n >= SMALL * total) or "no tensors"
    return f"{method}, in {formats}" if method else formats


def _layers(tensors: Sequence[StoredTensor]) -> str:
    """Return how many layers there are, those of each stack that has a tenth of all bytes."""
    numbers: dict[tuple[str, str], set[str]] = defaultdict(set)
    nbytes: Counter[tuple[str, str]] = Counter()
    for one in tensors:
        match = _LAYER.match(one.name)
        if match:
            numbers[match[1], match[2]].add(match[3])
            nbytes[match[1], match[2]] += one.location.nbytes
    stacks = [stack for stack, n in nbytes.most_common() if 10 * n >= nbytes.total()]
    texts = []
    for stack in stacks:
        n = len(numbers[stack])
        name = "layers" if len(stacks) == 1 else stack[1]
        texts.append(f"{n} {name.removesuffix('s') if n == 1 else name}")
    return "".join(f", {text}" for text in texts)


def _size(nbytes: int) -> str:
    """Return a number of bytes in three digits."""
    size, units = float(nbytes), ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 999.5 and len(units) > 1:
        size, units = size / 1024, units[1:]
    text = f"{size:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {units[0]}"


def contents_text(container: Container, weights: Sequence[Weight], method: str = "") -> str:
    """Return what the tensors of a container are, how many layers they make, and their bytes."""
    nbytes = sum(one.location.nbytes for one in container.tensors)
    files = container.file_count if isinstance(container, GgufFile) else 1
    place = f", {container.part}" if container.part else f", {files} files" if files > 1 else ""
    return f"{_kinds(container, weights, method)}{_layers(container.tensors)}{place}: {_size(nbytes)}"


def headline(container: Container) -> str:
    """Return what a container holds in a line, and, if it is quantized, how many bytes it takes in bfloat16.

    A checkpoint that cannot be dequantized is no error; the line says why.
    """
    method, why = "", ""
    weights: list[Weight] = []
    nbytes = 0
    try:
        described = quantization_of(container)
        method = str(described.get("quant_method", "quantized"))[:40] if described else ""
        method = method or ("an adapter (LoRA)" if is_adapter(container) else "")
        unread = gguf.types_without_values(container)
        if unread:
            weights, why = quantized_weights(container), _why_unread(unread)
        elif not container.codes_suffix:
            plan = _TO_BFLOAT16.plan(container)
            nbytes = sum(one.nbytes for one in plan.outputs)
            weights = [one.operation.weight for one in plan.tensor_plans if isinstance(one.operation, Dequantize)]
    except (FileError, ValueError) as error:
        why, weights = _why_not(container, str(error))
    text = contents_text(container, weights, method)
    if why:
        return f"{text}; cannot be dequantized: {why}"
    return f"{text}; to {BFLOAT16.name} {_size(nbytes)}" if weights else text


def _why_unread(unread: Mapping[str, Sequence[StoredTensor]]) -> str:
    """Return which types have no values, and what can be done with them."""
    copied = "" if any(name.startswith(UNKNOWN) for name in unread) else "; a recipe copies them"
    return f"no values are known of {gguf.types_text(unread)}{copied}"


def _why_not(container: Container, error: str) -> tuple[str, list[Weight]]:
    """Return why a container cannot be dequantized though it is quantized, or nothing, and its quantized weights."""
    try:
        weights = quantized_weights(container)
        known = quantization_of(container) or any(one.row is not None for one in find_companions(container.tensors))
    except FileError as fault:
        return str(fault), []
    if weights:
        return error, weights
    tool = find_tool(container) if known else None
    return f"it {tool.text()}" if tool else "its layout is not known" if known else "", weights


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


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """What is known of a tensor of a checkpoint before it is read.

    Attributes
    ----------
    name : str
        The name of its values.
    shape, format : tuple of int, str
        Those of the array that `Checkpoint.read` returns by default.
    nbytes : int
        How many bytes it takes in the file, scales included.
    layout, scheme : str
        For a quantized weight: who names and describes it so; its codes and what shares a scale. Else empty.
    codes, scales : Entry or None
        For a quantized weight: the tensors that hold its codes and scales.
    others : tuple of Entry
        For a quantized weight: all its other tensors, such as a second scale, zero points, its shape.
    """

    name: str
    shape: tuple[int, ...]
    format: str
    nbytes: int
    layout: str = ""
    scheme: str = ""
    codes: Entry | None = None
    scales: Entry | None = None
    others: tuple[Entry, ...] = ()

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        facts = {"shape": self.shape, "format": self.format, "bytes": self.nbytes}
        stored = {"codes": self.codes and self.codes.name, "scales": self.scales and self.scales.name}
        others = ", ".join(one.name for one in self.others)
        return facts_html(
            self.name, {**facts, "layout": self.layout, "scheme": self.scheme, **stored, "others": others}
        )


def info_of(tensor: StoredTensor | Weight) -> TensorInfo:
    """Return what is known of a tensor, or of a quantized weight."""
    if isinstance(tensor, StoredTensor):
        found = entry_of(tensor)
        return TensorInfo(tensor.name, tensor.shape, found.format, found.nbytes)
    entries = {part.name: entry_of(part) for part in tensor.tensors}
    nbytes = sum(one.nbytes for one in entries.values())
    codes = entries.pop(tensor.codes.name)
    scales = None if tensor.scales is None else entries.pop(tensor.scales.name)
    return TensorInfo(
        tensor.name, tensor.plain_shape, BFLOAT16.name, nbytes, tensor.layout, scheme_text(tensor.scheme), codes,
        scales, tuple(entries.values()),
    )  # fmt: skip
