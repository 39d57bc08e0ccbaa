"""The command line as processes: encodings, closed pipes, full disks, Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowprec as lp
from lowprec.cli import main

pytestmark = pytest.mark.usefixtures("folder_with_array")

PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def process(*command: str, env: dict[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[bytes]:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 60, **options}
    env = {**os.environ, "PYTHONUNBUFFERED": "", **(env or {})}
    return subprocess.run([sys.executable, *command], env=env, check=False, **options)


def test_a_terminal_without_unicode() -> None:
    done = process("-m", "lowprec", "formats", "--markdown", env=PLAIN)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"7D\\u20137F" in done.stdout
    name = os.fsencode("é") + b"\xff.npy"
    Path(os.fsdecode(name)).write_bytes(Path("x.npy").read_bytes())
    done = subprocess.run([sys.executable, "-m", "lowprec", "loss", name], env={**os.environ, **PLAIN}, check=False,
                          capture_output=True, timeout=60)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\udcff.npy: float32 (2, 5)" in done.stdout


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_is_gone(unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = process("-m", "lowprec", "formats", stdout=writer, env={"PYTHONUNBUFFERED": unbuffered})
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.slow
def test_work_that_is_done_though_the_reader_is_gone() -> None:
    """What counts is the file that is written, or judged, and not who reads the report."""
    reader, writer = os.pipe()
    os.close(reader)
    np.savez("w.npz", w=np.ones((2, 3), np.int8), w_scale=np.float32([np.nan, 2]))
    for command, unbuffered, status in (
        ("convert x.npy y.npz --to float16 --report r.json", "", 0), ("cast x.npy z.npz --to int4", "1", 0),
        ("check w.npz", "", 1),
    ):  # fmt: skip
        done = process("-m", "lowprec", *command.split(), stdout=writer, env={"PYTHONUNBUFFERED": unbuffered})
        assert (done.returncode, done.stderr) == (status, b"")
    os.close(writer)
    assert [one.format for one in lp.checkpoints.inspect("y.npz")] == ["float16"]
    assert [one.format for one in lp.checkpoints.inspect("z.npz")] == ["int4"]
    assert Path("r.json").stat().st_size


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written(unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        done = process("-m", "lowprec", "formats", stdout=full, env={"PYTHONUNBUFFERED": unbuffered})
    assert (done.returncode, done.stderr) == (1, b"lowprec: standard output: No space left on device\n")
    done = process(
        "-c", "import os, sys; os.close(1); os.execv(sys.executable, [sys.executable, '-m', 'lowprec', 'formats'])"
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_version_and_help() -> None:
    done = process("-m", "lowprec", "--version", env=PLAIN)
    assert done.stdout.startswith(f"lowprec {lp.__version__} (".encode())
    for command in ([], ["formats"], ["explain"], ["cast"], ["loss"]):
        with pytest.raises(SystemExit) as caught:
            main([*command, "--help"])
        assert caught.value.code == 0
