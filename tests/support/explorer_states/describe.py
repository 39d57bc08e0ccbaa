"""States of Describe to look at: rows, well-known formats, and formats that lack something."""

from __future__ import annotations

from collections.abc import Iterator

from lowprec.explorer.pages.describe.state import DESCRIBABLE_NAMES, Describe
from lowprec.explorer.pages.describe.view import WELL_KNOWN

from .described import DESCRIBED


def states() -> Iterator[Describe]:
    yield Describe()
    for known in WELL_KNOWN:
        yield Describe(known.name, "0.3")
    for name in (*DESCRIBABLE_NAMES, *DESCRIBED, "e8m23,bias=100", "e1m0,inf=0,nan=negative-zero"):
        yield Describe(name)
