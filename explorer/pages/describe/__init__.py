"""The page Describe a format: a float by its parts, its facts, and the values of its codes."""

from __future__ import annotations

from ...shared.page import Page
from .state import Describe

__all__ = ["PAGE"]

PAGE = Page(place=100, path="describe", title="Describe a format", icon="tune", state=Describe)
