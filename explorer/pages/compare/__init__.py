"""The page Compare: limits, range and precision of formats, and one number cast to each of them."""

from __future__ import annotations

from ...shared.page import Page
from .state import Compare

__all__ = ["PAGE"]

PAGE = Page(place=60, path="compare", title="Compare", icon="bar_chart", state=Compare)
