"""How many threads a conversion takes."""

from __future__ import annotations

import os

from . import _kernels

__all__ = ["get_num_threads", "set_num_threads", "threads_for"]

PARALLEL_FROM = 1 << 20
"""Elements below which the automatic choice is one thread: waking the others may take longer than the work."""

_asked: int | None = None
_forked = False


def _available() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _checked(n: object, parameter: str) -> int:
    number = n.__index__() if hasattr(n, "__index__") and not isinstance(n, bool) else 0
    if not 1 <= number <= 1024:
        raise ValueError(f"`{parameter}` must be an integer from 1 to 1024; got {n!r}")
    return int(number)


def _from_environment(parameter: str) -> int | None:
    text = os.environ.get(parameter)
    return _checked(int(text) if text.isdecimal() else text, parameter) if text else None


def set_num_threads(n: int | None, /) -> None:
    """Set how many threads a conversion may take.

    Parameters
    ----------
    n : int or None
        From 1 to 1024, or None for the automatic choice: the cores this process may use (``LOWPREC_NUM_THREADS``,
        where it is set), from 1 Mi elements up. An explicit number is used for arrays of any size, in shares of at
        least 1024 elements.

    Raises
    ------
    ValueError
        If `n` is anything else.

    Notes
    -----
    In a child of ``os.fork`` conversions run on one thread, since OpenMP's threads do not survive a fork.

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
    return get_num_threads()


def _after_fork() -> None:
    global _forked
    _forked = True


_default = _from_environment("LOWPREC_NUM_THREADS") or _available()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
