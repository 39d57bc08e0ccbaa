"""The share of slow tests that a run makes: all, or with LOWPREC_SHARE=today a part, another one each day.

Of long sweeps it is a fifth of the cases, of other slow tests a sixth: in thirty days every test meets every case.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import date
from typing import TypeVar

__all__ = ["PARTS", "PARTS_OF_TESTS", "in_share", "shared"]

PARTS = 5
PARTS_OF_TESTS = 6

Case = TypeVar("Case")


def in_share(place: int, day: date | None = None, parts: int = PARTS) -> bool:
    """Return whether the case at a place of its sweep, or a test, belongs to the share of this run."""
    if os.environ.get("LOWPREC_SHARE") != "today":
        return True
    return place % parts == (day or date.today()).toordinal() % parts


def shared(cases: Iterable[Case]) -> list[Case]:
    """Return the cases of this run's share."""
    return [case for place, case in enumerate(cases) if in_share(place)]
