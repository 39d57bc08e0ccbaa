"""Which back end carries out a job: all of them, in order.

They are named here as text and imported at the first job, for they call `dispatch` themselves for parts of their work.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ..arrays.libraries import check_readable
from .jobs import BlockJob, Job

__all__ = ["dispatch"]

BACKENDS = ("cpu", "strings", "dask", "jax", "cuda", "array_api")
"""Modules with `accepts(job)` and `run(job)`: compiled kernels, text, lazy and traced arrays, devices, any library."""

AT_ONCE = ("cpu", "cuda", "array_api")
"""Those that carry a job out where the elements are: the tasks of lazy and traced arrays end up here."""


@cache
def _modules(names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(import_module(f"{__package__}.{name}") for name in names)


def dispatch(job: Job | BlockJob, *, at_once: bool = False) -> Any:
    """Carry out a job; the result, of blocks a tuple, is in the library and on the device of ``job.x``."""
    if type(job.x) is not np.ndarray:
        check_readable(job.x)
    for backend in _modules(AT_ONCE if at_once else BACKENDS):
        if backend.accepts(job):
            return backend.run(job)
    raise AssertionError("the last back end accepts every job")
