"""The report of a conversion: actions and error statistics, for each tensor, each kind of layer and in total."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .._notebook_display import count_text, html_block, html_lines
from ..loss.error_stats import ErrorStats
from .layer_kinds import layer_kind
from .layouts.output import SCALES
from .planning.conversion_plan import ConversionPlan, TensorPlan
from .progress import size_text
from .report_text import FEW, Table, kept_lines, loss_tables, lossless_lines, planned_table, rule_lines
from .tensor_report import TensorReport, sizes_of, together

__all__ = ["Report", "TensorReport", "plain"]


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
