"""A small tensor to quantize: typed, or sampled from a distribution."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import Format, as_format
from lowprec.reference.exact_cast import Value, encode
from lowprec.spec.formats import FLOAT32

__all__ = ["DISTRIBUTIONS", "MOST_ELEMENTS", "MOST_TYPED", "Tensor", "sampled", "typed"]

MOST_TYPED = 256
"""How many typed numbers are looked at."""

MOST_ELEMENTS = 1 << 20
"""The largest tensor that is quantized: all of float32 in the largest file that is uploaded."""

DISTRIBUTIONS = ("normal", "uniform", "laplace", "student-t", "outliers")
"""What is sampled; `outliers` is normal with every hundredth element or so twenty times as large."""


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """Elements as float32, float16 or bfloat16, at least one; `note` says what was done to them, if anything.

    `names` are the tensors of the file, `name` the one that was read, `stored` the format it has there. Of a tensor of
    a checkpoint, the `first` so many indices of its first axis were read, all where it is None; `is_cut` says whether
    its rows were then taken one after the other, and only some of them.
    """

    values: np.ndarray[Any, Any]
    note: str = ""
    name: str = ""
    names: tuple[str, ...] = ()
    stored: Format | None = None
    first: int | None = None
    is_cut: bool = False

    @property
    def format(self) -> Format:
        """The format of the elements."""
        return as_format(self.values.dtype)


def typed(text: str) -> Tensor:
    """Return the numbers of a text as float32, each rounded once.

    Rows end at line ends or semicolons, numbers at commas or blanks. ValueError where one is no number, rows differ in
    length, or there are none or too many.
    """
    rows = [re.split(r"[\s,]+", row.strip(" \t\r,")) for row in re.split(r"[;\n]", text) if row.strip(" \t\r,")]
    count = sum(map(len, rows))
    if not 1 <= count <= MOST_TYPED:
        raise ValueError(f"`x` must be 1 to {MOST_TYPED} numbers; got {count}")
    if len(set(map(len, rows))) > 1:
        lengths = ", ".join(str(len(row)) for row in rows[:8])
        raise ValueError(f"`x` must have rows of one length; got rows of {lengths} numbers")
    codes = [[encode(Value.of(part, parameter="x"), FLOAT32) for part in row] for row in rows]
    values = np.array(codes, FLOAT32.code_dtype).view(FLOAT32.dtype)
    return Tensor(values[0] if len(rows) == 1 else values)


def sampled(distribution: str, rows: int, columns: int, seed: int, spread: float = 1.0) -> Tensor:
    """Return float32 samples of mean 0 times `spread`, the same for the same seed and version of NumPy."""
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"`distribution` must be one of {', '.join(DISTRIBUTIONS)}; got {distribution[:40]!r}")
    if not (rows >= 1 and columns >= 1 and rows * columns <= MOST_ELEMENTS):
        raise ValueError(f"the shape must hold 1 to {MOST_ELEMENTS} elements; got {rows} x {columns}")
    rng, shape = np.random.default_rng(seed), (rows, columns)
    if distribution == "outliers":
        values = rng.standard_normal(shape) * np.where(rng.random(shape) < 0.01, 20, 1)
    else:
        draws: dict[str, Callable[[], Any]] = {
            "normal": lambda: rng.standard_normal(shape),
            "uniform": lambda: rng.uniform(-1, 1, shape),
            "laplace": lambda: rng.laplace(size=shape),
            "student-t": lambda: rng.standard_t(3, shape),
        }
        values = draws[distribution]()
    return Tensor(np.asarray(lp.cast(values * spread, FLOAT32)))
