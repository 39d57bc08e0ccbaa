"""A few faults of each kind under `lowprec convert`, and that the rule for them finds what breaks it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.proof_faults import shim
from support.proof_faults.bench import problems
from support.proof_faults.forked import Case, Outcome
from support.proof_faults.jobs import JOBS

SCRIPT = Path(__file__).with_name("check_faults.py")
KINDS = {"kill": 12, "disk-full": 14, "writers": 5, "read-error": 14, "memory": 8}
"""How many faults of each kind."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_faults(kind: str) -> None:
    """The rule holds after each of them; which conversions they meet differs from kind to kind."""
    if shim.compiler() is None:
        pytest.skip("needs Linux with glibc and a C compiler")
    pytest.importorskip("onnx")
    names = list(JOBS)
    chosen = [names[(4 * list(KINDS).index(kind) + 5 * n) % len(names)] for n in range(3)]
    containers = [word for name in chosen for word in ("--container", name)]
    command = [sys.executable, str(SCRIPT), "--kind", kind, "--count", str(KINDS[kind]), "--seed", "20", *containers]
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[1])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{kind}: {KINDS[kind]} faults, 0 broken" in done.stdout


OLD, NEW, TORN = {"y.npz": b"old"}, {"y.npz": b"new"}, {"y.npz": b"ne"}
LINE = "lowprec: y.npz: cannot be written; No space left on device\n"


@pytest.mark.parametrize(
    ("status", "said", "after", "left", "why"),
    [
        (0, "", NEW, set(), None), (1, LINE, OLD, set(), None), (1, LINE, NEW, set(), None),
        (0, "", TORN, set(), "not the new one"), (0, "", OLD, set(), "not the new one"),
        (1, LINE, TORN, set(), "neither"), (1, LINE, {}, set(), "neither"), (-9, "", TORN, set(), "neither"),
        (-11, "", OLD, set(), "signal 11"), (1, "Traceback\n  …\n", OLD, set(), "not one line"),
        (1, "", OLD, set(), "not one line"), (2, LINE, OLD, set(), "status 2"),
        (1, LINE, OLD, {"y.npz.tmp-x"}, "left"), (0, "", NEW, {"y.npz.tmp-x"}, "left"),
    ],
)  # fmt: skip
def test_the_rule(status: int, said: str, after: dict[str, bytes], left: set[str], why: str | None) -> None:
    case = Case("kill" if status == -9 else "disk-full", "npz", True, "write", "once", 3, "ENOSPC")
    found = problems(case, JOBS["npz"], Outcome(status, said, {}, 0, 0.0), OLD, after, NEW, left)
    assert bool(found) == bool(why)
    assert why is None or why in "; ".join(found)


def test_an_error_of_a_write_must_be_reported() -> None:
    case = Case("disk-full", "npz", True, "write", "once", 3, "ENOSPC")
    assert problems(case, JOBS["npz"], Outcome(0, "", {}, 1, 0.0), OLD, NEW, NEW, set()) == [
        "an error of a write was passed over"
    ]


def test_a_case_is_a_line() -> None:
    case = Case("disk-full", "folder, resumed", False, "write", "from then on", 3, "EDQUOT", 4096)
    assert case.text == "disk-full:folder, resumed:new:write:from then on:3:EDQUOT:4096"
    assert Case.parse(case.text) == case
