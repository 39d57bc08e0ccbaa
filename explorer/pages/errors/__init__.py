"""The page Errors: the rounding error of some formats against the number, and where it is largest."""

from __future__ import annotations

from ...shared.page import Page
from .state import Errors

__all__ = ["PAGE"]

PAGE = Page(place=40, path="errors", title="Errors", icon="ssid_chart", state=Errors)
