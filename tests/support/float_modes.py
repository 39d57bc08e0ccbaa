"""The floating-point modes of a thread, set as a program may: rounding directions, and subnormals taken as zero."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import os
import platform
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

MODES = ("nearest", "down", "up", "toward zero", "flush")


class Processor(NamedTuple):
    """How glibc and the control register of a processor hold the modes."""

    roundings: dict[str, int]
    """Arguments of fesetround."""
    fenv_bytes: int
    """The size of fenv_t."""
    control: int
    """Where fenv_t has the 32 bits of the control register."""
    flush: int
    """The bits of that register that take subnormals as zero, as results and as operands."""


PROCESSORS = {
    # x87's bits; those of MXCSR, to which `flush` belongs, are 3 higher, and glibc sets both
    "x86_64": Processor({"nearest": 0, "down": 0x400, "up": 0x800, "toward zero": 0xC00}, 32, 28, 0x8040),
    # RMode and FZ of FPCR
    "aarch64": Processor({"nearest": 0, "up": 1 << 22, "down": 2 << 22, "toward zero": 3 << 22}, 8, 0, 1 << 24),
}


@functools.cache
def _libm() -> Any:
    return ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")


@functools.cache
def can_set() -> bool:
    """Whether modes that are set are in force here: on a known processor with glibc, but not under valgrind."""
    if os.uname().machine not in PROCESSORS or platform.libc_ver()[0] != "glibc":
        return False
    in_force = []
    for mode in MODES:
        set_mode(mode)
        in_force.append(mode_in_force())
    set_mode("nearest")
    return in_force == list(MODES)


def set_mode(mode: str) -> None:
    """Set the floating-point mode of this thread, where `can_set`; on x86-64 that of SSE and of x87."""
    libm, processor = _libm(), PROCESSORS[os.uname().machine]
    memory = ctypes.create_string_buffer(processor.fenv_bytes)
    assert libm.fesetround(processor.roundings.get(mode, 0)) == 0
    assert libm.fegetenv(memory) == 0
    (word,) = struct.unpack_from("<I", memory, processor.control)
    word = word | processor.flush if mode == "flush" else word & ~processor.flush
    struct.pack_into("<I", memory, processor.control, word)
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
