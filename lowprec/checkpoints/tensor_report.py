"""An entry of a report: what became of a tensor, of those of one kind of layer, or of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from .._notebook_display import facts_html
from ..loss.error_stats import ErrorStats

__all__ = ["TensorReport", "sizes_of", "together"]


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
