"""The page Start: guided examples, each a link, and questions to check oneself."""

from __future__ import annotations

from ...shared.page import Page
from .page import show
from .state import Start

__all__ = ["PAGE"]

PAGE = Page(place=10, path="start", title="Start", icon="school", state=Start, show=show)
