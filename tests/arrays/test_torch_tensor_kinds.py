"""Unusual torch tensors, each in a process of its own so that a crash is seen: the oracle's bits, or a TypeError."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("torch")

from support.paths import with_support
from support.torch_tensor_kinds import CASES


@pytest.fixture(scope="module")
def tried() -> Iterator[Callable[[str], tuple[int, str]]]:
    """Give a function that tries a case in a process forked from one that has imported torch."""
    command, pipe = [sys.executable, "-m", "support.torch_tensor_kinds"], subprocess.PIPE
    with subprocess.Popen(command, env=with_support(), stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def ask(name: str) -> tuple[int, str]:
            server.stdin.write(f"{name}\n")
            server.stdin.flush()
            status, said = json.loads(server.stdout.readline())
            return status, said

        yield ask
        server.stdin.close()


@pytest.mark.parametrize("name", CASES)
def test_odd_tensors(name: str, tried: Callable[[str], tuple[int, str]]) -> None:
    status, said = tried(name)
    assert status == 0, f"exit status {status}\n{said}"
