"""Writing to the disk while more is being converted, so that little is left for the end."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

__all__ = ["start_writing"]

_WRITE = 2  # SYNC_FILE_RANGE_WRITE of sync_file_range(2)


@cache
def _call() -> Callable[[int, int, int, int], int] | None:
    """Return Linux's sync_file_range, or None on a system without it."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        sync_file_range = ctypes.CDLL(None).sync_file_range
    except (AttributeError, OSError):
        return None
    sync_file_range.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    sync_file_range.restype = ctypes.c_int

    def call(*arguments: int) -> int:
        return int(sync_file_range(*arguments))

    return call


def start_writing(handle: int, offset: int, nbytes: int) -> None:
    """Have the system begin to write a part of an open file to the disk, without waiting for it.

    It is a hint: what cannot be done now, for whatever reason, the fsync at the end does, and reports.
    """
    call = _call()
    if call is not None and nbytes:
        call(handle, offset, nbytes, _WRITE)
