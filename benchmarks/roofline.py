"""The compiled rooflines of roof.c, and memory on the border that they need."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from timing import Contender

BORDER = 64
"""Bytes of the widest vectors of roof.c."""


class Roof:
    """The compiled loops; a folder takes the library."""

    def __init__(self, folder: str) -> None:
        source = Path(__file__).with_name("roof.c")
        flags = ["-O3", "-Wno-psabi", "-march=native", "-mprefer-vector-width=512", "-fopenmp", "-shared", "-fPIC"]
        compiler = shutil.which("gcc") or "cc"
        if subprocess.run([compiler, *flags, source, "-o", f"{folder}/roof.so"], check=False).returncode:
            flags.remove("-mprefer-vector-width=512")  # an option of x86
            subprocess.run([compiler, *flags, source, "-o", f"{folder}/roof.so"], check=True)
        self.library = ctypes.CDLL(f"{folder}/roof.so")

    def copy(self, x: np.ndarray, out: np.ndarray, threads: int, kind: str = "copy") -> Contender:
        """Return a loop that reads all of x and writes all of out; `kind` stream has non-temporal stores."""
        fewer, more = sorted((x.nbytes, out.nbytes))
        if more % fewer or fewer % BORDER or x.ctypes.data % BORDER or out.ctypes.data % BORDER:
            raise ValueError(f"no loop copies {x.nbytes} bytes to {out.nbytes} bytes in whole vectors")
        direction = "narrow" if x.nbytes >= out.nbytes else "widen"
        loop = getattr(self.library, f"{kind}_{direction}_{more // fewer}")
        return self._contender(loop, (x, out), fewer, threads)

    def read(self, x: np.ndarray, threads: int) -> Contender:
        """Return a loop that reads all of x and writes nothing."""
        if x.nbytes % (4 * BORDER) or x.ctypes.data % BORDER:
            raise ValueError(f"no loop reads {x.nbytes} bytes in whole vectors, four at a time")
        loop = self.library.read_bytes
        loop.restype = ctypes.c_uint64
        return self._contender(loop, (x,), x.nbytes, threads)

    @staticmethod
    def _contender(loop: Any, arrays: tuple[np.ndarray, ...], nbytes: int, threads: int) -> Contender:
        # Addresses are taken once: a ctypes object made in each call takes as long as a loop over 64 KiB.
        loop.argtypes = [ctypes.c_void_p] * len(arrays) + [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_ssize_t]
        addresses = (ctypes.c_void_p(array.ctypes.data) for array in arrays)
        run = partial(loop, *addresses, nbytes, threads)
        return Contender(run, threads=threads, keep=arrays)


def aligned(nbytes: int) -> np.ndarray:
    """Return bytes that begin on a 64-byte border, written once."""
    whole = np.empty(nbytes + BORDER, np.uint8)
    whole.fill(0)  # NumPy's zeros would map every page to the same one until it is written
    start = -whole.ctypes.data % BORDER
    return whole[start : start + nbytes]
