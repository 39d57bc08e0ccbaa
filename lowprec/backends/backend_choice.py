"""Which back end carries out a job: all of them, in order.

They are named here as text and imported at the first job, for they call `dispatch` themselves for parts of their work.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ..arrays.array_memory import check_out
from ..arrays.libraries import check_readable
from .jobs import BlockJob, Job

__all__ = ["dispatch", "run_blocks"]

BACKENDS = ("cpu", "strings", "dask", "jax", "cuda", "array_api")
"""Modules with `accepts(job)` and `run(job)`: compiled kernels, text, lazy and traced arrays, devices, any library."""

AT_ONCE = ("cpu", "cuda", "array_api")
"""Those that carry a job out where the elements are: the tasks of lazy and traced arrays end up here."""

BLOCK_BACKENDS = ("dask", "jax", "mx_nvfp4_blocks", "array_api.blocks")
"""Modules with `accepts_blocks(job)` and `run_blocks(job)`."""


@cache
def _modules(names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(import_module(f"{__package__}.{name}") for name in names)


def dispatch(job: Job, *, at_once: bool = False) -> Any:
    """Carry out a job; the result is in the library and on the device of ``job.x``."""
    if type(job.x) is not np.ndarray:
        check_readable(job.x)
    for backend in _modules(AT_ONCE if at_once else BACKENDS):
        if backend.accepts(job):
            return backend.run(job)
    raise AssertionError("the last back end accepts every job")


def run_blocks(job: BlockJob) -> tuple[Any, ...]:
    """Carry out a block quantization; the results are in the library and on the device of ``job.x``."""
    check_readable(job.x)
    job = job._replace(block=min(job.block, max(job.x.shape[job.axis], 1)))  # it is no longer than its axis
    if job.out is not None:
        for out, (shape, dtype) in zip(job.out, job.results, strict=True):
            check_out(out, job.x, shape, dtype)
    backend = next(backend for backend in _modules(BLOCK_BACKENDS) if backend.accepts_blocks(job))
    results: tuple[Any, ...] = backend.run_blocks(job)
    return results
