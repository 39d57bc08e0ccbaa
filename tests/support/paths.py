"""Where this repository is, what fresh processes import and print, and the tables beside tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent


def with_support(*folders: Path) -> dict[str, str]:
    """Return the environment of a process that imports `support`, and modules in other folders."""
    found = [*map(str, (TESTS, *folders)), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(found)}


def printed(code: str, *arguments: str, **variables: str) -> str:
    """Return what a fresh process prints that runs a program, with nothing on standard error."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def table(test: str) -> dict[str, Any]:
    """Return the TOML file beside a module."""
    return tomllib.loads(Path(test).with_suffix(".toml").read_text(encoding="utf-8"))
