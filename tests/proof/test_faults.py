"""A few faults of each kind under `lowprec convert`: the slice of check_faults.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.proof_faults import shim
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
