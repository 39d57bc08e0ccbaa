"""No floating-point mode of the caller changes a result of host arithmetic: plans, texts, numbers, statistics."""

from __future__ import annotations

import functools
import json
import os
import platform
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support import float_mode_digest
from support.float_modes import MODES, PROCESSORS
from support.paths import with_support

import lowprec as lp
from lowprec._float_mode import default_mode

IS_KNOWN = os.uname().machine in PROCESSORS and platform.libc_ver()[0] == "glibc"
known_only = pytest.mark.skipif(not IS_KNOWN, reason="the modes are set for x86-64 and aarch64 with glibc")
ODD = [mode for mode in MODES if mode != "nearest"]


@functools.cache
def digest(mode: str) -> dict[str, Any]:
    """Return what a fresh process prints in a mode."""
    command = [sys.executable, "-W", "error", "-m", "support.float_mode_digest", mode]
    done = subprocess.run(command, env=with_support(), capture_output=True, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def nearest() -> dict[str, Any]:
    """Give the digests in the default mode."""
    return digest("nearest")


@pytest.mark.slow
@known_only
@pytest.mark.parametrize("mode", ODD)
def test_nothing_depends_on_the_mode(nearest: dict[str, Any], mode: str) -> None:
    assert digest(mode) == nearest | {"mode": mode}


@pytest.mark.slow
@known_only
@pytest.mark.parametrize("mode", MODES)
def test_what_the_modes_changed_once(mode: str) -> None:
    # The first overflowing magnitudes of the Cast page: > 464, >= 248, >= 61440 twice; NaN, or Inf, from there on.
    found = digest(mode)
    inputs = [464.0, -464.0, 464.03125, 480.0, 248.0, 247.9, 61440.0, 61439.0]
    assert float_mode_digest.TIES.tolist() == [np.float32(number) for number in inputs]
    e4m3fn, e4m3fnuz, e5m2, e5m2fnuz = found["ties"]
    assert e4m3fn == [0x7E, 0xFE, 0x7F, 0x7F, 0x78, 0x77, 0x7F, 0x7F]
    assert e4m3fnuz == [0x80, 0x80, 0x80, 0x80, 0x80, 0x7F, 0x80, 0x80]
    assert (e5m2[-2:], e5m2fnuz[-2:]) == ([0x7C, 0x7B], [0x80, 0x7F])
    assert found["text"] == ["1e-45", "4e-45"]  # of the codes 1 and 3 of float32
    assert found["smallest"] == (1).to_bytes(8, "little").hex()


def test_a_function_in_the_default_mode_passes_everything_on() -> None:
    @default_mode
    def difference(a: int, *, b: int = 1) -> int:
        """Subtract."""
        return a - b

    assert (difference(5), difference(5, b=2), difference.__doc__) == (4, 3, "Subtract.")
    with pytest.raises(TypeError, match="unexpected keyword"):
        difference(5, c=2)  # type: ignore[call-arg]


def test_an_error_puts_the_mode_back(odd_mode: None) -> None:
    @default_mode
    def refuse() -> None:
        raise KeyError("no")

    with pytest.raises(KeyError, match="no"):
        refuse()
    with pytest.raises(ValueError, match="`x` must hold numbers as text"):
        lp.cast(np.array(["zero"]), "float32")  # `odd_mode` finds its mode again
