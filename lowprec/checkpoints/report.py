"""The report of a conversion: actions and error statistics, for each tensor and in total; as JSON and as text."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..loss.error_stats import ErrorStats
from .planning.conversion_plan import ConversionPlan, TensorPlan
from .progress import size_text

__all__ = ["Report", "TensorReport", "plain"]


@dataclass(slots=True)
class TensorReport:
    """What became of one tensor, or of all that were converted; errors are in units of the input.

    Attributes
    ----------
    name : str
        The tensor's; ``"total"`` for all.
    action, why : str
        ``"converted"`` or ``"kept"``, and why it was kept.
    source, target : str
        The formats before and after.
    shape : tuple of int
        Its shape.
    elements, bytes_before, bytes_after : int
        Sizes, scales included.
    scale : str or None
        The format of its scales.
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
    nan: int | None = None
    inf: int | None = None
    saturated: int | None = None
    flushed: int | None = None
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    sqnr_db: float | None = None
    seconds: float = 0.0
    bytes_per_second: float = 0.0

    def set_time(self, seconds: float) -> None:
        """Take over the time it took."""
        self.seconds, self.bytes_per_second = seconds, self.bytes_before / max(seconds, 1e-9)

    def set_losses(self, stats: ErrorStats) -> None:
        """Take over what was counted."""
        self.nan, self.inf = stats.nan, stats.inf
        self.saturated, self.flushed = stats.saturated, stats.flushed
        self.max_abs_error, self.max_rel_error = stats.max_abs_error, stats.max_rel_error
        self.sqnr_db = stats.sqnr_db


def plain(value: Any) -> Any:
    """Return a value that strict JSON has: NaN becomes null, Inf the text that Python's float() takes."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


@dataclass(slots=True)
class Report:
    """What `lowprec.convert` did.

    Attributes
    ----------
    source, target, to : str
        The paths, and the format.
    dry_run, verified : bool
        Whether nothing was written; whether the result was read again and compared.
    notes : list of str
        What ``raw`` was needed for: companions that were not applied, descriptions that were left out.
    remarks : list of str
        Weights of a quantized checkpoint that have no scales.
    tensors : list of TensorReport
        In the order of the file.
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
    tensors: list[TensorReport] = field(default_factory=list)
    total: TensorReport = field(init=False)
    seconds: float = 0.0
    bytes_per_second: float = 0.0

    def add(self, plan: ConversionPlan) -> None:
        """Enter every tensor of a plan, and the total."""
        self.notes, self.remarks = list(plan.notes), list(plan.remarks)
        self.tensors = [_entry(tensor_plan, plan) for tensor_plan in plan.tensor_plans]
        n, before, after = (
            sum(getattr(one, name) for one in self.tensors) for name in ("elements", "bytes_before", "bytes_after")
        )
        self.total = TensorReport("total", "converted", "", "", self.to, (), n, before, after)

    def set_results(self, tensor_stats: Sequence[ErrorStats], seconds: Sequence[float], wall: float) -> None:
        """Enter what was counted, and the times."""
        everything = ErrorStats()
        for one, stats, time in zip(self.tensors, tensor_stats, seconds, strict=True):
            one.set_time(time)
            if one.action == "converted":
                one.set_losses(stats)
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

    def as_text(self) -> str:
        """Return a table for people."""
        made = [one for one in self.tensors if one.action == "converted"]
        lines = [f"{one.name!a}: kept, {one.source}; {one.why}" for one in self.tensors if one.action == "kept"]
        if made:
            lines += [_HEADER, *map(_line, [*made, self.total] if len(made) > 1 else made)]
        lines += [f"raw: {note}" for note in self.notes]
        lines += [f"note: {remark}" for remark in self.remarks]
        kept = len(self.tensors) - len(made)
        done = "would be converted" if self.dry_run else "converted"
        sizes = f"{size_text(self.total.bytes_before)} -> {size_text(self.total.bytes_after)}"
        last = f"{self.target}: {len(made)} tensors {done} to {self.to}, {kept} kept; {sizes}"
        if not self.dry_run:
            last += f" in {self.seconds:.1f} s, {size_text(self.bytes_per_second)}/s"
        return "\n".join([*lines, last + (", verified" if self.verified else "")])


def _entry(tensor_plan: TensorPlan, plan: ConversionPlan) -> TensorReport:
    operation, first = tensor_plan.operation, tensor_plan.first
    summary, after = operation.summary, plan.outputs[first : first + tensor_plan.count]
    return TensorReport(
        summary.name, "converted" if operation.converts else "kept", tensor_plan.why, summary.source, summary.target,
        summary.shape, math.prod(summary.shape), summary.nbytes, sum(output.nbytes for output in after), summary.scale,
    )  # fmt: skip


_HEADER = (
    f"{'tensor':32} {'from':>15} {'elements':>13} {'SQNR dB':>8} {'max error':>11} {'saturated':>10} "
    f"{'flushed':>10} {'NaN':>6} {'Inf':>6}"
)


def _line(one: TensorReport) -> str:
    name = one.name if one.name.isprintable() else ascii(one.name)
    start = f"{name:32} {one.source:>15} {one.elements:>13}"
    if one.sqnr_db is None:
        return start
    return (
        f"{start} {one.sqnr_db:>8.2f} {one.max_abs_error:>11.5g} {one.saturated:>10} {one.flushed:>10} "
        f"{one.nan:>6} {one.inf:>6}"
    )
