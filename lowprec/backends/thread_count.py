"""How many threads a conversion takes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from .. import _kernels
from ..spec.scalar_arguments import as_integer, shown
from .cpu_limits import available_cores
from .environment import setting

__all__ = ["get_num_threads", "is_small", "one_thread", "set_num_threads", "shared", "threads_for"]

_Result = TypeVar("_Result")

PARALLEL_FROM = 1 << 20
"""Elements below which the automatic choice is one thread: waking the others may take longer than the work."""

_asked: int | None = None
_forked = False
_team = threading.Lock()
"""Held by the conversion that runs on several threads: OpenMP would start as many again for each caller."""

_task = threading.local()


def _checked(n: object, parameter: str) -> int:
    number = as_integer(n)
    if number is None or not 1 <= number <= 1024:
        raise ValueError(f"`{parameter}` must be an integer from 1 to 1024; got {shown(n)}")
    return number


def _read(text: str) -> int:
    try:
        return _checked(int(text) if text.isdecimal() else text, "n")
    except ValueError:
        raise ValueError(f"LOWPREC_NUM_THREADS must be an integer from 1 to 1024; got {text!r}") from None


def _automatic() -> int:
    """Return the cores this process may use, fewer where OMP_NUM_THREADS says so; not ours, its errors are ignored."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    cores = available_cores()
    return min(cores, int(first)) if first.isdecimal() and int(first) else cores


def set_num_threads(n: int | None, /) -> None:
    """Set how many threads a conversion may take.

    Parameters
    ----------
    n : int or None
        From 1 to 1024, or None for the automatic choice: ``LOWPREC_NUM_THREADS`` where it is set, else the cores that
        affinity and control groups leave this process, at most ``OMP_NUM_THREADS``; from 1 Mi elements up. An explicit
        number is used for arrays of any size, in shares of at least 1024 elements.

    Raises
    ------
    ValueError
        If `n` is anything else.

    Notes
    -----
    A wrong ``LOWPREC_NUM_THREADS`` is reported in one line at import, by the logger ``lowprec``, and not used. The
    command ``lowprec`` ends with status 1 then.

    One conversion of a process takes several threads at a time; others that callers start meanwhile run on the thread
    of their caller, as the tasks of Dask always do. In a child of ``os.fork`` all do, since OpenMP's threads do not
    survive a fork.

    Examples
    --------
    >>> import lowprec as lp
    >>> lp.set_num_threads(2)
    >>> lp.get_num_threads()
    2
    >>> lp.set_num_threads(None)
    """
    global _asked
    _asked = None if n is None else _checked(n, "n")
    _kernels.set_alone_below(PARALLEL_FROM if is_small(0) else 0)


def get_num_threads() -> int:
    """Return how many threads a large conversion takes (see `set_num_threads`).

    Returns
    -------
    int
        1 or more; 1 without OpenMP, and in a child of ``os.fork``.

    Examples
    --------
    >>> import lowprec as lp
    >>> lp.get_num_threads() >= 1
    True
    """
    if _forked or not _kernels.openmp():
        return 1
    if _asked is not None:
        return _asked
    return _default


def threads_for(n: int) -> int:
    """Return the number of threads for `n` elements."""
    if n < PARALLEL_FROM and _asked is None:
        return 1
    return 1 if getattr(_task, "alone", False) else get_num_threads()


def is_small(n: int) -> bool:
    """Whether `n` elements take one thread, whatever else goes on."""
    return n < PARALLEL_FROM and _asked in (None, 1)


def shared(n: int, run: Callable[..., _Result], *arguments: object) -> _Result:
    """Return ``run(*arguments, threads)``: the threads for `n` elements, one if another conversion has several."""
    count = threads_for(n)
    if count == 1 or not _team.acquire(blocking=False):
        return run(*arguments, 1)
    try:
        return run(*arguments, count)
    finally:
        _team.release()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep the conversions of the calling thread on that thread."""
    before = getattr(_task, "alone", False)
    _task.alone = True
    try:
        yield
    finally:
        _task.alone = before


def _after_fork() -> None:
    global _forked
    _forked = True


_kernels.set_alone_below(PARALLEL_FROM)
_default = setting("LOWPREC_NUM_THREADS", _read, None) or _automatic()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
