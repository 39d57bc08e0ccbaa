"""The page Exercises: twenty tasks with random numbers, answered by setting bits."""

from __future__ import annotations

from ...shared.page import Page
from .state import Exercises

__all__ = ["PAGE"]

PAGE = Page(place=110, path="exercises", title="Exercises", icon="quiz", state=Exercises)
