"""The pages: every folder beside this file that has a `PAGE` is one; they come in the order of their places."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from ..shared.page import Page

__all__ = ["PAGES", "STATES"]


def _found() -> tuple[Page, ...]:
    folders = [import_module(f".{found.name}", __name__) for found in pkgutil.iter_modules(__path__) if found.ispkg]
    return tuple(sorted((folder.PAGE for folder in folders if hasattr(folder, "PAGE")), key=lambda page: page.place))


PAGES = _found()
"""All pages, in order; the bare address leads to the first."""

STATES = {page.path: page.state for page in PAGES}
"""The state of every page, by its path."""
