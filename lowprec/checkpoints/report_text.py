"""The tables of a report, as text and HTML: by kind of layer or for each tensor, and the tensors that lost most."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from .._notebook_display import aligned_table, count_text, html_table
from .progress import size_text
from .tensor_report import TensorReport, sizes_of, together

__all__ = ["FEW", "Table", "kept_lines", "loss_tables", "lossless_lines", "planned_table", "rule_lines"]

FEW = 10
"""Up to so many tensors have a line each."""

WORST = 10
"""How many tensors are named that lost most."""


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
