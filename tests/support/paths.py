"""Where this repository is, how a fresh process imports this package, and the tables beside tests."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent


def with_support(*folders: Path) -> dict[str, str]:
    """Return the environment of a process that imports `support`, and modules in other folders."""
    found = [*map(str, (TESTS, *folders)), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(found)}


def table(test: str) -> dict[str, Any]:
    """Return the TOML file beside a module."""
    return tomllib.loads(Path(test).with_suffix(".toml").read_text(encoding="utf-8"))
