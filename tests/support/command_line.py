"""Calls of the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowprec.cli import main

X = np.array([[0.0, -0.0, 0.3, -1.5, 464.0], [1e-3, np.nan, -np.inf, 7.0, -1e6]], np.float32)


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the output of a command that succeeds without a word on standard error."""
    capsys.readouterr()
    status = main(arguments)
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    return out


def fail(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line of a command that fails and leaves the folder as it was."""
    before = listing()
    capsys.readouterr()
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("lowprec: ")
    assert err.count("\n") == 1
    assert len(err) < 300
    assert listing() == before
    return err[9:-1]


def listing() -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.lstat().st_ino, path.read_bytes() if path.is_file() else b"") for path in Path().iterdir()}
