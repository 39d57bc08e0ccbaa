"""The state of Saturation."""

from __future__ import annotations

from dataclasses import dataclass

from lowprec.spec.opset_rules import NEWEST

from ..url_query import integer
from .options import OPSETS
from .selection import PageState

__all__ = ["Saturation"]


@dataclass(frozen=True, slots=True)
class Saturation(PageState):
    """The opset that the tables are computed with."""

    opset: int = integer(NEWEST, OPSETS)
