"""The share of long sweeps that a run shows: all, or with LOWPREC_SHARE=today a fifth, another one each day."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import date
from typing import TypeVar

__all__ = ["PARTS", "in_share", "shared"]

PARTS = 5

Case = TypeVar("Case")


def in_share(place: int, day: date | None = None) -> bool:
    """Return whether the case at a place of its sweep belongs to the share of this run."""
    if os.environ.get("LOWPREC_SHARE") != "today":
        return True
    return place % PARTS == (day or date.today()).toordinal() % PARTS


def shared(cases: Iterable[Case]) -> list[Case]:
    """Return the cases of this run's share."""
    return [case for place, case in enumerate(cases) if in_share(place)]
