"""States of Arithmetic to look at."""

from __future__ import annotations

from collections.abc import Iterator

from lowprec.explorer.page_states import Arithmetic


def states() -> Iterator[Arithmetic]:
    yield Arithmetic()
