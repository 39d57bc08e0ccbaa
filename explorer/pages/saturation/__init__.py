"""The page Saturation: the tables of the Cast page, computed live, and formats that ONNX lacks next to them."""

from __future__ import annotations

from ...shared.page import Page
from .state import Saturation

__all__ = ["PAGE"]

PAGE = Page(place=50, path="saturation", title="Saturation", icon="table", state=Saturation)
