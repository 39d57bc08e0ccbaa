"""The page Anatomy: one code of one format, its bits, its value, and the table of all codes."""

from __future__ import annotations

from ...shared.page import Page
from .state import Anatomy

__all__ = ["PAGE"]

PAGE = Page(place=20, path="anatomy", title="Anatomy", icon="grid_on", state=Anatomy)
