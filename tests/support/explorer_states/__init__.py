"""States of every page of the explorer, by its path: what a browser looks at in turn.

Those of Quantize are in two parts, for two processes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from lowprec.explorer.pages import PAGES

NAMES = (*(page.path for page in PAGES), "quantize_sections")
STATES: dict[str, Callable[[], Iterator[Any]]] = {
    name: importlib.import_module(f".{name}", __name__).states for name in NAMES
}
