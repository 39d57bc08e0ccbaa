"""The floating-point modes of a thread, set as a program may: rounding directions, and subnormals taken as zero."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import os
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["MODES", "can_set", "in_mode", "mode_in_force", "set_mode"]

ROUNDINGS = {"nearest": 0x000, "down": 0x400, "up": 0x800, "toward zero": 0xC00}  # x87's bits; MXCSR's are 3 higher
FLUSH, SUBNORMALS_ARE_ZERO = 0x8000, 0x0040
MODES = (*ROUNDINGS, "flush")

_FENV_BYTES, _MXCSR = 32, 28  # of glibc's fenv_t on x86-64


@functools.cache
def _libm() -> Any:
    return ctypes.CDLL(ctypes.util.find_library("m"))


@functools.cache
def can_set() -> bool:
    """Whether modes that are set are in force on this machine: x86-64 with glibc, but not under valgrind."""
    if os.uname().machine != "x86_64" or ctypes.util.find_library("m") is None:
        return False
    in_force = []
    for mode in MODES:
        set_mode(mode)
        in_force.append(mode_in_force())
    set_mode("nearest")
    return in_force == list(MODES)


def set_mode(mode: str) -> None:
    """Set the floating-point mode of this thread, for SSE and x87; glibc on x86-64."""
    libm = _libm()
    memory = ctypes.create_string_buffer(_FENV_BYTES)
    assert libm.fesetround(ROUNDINGS.get(mode, 0)) == 0
    assert libm.fegetenv(memory) == 0
    (word,) = struct.unpack_from("<I", memory, _MXCSR)
    flags = FLUSH | SUBNORMALS_ARE_ZERO
    struct.pack_into("<I", memory, _MXCSR, word | flags if mode == "flush" else word & ~flags)
    assert libm.fesetenv(memory) == 0


@contextlib.contextmanager
def in_mode(mode: str) -> Iterator[None]:
    """Put this thread in a mode; raise AssertionError if another one is in force at the end."""
    if mode == "nearest":
        yield
        return
    set_mode(mode)
    try:
        yield
        found = mode_in_force()
    finally:
        set_mode("nearest")
    assert found == mode, f"the floating-point mode was {mode} before the call, and is {found} after it"


def mode_in_force() -> str:
    """Find out the mode by arithmetic, as a program meets it."""
    one, tiny, least = np.float64(1), np.float64(2.0**-60), np.array([1], np.uint64).view(np.float64)
    with np.errstate(all="ignore"):
        if (least * 1.0).view(np.uint64)[0] == 0:
            return "flush"
        up, down = one + tiny > 1, -one - tiny < -1
        toward_zero = one - tiny < 1
    return {(True, False): "up", (False, True): "down", (False, False): "toward zero" if toward_zero else "nearest"}[
        bool(up), bool(down)
    ]
