"""States of Describe to look at."""

from __future__ import annotations

from collections.abc import Iterator

from lowprec.explorer.page_states import Describe


def states() -> Iterator[Describe]:
    yield Describe()
