"""Starting threads where memory may be short: MemoryError instead of a wait without end."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from concurrent import futures
from typing import TypeVar

__all__ = ["submit"]

T = TypeVar("T")

ROOM = 12 << 20
"""Address space that a new thread takes: a stack, usually 8 MiB, and what Python allocates before it says it runs."""


def submit(
    pool: futures.ThreadPoolExecutor, is_new: bool, action: Callable[..., T], *arguments: object
) -> futures.Future[T]:
    """Have a pool carry out an action; raise MemoryError where a new thread has no memory.

    A thread that gets no memory when it starts ends at once, and Python waits for it forever: so it is asked before.
    """
    try:
        if is_new:
            mmap.mmap(-1, ROOM).close()  # reserved, not touched
        return pool.submit(action, *arguments)
    except (OSError, RuntimeError):  # "can't start new thread"
        raise MemoryError from None
