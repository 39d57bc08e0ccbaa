"""What a conversion did: entries, tables as text, HTML and JSON, and the file for it."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import IO, Any

from .._notebook_display import aligned_table, count_text, facts_html, html_block, html_lines, html_table
from ..loss.error_stats import ErrorStats
from .containers.npy_file import sidecar
from .files.atomic_output import OutputFile, OutputFiles, Staging, rename_file
from .files.errors import FileError, reason
from .planning.conversion_plan import ConversionPlan, TensorPlan
from .progress import size_text
from .weights.engine_interface import SCALES

__all__ = ["Report", "ReportFile", "TensorReport", "layer_kind", "plain", "sizes_of"]

FEW = 10
"""Up to so many tensors have a line each."""

WORST = 10
"""How many tensors are named that lost most."""

_EXPERTS = re.compile(r"(\w+_)?experts?")
"""Modules of experts, whatever their own modules are called: experts, shared_experts, shared_expert."""

START = b'{\n  "source": '
"""How every report starts."""


@dataclass(slots=True)
class TensorReport:
    """What became of one tensor, of those of one kind, or of all that were converted; errors are in units of the input.

    Attributes
    ----------
    name : str
        The tensor's; the kind of several; ``"total"`` for all.
    action, why : str
        ``"converted"`` or ``"kept"``, and why it was kept.
    source, target : str
        The formats before and after.
    shape : tuple of int
        Its shape.
    elements, bytes_before, bytes_after : int
        Sizes, scales included.
    scale, scale_shape : str, tuple of int, or None
        The format and the shape of its scales: those that it gets or, where it is dequantized, that it had.
    kind : str
        The kind of its layer.
    lossless : bool or None
        Whether codes and scales became others and every value stayed; None where values are rounded by a rule.
    inexact : int or None
        In how many tiles, or rows where there are none, a value did not stay; None where `lossless` is.
    count : int
        How many tensors it stands for.
    nan, inf, saturated, flushed, max_abs_error, max_rel_error, sqnr_db
        As `lowprec.loss.Loss` has them; None where nothing was converted.
    seconds, bytes_per_second : float
        Time that the threads took together, and input bytes in that time.
    """

    name: str
    action: str
    why: str
    source: str
    target: str
    shape: tuple[int, ...]
    elements: int
    bytes_before: int
    bytes_after: int
    scale: str | None = None
    scale_shape: tuple[int, ...] | None = None
    kind: str = ""
    count: int = 1
    lossless: bool | None = None
    inexact: int | None = None
    nan: int | None = None
    inf: int | None = None
    saturated: int | None = None
    flushed: int | None = None
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    sqnr_db: float | None = None
    seconds: float = 0.0
    bytes_per_second: float = 0.0

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        return facts_html(self.name, {field.name: getattr(self, field.name) for field in fields(self)[1:]})

    def set_time(self, seconds: float) -> None:
        """Take over the time it took."""
        self.seconds, self.bytes_per_second = seconds, self.bytes_before / max(seconds, 1e-9)

    def set_losses(self, stats: ErrorStats) -> None:
        """Take over what was counted."""
        self.nan, self.inf = stats.nan, stats.inf
        self.saturated, self.flushed = stats.saturated, stats.flushed
        self.max_abs_error, self.max_rel_error = stats.max_abs_error, stats.max_rel_error
        self.sqnr_db = stats.sqnr_db
        if self.lossless is not None:
            self.lossless, self.inexact = not stats.inexact, stats.inexact


def sizes_of(tensors: Sequence[TensorReport]) -> tuple[int, int, int]:
    """Return the elements, the bytes before and the bytes after of tensors."""
    elements = sum(one.elements for one in tensors)
    return elements, sum(one.bytes_before for one in tensors), sum(one.bytes_after for one in tensors)


def together(name: str, tensors: Sequence[TensorReport]) -> TensorReport:
    """Return one entry for tensors of the same formats; shapes that differ are left out."""
    first = tensors[0]
    shape = first.shape if len({one.shape for one in tensors}) == 1 else ()
    scale_shape = first.scale_shape if len({one.scale_shape for one in tensors}) == 1 else None
    return TensorReport(
        name, first.action, "", first.source, first.target, shape, *sizes_of(tensors), first.scale, scale_shape, name,
        len(tensors),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    text: Callable[[TensorReport], str]
    is_number: bool = True


def lossless_lines(tensors: Sequence[TensorReport]) -> list[str]:
    """Return what is said of tensors that should keep every value: how many do, and those that lost most."""
    kept = sum(one.lossless is True for one in tensors)
    changed = sorted((one for one in tensors if one.lossless is False), key=lambda one: -(one.max_abs_error or 0))
    lines = [f"lossless: {count_text(kept, 'tensor')} {'keeps' if kept == 1 else 'keep'} every value"] if kept else []
    lines += [
        f"{one.name!a}: not lossless; values changed in {one.inexact} tiles or rows, by {one.max_abs_error:.5g} at most"
        for one in changed[:WORST]
    ]
    return lines + ([f"not lossless: {len(changed)} tensors in all"] if len(changed) > WORST else [])


def rule_lines(rules: Mapping[str, str | int]) -> list[str]:
    """Return a line on the rules of a conversion, nothing where there are none."""
    names = {"random_bits": "random bits", "scale_rule": "scale rule"}
    said = ", ".join(f"{names.get(name, name)} {value}" for name, value in rules.items())
    return [f"rules: {said}"] if said else []


def _name(name: str) -> str:
    return name if name.isprintable() else ascii(name)


def _shape(shape: tuple[int, ...] | None) -> str:
    return "" if shape is None else "x".join(map(str, shape)) or "scalar"


def _counted(value: float | None, spec: str = "") -> str:
    return "" if value is None else format(value, spec)


_SOURCE = _Column("from", lambda one: one.source, False)
_COUNT = _Column("count", lambda one: str(one.count))
_ELEMENTS = _Column("elements", lambda one: str(one.elements))
_LOSSES = (
    _Column("SQNR dB", lambda one: _counted(one.sqnr_db, ".2f")),
    _Column("max error", lambda one: _counted(one.max_abs_error, ".5g")),
    _Column("saturated", lambda one: _counted(one.saturated)),
    _Column("flushed", lambda one: _counted(one.flushed)),
    _Column("NaN", lambda one: _counted(one.nan)),
    _Column("Inf", lambda one: _counted(one.inf)),
)
_PLANNED = (
    _Column("shape", lambda one: _shape(one.shape) if one.source else "", False),
    _SOURCE,
    _Column("to", lambda one: one.target, False),
    _Column("scale", lambda one: one.scale or "", False),
    _Column("scale shape", lambda one: _shape(one.scale_shape), False),
    _Column("before", lambda one: size_text(one.bytes_before)),
    _Column("after", lambda one: size_text(one.bytes_after)),
)


@dataclass(frozen=True, slots=True)
class Table:
    """Some entries of a report, and the columns that are shown of them."""

    title: str
    columns: Sequence[_Column]
    entries: Sequence[TensorReport]

    @property
    def rows(self) -> list[list[str]]:
        """The header, and the cells of each entry."""
        header = [column.title for column in self.columns]
        return [header, *([column.text(one) for column in self.columns] for one in self.entries)]

    def text(self) -> str:
        """Return lines of text."""
        title = f"{self.title}:\n" if self.title else ""
        return title + aligned_table(self.rows, right=self._numbers)

    def html(self) -> str:
        """Return HTML, the cells escaped."""
        return html_table(self.rows, self.title or f"by {self.columns[0].title}", right=self._numbers)

    @property
    def _numbers(self) -> list[int]:
        return [index for index, column in enumerate(self.columns) if column.is_number]


def _named(title: str) -> _Column:
    return _Column(title, lambda one: _name(one.name), False)


def planned_table(tensors: Sequence[TensorReport], total: TensorReport, each: bool) -> Table:
    """Return formats, shapes and sizes of what would be converted, for `each` tensor or those that are alike."""
    made = [one for one in tensors if one.action == "converted"]
    kept = [one for one in tensors if one.action == "kept"]
    rows = made if each else _alike(made)
    if kept:
        rows = [*rows, TensorReport("kept", "kept", "", "", "", (), *sizes_of(kept), count=len(kept))]
    return Table("", (_named("tensor"), *_PLANNED) if each else (_named("kind"), _COUNT, *_PLANNED), [*rows, total])


def loss_tables(
    tensors: Sequence[TensorReport], kinds: Sequence[TensorReport], total: TensorReport, each: bool
) -> list[Table]:
    """Return what was lost: in `each` tensor, and where they are many, in kinds of layers and the worst tensors."""
    made = [one for one in tensors if one.action == "converted"]
    of_tensors = (_named("tensor"), _SOURCE, _ELEMENTS, *_LOSSES)
    of_kinds = (_named("kind"), _COUNT, _SOURCE, _ELEMENTS, *_LOSSES)
    total_row = [replace(total, elements=sizes_of(made)[0])] if len(made) > 1 else []  # of what was converted
    if len(tensors) <= FEW:
        return [Table("", of_tensors, [*made, *total_row])] if made else []
    worst = _worst(made)
    shown = [
        Table("", of_tensors, made if each else []), Table("", of_kinds, [*kinds, *total_row]),
        Table("lowest SQNR", of_tensors, worst),
    ]  # fmt: skip
    return [table for table in shown if table.entries]


def _alike(tensors: Sequence[TensorReport]) -> list[TensorReport]:
    """Return one entry for tensors of the same kind, formats and shapes."""
    alike: dict[tuple[object, ...], list[TensorReport]] = {}
    for one in tensors:
        key = (one.kind, one.source, one.target, one.shape, one.scale, one.scale_shape)
        alike.setdefault(key, []).append(one)
    return [together(group[0].kind, group) for group in alike.values()]


def _worst(tensors: Sequence[TensorReport]) -> list[TensorReport]:
    """Return the tensors with the lowest SQNR, those first in which a number became NaN; none without an error."""
    return sorted((one for one in tensors if _rank(one) < math.inf), key=_rank)[:WORST]


def _rank(one: TensorReport) -> float:
    """Return the SQNR; -Inf where a number beyond the range became NaN, Inf where there is nothing but zeros."""
    if one.sqnr_db is None or math.isnan(one.sqnr_db):
        return -math.inf if one.saturated else math.inf
    return one.sqnr_db


def kept_lines(tensors: Sequence[TensorReport], each: bool) -> list[str]:
    """Return a line for each tensor that is kept, or for each reason."""
    kept = [one for one in tensors if one.action == "kept"]
    if each:
        return [f"{one.name!a}: kept, {one.source}; {one.why}" for one in kept]
    reasons: dict[str, list[TensorReport]] = {}
    for one in kept:
        reasons.setdefault(one.why, []).append(one)
    return [
        f"kept: {count_text(len(group), 'tensor')}, {size_text(sum(one.bytes_before for one in group))}; {why}"
        for why, group in sorted(reasons.items(), key=lambda pair: -len(pair[1]))
    ]


def layer_kind(name: str) -> str:
    """Return the last name of a tensor's module, without numbers; a name of one part is a kind of its own.

    Examples
    --------
    >>> layer_kind("model.layers.3.self_attn.q_proj.weight"), layer_kind("model.layers.3.mlp.experts.7.w1.weight")
    ('q_proj', 'experts')
    >>> layer_kind("transformer_blocks.0.attn.to_out.0.weight"), layer_kind("lm_head.weight")
    ('to_out', 'lm_head')
    """
    *module, last = re.split(r"[./]", name)
    names = [one for one in module if one and not one.isdecimal()]
    experts = next((one for one in names if _EXPERTS.fullmatch(one)), "")
    return experts or (names[-1] if names else re.sub(r"_\d+$", "", last))


def plain(value: Any) -> Any:
    """Return a value that strict JSON has: NaN becomes null, Inf the text that Python's float() takes."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


