"""States of Start to look at."""

from __future__ import annotations

from collections.abc import Iterator

from lowprec.explorer.pages.start.state import Start


def states() -> Iterator[Start]:
    yield Start()
