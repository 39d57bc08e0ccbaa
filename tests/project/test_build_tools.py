"""What setup.py says where there is no C compiler, or no header of Python: one line, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

pytest.importorskip("Cython", reason="setup.py needs Cython")
pytest.importorskip("setuptools", "77", reason="setup.py needs setuptools 77")
pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or not (ROOT / "setup.py").exists(), reason="no Unix compiler, or no setup.py"
)
PACKAGES = ["apt install gcc", "dnf install gcc", "xcode-select --install", "Build Tools for Visual Studio"]


def build(folder: Path, **variables: str) -> list[str]:
    """Return the lines on standard error of a build that fails; it writes to the folder alone."""
    command = ["setup.py", "-q", "build_ext", "--build-lib", str(folder / "lib"), "--build-temp", str(folder / "temp")]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *command], cwd=ROOT, env={**os.environ, **variables},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert not list(folder.rglob("*.so"))
    return done.stderr.splitlines()


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({"CC": "/nonexistent"}, "there is no program '/nonexistent'"),
        ({"CC": "gcc -pthread", "PATH": "/nonexistent"}, "there is no program 'gcc'"),
        ({"CC": "false"}, "'false' cannot compile an empty file"),
    ],
    ids=["no such program", "not on the path", "not a compiler"],
)
def test_no_compiler_is_one_line(variables: dict[str, str], found: str, tmp_path: Path) -> None:
    (line,) = build(tmp_path, **variables)
    assert line.startswith(f"error: lowprec needs a C compiler, and {found}. ")
    assert all(package in line for package in PACKAGES)


def test_no_headers_are_one_line(tmp_path: Path) -> None:
    compiler = tmp_path / "compiler"  # one that finds every header but Python's
    compiler.write_text(
        '#!/bin/sh\nfor source; do case $source in *.c) ! grep -q Python.h "$source"; exit;; esac; done\n'
    )
    compiler.chmod(0o755)
    (line,) = build(tmp_path, CC=str(compiler))
    assert line.startswith("error: lowprec needs the C headers of Python, and there is no Python.h in /")
    assert all(package in line for package in ("python3-dev", "python3-devel"))