@dataclass(slots=True)
class Report:
    """What `lowprec.convert` did; `print` shows it as tables.

    Attributes
    ----------
    source, target, to : str
        The paths, and the format.
    dry_run, verified : bool
        Whether nothing was written; whether the result was read again and compared.
    notes : list of str
        What ``raw`` was needed for: companions that were not applied, descriptions that were left out.
    remarks : list of str
        What may surprise: weights of a quantized checkpoint that have no scales, and what was resumed.
    descriptions : list of str
        What becomes of config.json and other descriptions of the model.
    rules : dict
        The rules beyond ONNX (``rounding``, ``overflow``, ``nan``; of a stochastic rounding ``seed`` and
        ``random_bits``), and the ``scale_rule`` of scales that are powers of two; only those that hold.
    tensors : list of TensorReport
        In the order of the file.
    kinds : list of TensorReport
        Those that are converted, together where kind of layer and formats are the same.
    total : TensorReport
        All of them; errors are those of converted tensors.
    seconds, bytes_per_second : float
        From start to end, and input bytes in that time.
    """

    source: str
    target: str
    to: str
    dry_run: bool
    verified: bool
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    rules: dict[str, str | int] = field(default_factory=dict)
    tensors: list[TensorReport] = field(default_factory=list)
    kinds: list[TensorReport] = field(default_factory=list)
    total: TensorReport = field(init=False)
    seconds: float = 0.0
    bytes_per_second: float = 0.0

    def add(self, plan: ConversionPlan) -> None:
        """Enter every tensor of a plan, and the total."""
        self.notes, self.remarks = list(plan.notes), list(plan.remarks)
        self.tensors = [_entry(tensor_plan, plan) for tensor_plan in plan.tensor_plans]
        self.kinds = [together(name, tensors) for (name, *_), tensors in self._by_kind().items()]
        n = sum(one.action == "converted" for one in self.tensors)
        self.total = TensorReport("total", "converted", "", "", self.to, (), *sizes_of(self.tensors), count=n)

    def _by_kind(self) -> dict[tuple[str, ...], list[TensorReport]]:
        """Return the converted tensors by kind and formats, in the order of the file."""
        kinds: dict[tuple[str, ...], list[TensorReport]] = {}
        for one in self.tensors:
            if one.action == "converted":
                kinds.setdefault((one.kind, one.source, one.target, one.scale or ""), []).append(one)
        return kinds

    def set_results(self, tensor_stats: Sequence[ErrorStats], seconds: Sequence[float], wall: float) -> None:
        """Enter what was counted, and the times."""
        stats_of: dict[int, ErrorStats] = {}
        for one, stats, time in zip(self.tensors, tensor_stats, seconds, strict=True):
            one.set_time(time)
            if one.action == "converted":
                one.set_losses(stats)
                stats_of[id(one)] = stats
        everything = ErrorStats()
        for kind, tensors in zip(self.kinds, self._by_kind().values(), strict=True):
            stats = ErrorStats()
            for one in tensors:
                stats.merge(stats_of[id(one)])
            kind.set_losses(stats)
            kind.set_time(sum(one.seconds for one in tensors))
            everything.merge(stats)
        self.total.set_losses(everything)
        self.total.set_time(sum(seconds))
        self.seconds, self.bytes_per_second = wall, self.total.bytes_before / max(wall, 1e-9)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON has it: NaN as None, infinities as texts."""
        return dict(plain(asdict(self)))

    def as_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.as_dict(), indent=2) + "\n"

    def as_text(self, *, verbose: bool = False) -> str:
        """Return tables for people: by kind of layer where tensors are many, else or if `verbose` for each tensor."""
        each = verbose or len(self.tensors) <= FEW
        shown = [table.text() for table in self._tables(each)]
        return "\n".join([*kept_lines(self.tensors, each), *shown, *self._remarks()])

    def __str__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        """Return the tables and lines of `as_text` for notebooks."""
        each = len(self.tensors) <= FEW
        tables = (table.html() for table in self._tables(each))
        return html_block(*tables, html_lines([*kept_lines(self.tensors, each), *self._remarks()]))

    def _tables(self, each: bool) -> list[Table]:
        if self.dry_run:
            return [planned_table(self.tensors, self.total, each)]
        return loss_tables(self.tensors, self.kinds, self.total, each)

    def _remarks(self) -> list[str]:
        """Return what is to be said about the whole, the last line what was done."""
        lines = [f"raw: {note}" for note in self.notes]
        lines += [f"note: {remark}" for remark in self.remarks]
        lines += rule_lines(self.rules)
        lines += lossless_lines(self.tensors)
        kept = sum(one.action == "kept" for one in self.tensors)
        done = "would be converted" if self.dry_run else "converted"
        sizes = f"{size_text(self.total.bytes_before)} -> {size_text(self.total.bytes_after)}"
        last = f"{self.target}: {count_text(self.total.count, 'tensor')} {done} to {self.to}, {kept} kept; {sizes}"
        if not self.dry_run:
            last += f" in {self.seconds:.1f} s, {size_text(self.bytes_per_second)}/s"
        return [*lines, *self.descriptions, last + (", verified" if self.verified else "")]


def _entry(tensor_plan: TensorPlan, plan: ConversionPlan) -> TensorReport:
    operation, first = tensor_plan.operation, tensor_plan.first
    summary, after = operation.summary, plan.outputs[first : first + tensor_plan.count]
    written = next((output.shape for output in after if output.role in ("scale", SCALES)), None)
    return TensorReport(
        summary.name, "converted" if operation.converts else "kept", tensor_plan.why, summary.source, summary.target,
        summary.shape, math.prod(summary.shape), summary.nbytes, sum(output.nbytes for output in after), summary.scale,
        written if summary.scale_shape is None else summary.scale_shape, layer_kind(summary.name),
        lossless=summary.is_lossless or None,
    )  # fmt: skip


def _check(path: Path, real: Path, source: Path, target: Path) -> None:
    """Raise FileError unless a report of a conversion may be written to a path."""
    if not real.parent.is_dir():
        raise FileError(f"{path}: must be a file in an existing folder")
    for one in (source, target):
        other = Path(os.path.realpath(one))
        if real.is_relative_to(other):
            raise FileError(f"{path}: a report must not be {one}, nor a file in it")
        if other.suffix == ".npy" and real == sidecar(other):
            raise FileError(f"{path}: is the name of the file with the format of {one}")
        if real.parent == other.parent and real.name.startswith(f"{other.name}.") and real.suffix == ".data":
            raise FileError(f"{path}: is a name for the external data of {one}")
    if not real.exists():
        return
    if not real.is_file():
        raise FileError(f"{path}: must be a regular file")
    with real.open("rb") as stream:
        start = stream.read(len(START))
    if start not in (b"", START):
        raise FileError(f"{path}: exists and is no report of a conversion; choose another name")


def _is_stream(path: Path) -> bool:
    """Whether a path is a device or a pipe, such as /dev/stdout: it is written to, and nothing is replaced."""
    mode = path.stat().st_mode if path.exists() else 0
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _open_stream(path: Path) -> IO[str]:
    """Open a device or a pipe for writing; a pipe that nobody reads is an error, not a wait."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return open(descriptor, "w", encoding="utf-8")


