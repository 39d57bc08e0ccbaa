"""Which back end carries out a job: the first that accepts it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.libraries import check_readable
from . import cpu, dask, eager, jax, strings
from .job import Job

__all__ = ["BACKENDS", "dispatch"]

BACKENDS: tuple[eager.Backend, ...] = (cpu, strings, dask, jax, *eager.BACKENDS[1:])
"""In the order of precedence: compiled loops, text, lazy and traced arrays, devices, any array library."""


def dispatch(job: Job) -> Any:
    """Carry out a job; the result is in the library and on the device of ``job.x``."""
    if type(job.x) is not np.ndarray:
        check_readable(job.x)
    for backend in BACKENDS:
        if backend.accepts(job):
            return backend.run(job)
    raise AssertionError("the last back end accepts every job")
