"""The page Arithmetic: a sum or dot product accumulated in a format, step by step; one operation in a format."""

from __future__ import annotations

from ...shared.page import Page
from .state import Arithmetic

__all__ = ["PAGE"]

PAGE = Page(place=80, path="arithmetic", title="Arithmetic", icon="calculate", state=Arithmetic)
