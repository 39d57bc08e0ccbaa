"""States of Anatomy to look at: every format and every mode."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from lowprec.explorer.pages.anatomy.state import ANATOMY_SHOWS, Anatomy
from lowprec.explorer.shared.page import FORMAT_NAMES

from .described import DESCRIBED


def states() -> Iterator[Anatomy]:
    yield from (Anatomy(name, "0.3") for name in DESCRIBED)
    for index, fmt in enumerate(FORMAT_NAMES):
        yield Anatomy(fmt, ("0.3", "-1.5")[index % 2], ANATOMY_SHOWS[index % 3])
    yield from (Anatomy(fmt, "0.3", show) for fmt, show in product(("float64", "int64", "bool"), ANATOMY_SHOWS))
    yield from (Anatomy(fmt, text) for fmt in ("float64", "int64", "uint64") for text in ("1.5", "9007199254740993"))
    yield from (Anatomy(fmt, text) for fmt in ("float64", "bfloat16", "float8_e8m0fnu") for text in ("nan", "inf", "0"))
