"""The page Rounding: one real number, the two values it lies between, and all rounding modes."""

from __future__ import annotations

from ...shared.page import Page
from .state import Rounding

__all__ = ["PAGE"]

PAGE = Page(place=30, path="rounding", title="Rounding", icon="straighten", state=Rounding)
