"""Where this repository is, and how a fresh process imports this package."""

from __future__ import annotations

import os
from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent


def with_support(*folders: Path) -> dict[str, str]:
    """Return the environment of a process that imports `support`, and modules in other folders."""
    found = [*map(str, (TESTS, *folders)), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(found)}
