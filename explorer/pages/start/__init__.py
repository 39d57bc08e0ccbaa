"""The page Start: a format as a ruler, and guided examples, each a link."""

from __future__ import annotations

from ...shared.page import Page
from .state import Start

__all__ = ["PAGE"]

PAGE = Page(place=10, path="start", title="Start", icon="school", state=Start)
