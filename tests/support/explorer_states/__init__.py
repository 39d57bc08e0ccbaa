"""States of every page of the explorer, by its path: what a browser looks at in turn."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from lowprec.explorer.page_states import PAGES

STATES: dict[str, Callable[[], Iterator[Any]]] = {
    path: importlib.import_module(f".{path}", __name__).states for path, *_ in PAGES
}
