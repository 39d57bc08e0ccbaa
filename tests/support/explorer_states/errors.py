"""States of Errors to look at."""

from __future__ import annotations

from collections.abc import Iterator

from lowprec.explorer.page_states import Errors


def states() -> Iterator[Errors]:
    yield Errors()
