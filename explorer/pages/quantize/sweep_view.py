"""The sweep of Quantize: what every block format loses on a tensor, by block size and scale rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import lowprec as lp
from lowprec.loss import BlockLoss, block_loss, block_sweep
from lowprec.spec.formats import NVFP4
from lowprec.spec.scale_rules import NVFP4_RULES, SCALE_RULES, BlockRuleName

__all__ = [
    "BLOCK_SIZES",
    "MOST_SWEPT",
    "SWEEP_RULES",
    "Answer",
    "Row",
    "Sweep",
    "format_label",
    "part_of",
    "rule_label",
    "sweep",
]

Array = np.ndarray[Any, Any]

BLOCK_SIZES = (8, 16, 32, 64, 128)
"""The block sizes of a sweep; from the length of the axis on they are the same."""

SWEEP_RULES = (*SCALE_RULES, *NVFP4_RULES)
"""The scale rules that can be chosen; NVFP4's own one is always there."""

MOST_SWEPT = 1 << 18
"""The elements of a tensor that a sweep takes."""

_MXFP4 = "mxfp4"


def format_label(name: str) -> str:
    """Return the name of a block format as its documents write it.

    Examples
    --------
    >>> format_label("mxfp8_e4m3"), format_label("nvfp4")
    ('MXFP8 E4M3', 'NVFP4')
    """
    return name.upper().replace("_", " ")


def rule_label(rule: str | None) -> str:
    """Return the name of a scale rule; that of NVFP4's own."""
    return rule or "NVFP4's own"


@dataclass(frozen=True, slots=True)
class Row:
    """One block format and scale rule: what each block size loses; `best` marks the least loss of the format there."""

    format: str
    label: str
    rule: str
    losses: tuple[BlockLoss, ...]
    best: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Which of NVFP4 and MXFP4 loses less.

    `nvfp4` has blocks of 16, `mxfp4` blocks of 32 and the rule floor, as their documents define them; `same_size` is
    MXFP4 with blocks of 16, so as many bits as NVFP4 but for the global scale, and its best rule. `best_nvfp4` and
    `best_mxfp4` lose least, of all block sizes and, for MXFP4, rules.
    """

    nvfp4: BlockLoss
    mxfp4: BlockLoss
    same_size: BlockLoss
    best_nvfp4: BlockLoss
    best_mxfp4: BlockLoss

    @property
    def gain(self) -> float | None:
        """By how many dB NVFP4 is better than MXFP4; None where one of them has no error, or no SQNR."""
        return _finite(self.nvfp4.gain_over(self.mxfp4))

    @property
    def same_size_gain(self) -> float | None:
        """By how many dB NVFP4 is better than MXFP4 with blocks of the same size."""
        return _finite(self.nvfp4.gain_over(self.same_size))


@dataclass(frozen=True, slots=True)
class Sweep:
    """What was found; `elements` of the tensor were taken, blocks lie along an axis of `length` elements."""

    rows: tuple[Row, ...]
    block_sizes: tuple[int, ...]
    answer: Answer
    elements: int
    length: int

    @property
    def is_flat(self) -> bool:
        """Whether no SQNR is a number: nothing is lost, or all elements are zero."""
        return not any(math.isfinite(one.sqnr_db) for row in self.rows for one in row.losses)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def part_of(values: Array, axis: int, most: int = MOST_SWEPT) -> Array:
    """Return a tensor as rows along an axis, in float32, and only the first of them where it is larger than `most`.

    ValueError where it has no such axis.
    """
    rank = values.ndim
    if not -rank <= axis < rank:
        raise ValueError(f"`axis` must be from {-rank} to {rank - 1} for {rank} dimensions; got {axis}")
    rows = np.moveaxis(values, axis, -1).reshape(-1, values.shape[axis])
    part = rows[: max(1, most // rows.shape[1]), :most]
    return np.asarray(lp.cast(np.ascontiguousarray(part), "float32"))


def sweep(part: Array, formats: Sequence[str], rules: Sequence[BlockRuleName]) -> Sweep:
    """Return what every format loses with every block size and each of its rules, and what NVFP4 gains over MXFP4."""
    length = part.shape[1]
    sizes = tuple(size for place, size in enumerate(BLOCK_SIZES) if not place or BLOCK_SIZES[place - 1] < length)
    found = block_sweep(part, formats=formats, block_sizes=sizes, scale_rules=(None, *rules))
    lines = [found[start : start + len(sizes)] for start in range(0, len(found), len(sizes))]
    best = {
        (fmt, size): max(_order(one) for one in found if (one.format, one.block_size) == (fmt, size))
        for fmt in formats
        for size in sizes
    }
    rows = tuple(
        Row(
            line[0].format,
            format_label(line[0].format),
            rule_label(line[0].scale_rule),
            tuple(line),
            tuple(_order(one) == best[one.format, one.block_size] > -math.inf for one in line),
        )
        for line in lines
    )
    return Sweep(rows, sizes, _answer(part, sizes), part.size, length)


def _answer(part: Array, sizes: Sequence[int]) -> Answer:
    options: dict[str, Any] = {"block_sizes": sizes, "scale_rules": SCALE_RULES}
    return Answer(
        block_loss(part, NVFP4),
        block_loss(part, _MXFP4),
        max(block_sweep(part, formats=[_MXFP4], block_sizes=[16], scale_rules=SCALE_RULES), key=_order),
        max(block_sweep(part, formats=[NVFP4], **options), key=_order),
        max(block_sweep(part, formats=[_MXFP4], **options), key=_order),
    )


def _order(loss: BlockLoss) -> float:
    """Return the SQNR, below all others where there is none."""
    return -math.inf if math.isnan(loss.sqnr_db) else loss.sqnr_db
