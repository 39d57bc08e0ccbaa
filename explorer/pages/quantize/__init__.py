"""The page Quantize: a small tensor, and one of the sections that show what becomes of it."""

from __future__ import annotations

from ...shared.page import Page
from .state import Quantize

__all__ = ["PAGE"]

PAGE = Page(place=90, path="quantize", title="Quantize", icon="blur_on", state=Quantize)
