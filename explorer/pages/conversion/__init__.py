"""The page Cast & BitCast: one code cast step by step, directly or through others; bitcasts; codes packed in bytes."""

from __future__ import annotations

from ...shared.page import Page
from .state import Conversion

__all__ = ["PAGE"]

PAGE = Page(place=70, path="conversion", title="Cast & BitCast", icon="swap_horiz", state=Conversion)
