"""States of Saturation to look at: every opset."""

from __future__ import annotations

from collections.abc import Iterator

from lowprec.explorer.page_states import OPSETS, Saturation


def states() -> Iterator[Saturation]:
    yield from map(Saturation, OPSETS)
