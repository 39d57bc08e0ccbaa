"""Calls of the command line."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import numpy as np
import pytest

from lowprec.cli import main

X = np.array([[0.0, -0.0, 0.3, -1.5, 464.0], [1e-3, np.nan, -np.inf, 7.0, -1e6]], np.float32)

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from lowprec.cli import main
sys.exit(main(sys.argv[2:]))
"""
"""A command whose files may not grow beyond a number of bytes, its first argument."""


def call(*arguments: str) -> tuple[int, str, str]:
    """Return the status of a command, and what it prints on standard output and standard error."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2)]
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        status = main(arguments)
    for stream in streams:
        stream.seek(0)
    out, err = (stream.read() for stream in streams)
    return status, out, err


def run(*arguments: str) -> str:
    """Return the output of a command that succeeds without a word on standard error."""
    status, out, err = call(*arguments)
    assert (status, err) == (0, "")
    return out


def fail(*arguments: str) -> str:
    """Return the one line of a command that fails and leaves the folder, and what is in its folders, as it was."""
    before = listing()
    status, out, err = call(*arguments)
    assert (status, out) == (1, "")
    assert err.startswith("lowprec: ")
    assert err.count("\n") == 1
    assert len(err) < 300
    assert listing() == before
    return err[9:-1]


def usage_error(*arguments: str) -> str:
    """Return what a command that argparse refuses prints on standard error; it prints nothing else."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as caught:
        main(arguments)
    assert (caught.value.code, out.getvalue()) == (2, "")
    return err.getvalue()


def listing() -> dict[Path, tuple[int, bytes]]:
    """Return what is in the folder, at any depth: which file it is, and its bytes."""
    return {path: (path.lstat().st_ino, path.read_bytes() if path.is_file() else b"") for path in Path().rglob("*")}
