"""The back ends that carry a job out at once, where the elements are: lazy and traced arrays end up here."""

from __future__ import annotations

from typing import Any, Protocol

from . import array_api, cpu, cuda
from .job import Job

__all__ = ["BACKENDS", "Backend", "run"]


class Backend(Protocol):
    """What carries out jobs: a module of this folder."""

    def accepts(self, job: Job) -> bool:
        """Whether it can carry out a job."""

    def run(self, job: Job) -> Any:
        """Carry out a job that it accepts: an array of the library, and on the device, of ``job.x``."""


BACKENDS: tuple[Backend, ...] = (cpu, cuda, array_api)
"""In the order of precedence."""


def run(job: Job) -> Any:
    """Carry out a job by the first of them that accepts it."""
    return next(backend for backend in BACKENDS if backend.accepts(job)).run(job)