class ReportFile:
    """A file for the report of a conversion, checked before the conversion starts; or a device or a pipe.

    Parameters
    ----------
    path, source, target : Path
        Its name, through links, and what is converted into what.
    """

    def __init__(self, path: Path, source: Path, target: Path) -> None:
        self._path, self._source, self._target = path, source, target
        self._staging: Staging | None = None
        try:
            self._real = Path(os.path.realpath(path))
            if _is_stream(path):
                _open_stream(path).close()
            else:
                _check(path, self._real, source, target)
                self._staging = Staging(OutputFiles([OutputFile("report", 0)], []), self._real, True, path)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"{path}: {reason(error)}") from None
        except ValueError as error:  # a name with a null byte
            raise FileError(f"{str(path)!a}: {error}") from None

    def __enter__(self) -> ReportFile:
        """Create the staging folder, next to the report's place."""
        if self._staging is not None:
            self._staging.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the staging folder."""
        if self._staging is not None:
            self._staging.__exit__(*error)

    def write(self, text: str) -> None:
        """Write the report, and rename it when it is on the disk."""
        try:
            if self._staging is None:
                with _open_stream(self._path) as stream:
                    stream.write(text)
                return
            self._staging.paths[0].write_text(text, encoding="utf-8")
            self._staging.seal()
            _check(self._path, self._real, self._source, self._target)  # another file may have been written meanwhile
            self._staging.publish(rename_file)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"{self._path}: cannot be written; {reason(error)}") from None
