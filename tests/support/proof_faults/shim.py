"""The library that makes calls of the C library fail: compiled when it is needed, and set from Python."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

GROUPS = {
    name: 1 << bit
    for bit, name in enumerate(
        ("read", "write", "open", "stat", "fsync", "rename", "truncate", "copy", "link", "mkdir", "remove", "chmod",
         "map", "memory")
    )
}  # fmt: skip
"""Groups of calls, as in fault_shim.c."""

ACTIONS = ("count", "once", "from then on", "kill", "short", "shrink", "change")

SOURCE = Path(__file__).with_name("fault_shim.c")

VARIABLE = "LOWPREC_FAULT_SHIM"


def compiler() -> str | None:
    """Return the C compiler, None where there is none or the system has no LD_PRELOAD of glibc."""
    if not sys.platform.startswith("linux") or "glibc" not in os.confstr("CS_GNU_LIBC_VERSION"):
        return None
    return shutil.which("cc") or shutil.which("gcc")


def compile_shim(folder: Path) -> dict[str, str]:
    """Compile the library; return the environment of a process that loads it."""
    path = folder / "fault_shim.so"
    command = [compiler() or "cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", path, SOURCE, "-ldl"]
    subprocess.run(command, check=True)
    before = [one for one in [os.environ.get("LD_PRELOAD")] if one]
    return {**os.environ, "LD_PRELOAD": " ".join([str(path), *before]), VARIABLE: str(path)}


def is_loaded() -> bool:
    """Whether this process has the library."""
    return VARIABLE in os.environ


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(os.environ[VARIABLE])
    library.fault_shim_set.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_char_p,
                                       ctypes.c_size_t]  # fmt: skip
    library.fault_shim_set.restype = None
    library.fault_shim_calls.restype = library.fault_shim_hits.restype = ctypes.c_long
    return library


def set_fault(groups: int, action: str, nth: int, error: int, folder: Path, least: int = 0) -> None:
    """Choose what happens at the n-th call of some groups that concerns a file of a folder, in this process."""
    _library().fault_shim_set(groups, ACTIONS.index(action), nth, error, os.fsencode(folder), least)


def calls() -> dict[str, int]:
    """Return how many calls of each group the process that was set last has made, whether it still runs or not."""
    return {name: int(_library().fault_shim_calls(bit)) for name, bit in GROUPS.items()}


def hits() -> int:
    """Return how many of them met the fault."""
    return int(_library().fault_shim_hits())
