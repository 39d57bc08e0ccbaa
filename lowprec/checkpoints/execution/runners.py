"""Runners of tasks: threads of this process, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
from typing import Any, Protocol

from ..files.errors import FileError
from ..files.thread_start import submit
from .worker import Task, TaskResult, Worker

__all__ = ["Cluster", "Runner", "Threads"]

PATIENCE = 10
"""Seconds that a scheduler has to answer."""

Action = Callable[[Worker, Task], TaskResult]


class Runner(Protocol):
    """Carries out tasks in any order.

    Attributes
    ----------
    chunks : int
        How many chunks a task should have; with Dask, tasks of fewer are joined.
    """

    chunks: int

    def run(self, action: Action, tasks: Iterable[Task]) -> Iterator[TaskResult]:
        """Yield what came of each task; the first error ends it."""

    def close(self) -> None:
        """End what was started."""


def _results(done: set[futures.Future[TaskResult]], waiting: set[futures.Future[TaskResult]]) -> Iterator[TaskResult]:
    """Yield what came of tasks that are done; if one has failed, of those that wait and are begun too, then raise."""
    if any(one.exception() is not None for one in done):
        for one in waiting:
            one.cancel()
        done = done | futures.wait(waiting).done
    ended = [one for one in done if not one.cancelled()]
    for one in sorted(ended, key=lambda one: one.exception() is not None):
        yield one.result()


class Threads:
    """Threads of this process, each with buffers of its own."""

    chunks = 1

    def __init__(self, n: int) -> None:
        """Start up to `n` threads when they are needed."""
        self._n = n
        self._pool = futures.ThreadPoolExecutor(n, "lowprec")
        self._own = threading.local()
        self._workers: list[Worker] = []
        self._submitted = 0

    def _execute(self, action: Action, task: Task) -> TaskResult:
        worker: Worker | None = getattr(self._own, "worker", None)
        if worker is None:
            worker = self._own.worker = Worker()
            self._workers.append(worker)
        return action(worker, task)

    def run(self, action: Action, tasks: Iterable[Task]) -> Iterator[TaskResult]:
        """Yield what came of each task, few of which wait at any time.

        An error ends it, once what was begun before is done and yielded.
        """
        waiting: set[futures.Future[TaskResult]] = set()
        try:
            for task in tasks:
                self._submitted += 1
                waiting.add(submit(self._pool, self._submitted <= self._n, self._execute, action, task))
                if len(waiting) >= 2 * self._n:
                    done, waiting = futures.wait(waiting, return_when=futures.FIRST_COMPLETED)
                    yield from _results(done, waiting)
            while waiting:
                done, waiting = futures.wait(waiting, return_when=futures.FIRST_COMPLETED)
                yield from _results(done, waiting)
        finally:
            for one in waiting:
                one.cancel()
            futures.wait(waiting)

    def close(self) -> None:
        """End the threads and close their files."""
        self._pool.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()


def _execute(action: Action, tasks: Sequence[Task]) -> list[TaskResult]:
    """Carry out tasks on a worker of Dask's, which opens the files itself."""
    worker = Worker()
    try:
        return [action(worker, task) for task in tasks]
    finally:
        worker.close()


def _bundles(tasks: Iterable[Task], chunks: int) -> Iterator[list[Task]]:
    """Join tasks of few chunks, so that files are opened once for many small tensors."""
    bundle: list[Task] = []
    for task in tasks:
        if bundle and sum(len(one.chunks) for one in bundle) + len(task.chunks) > chunks:
            yield bundle
            bundle = []
        bundle.append(task)
    if bundle:
        yield bundle


class Cluster:
    """A Dask cluster: ``local`` for processes on this machine, else the address of a scheduler.

    Its workers must see the files under the same paths.
    """

    chunks = 32

    def __init__(self, address: str, n: int) -> None:
        """Connect, or start `n` processes."""
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise ImportError("`dask` needs Dask, which is not installed: pip install 'lowprec[dask]'") from None
        self._distributed = distributed
        self._local: Any = None
        try:
            if address == "local":
                here = {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}
                self._local = distributed.LocalCluster(n_workers=n, threads_per_worker=1, silence_logs=50, **here)
            self._client: Any = distributed.Client(self._local or address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            text = " ".join(str(error).split())[:120]
            raise FileError(f"`dask` {address}: no scheduler answers there; {text}") from None

    def run(self, action: Action, tasks: Iterable[Task]) -> Iterator[TaskResult]:
        """Yield what came of each task; the first error ends it."""
        bundles = _bundles(tasks, self.chunks)
        submitted = [self._client.submit(_execute, action, bundle, pure=False) for bundle in bundles]
        with self._client.as_current():
            completed = self._distributed.as_completed(submitted)
        try:
            for one in completed:
                yield from one.result()
        finally:
            with contextlib.suppress(Exception):
                self._client.cancel(submitted)

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        self._client.close()
        if self._local is not None:
            self._local.close()
