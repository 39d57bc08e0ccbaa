"""One worker: carries out the chunks of operations, writes what they make or compares it with the bytes in the file."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...backends.threads import one_thread
from ...loss.error_stats import ErrorStats
from ..chunks import Chunk
from ..files.atomic_output import start_writing
from ..files.errors import FileError, MismatchError, reason
from ..operations.operation import Array, Operation, Workspace

__all__ = ["OutputPosition", "Task", "TaskResult", "Worker"]


@dataclass(frozen=True, slots=True)
class OutputPosition:
    """Where a tensor starts in a file that is being written."""

    path: Path
    offset: int


@dataclass(frozen=True, slots=True)
class Task:
    """Some chunks of one tensor, and all that is needed to convert them on any machine that sees the files.

    Attributes
    ----------
    number : int
        Which tensor it is.
    operation : Operation
        What is done with it.
    chunks : tuple of Chunk
        In the order of memory.
    positions : tuple of OutputPosition
        Where the outputs of the operation go.
    shared : object
        What the operation needs to know of the whole tensor.
    """

    number: int
    operation: Operation
    chunks: tuple[Chunk, ...]
    positions: tuple[OutputPosition, ...]
    shared: Any = None


@dataclass(slots=True)
class TaskResult:
    """The result of a task: statistics; largest magnitudes, each with its index; bytes read; seconds."""

    number: int
    stats: ErrorStats = field(default_factory=ErrorStats)
    magnitudes: list[tuple[int, Array]] = field(default_factory=list)
    nbytes: int = 0
    seconds: float = 0.0


_Deliver = Callable[[OutputPosition, int, Array], None]


class Worker:
    """Runs tasks, one at a time, with files and buffers of its own."""

    def __init__(self) -> None:
        self._workspace = Workspace()
        self._files: dict[Path, IO[bytes]] = {}

    def close(self) -> None:
        """Close all files."""
        self._workspace.close()
        for stream in self._files.values():
            stream.close()
        self._files.clear()

    def measure(self, task: Task) -> TaskResult:
        """Find the largest magnitudes of chunks."""

        def measure(done: TaskResult, chunk: Chunk) -> None:
            done.magnitudes += task.operation.measure(chunk, self._workspace)

        return self._each(task, measure)

    def convert(self, task: Task) -> TaskResult:
        """Convert the chunks, or copy them, and write them."""
        return self._convert(task, self._write)

    def verify(self, task: Task) -> TaskResult:
        """Convert the chunks again and raise FileError unless the bytes that were written are the same."""
        return self._convert(task, self._compare)

    def _convert(self, task: Task, deliver: _Deliver) -> TaskResult:
        def convert(done: TaskResult, chunk: Chunk) -> None:
            written: dict[int, tuple[int, int]] = {}
            for output, at, content in task.operation.convert(chunk, self._workspace, task.shared, done.stats):
                deliver(task.positions[output], at, content)
                start, end = written.get(output, (at, at))
                written[output] = min(start, at), max(end, at + content.nbytes)
            if deliver == self._write:
                for output, (start, end) in written.items():
                    self._start_writing(task.positions[output], start, end)

        return self._each(task, convert)

    def _each(self, task: Task, action: Callable[[TaskResult, Chunk], None]) -> TaskResult:
        done, started, before = TaskResult(task.number), time.perf_counter(), self._workspace.nbytes
        with one_thread():  # the others convert other chunks
            for chunk in task.chunks:
                action(done, chunk)
        done.nbytes = self._workspace.nbytes - before
        done.seconds = time.perf_counter() - started
        return done

    def _open(self, path: Path) -> IO[bytes]:
        stream = self._files.get(path)
        if stream is None:
            stream = self._files[path] = path.open("r+b", buffering=0)
        return stream

    def _write(self, position: OutputPosition, at: int, content: Array) -> None:
        view = memoryview(content)
        try:
            stream = self._open(position.path)
            stream.seek(position.offset + at)
            while view.nbytes:
                view = view[stream.write(view) :]
        except OSError as error:
            raise FileError(f"{position.path.name}: cannot be written; {reason(error)}") from None

    def _start_writing(self, position: OutputPosition, start: int, end: int) -> None:
        """Have the bytes of a chunk brought to the disk: a request for each part of it would cost more."""
        start_writing(self._open(position.path).fileno(), position.offset + start, end - start)

    def _compare(self, position: OutputPosition, at: int, content: Array) -> None:
        there = self._workspace.arithmetic.buffer("there", np.uint8, content.size)
        stream, view = self._open(position.path), memoryview(there)
        stream.seek(position.offset + at)
        while view.nbytes and (n := stream.readinto(view)):  # type: ignore[attr-defined]
            view = view[n:]
        if view.nbytes or not np.array_equal(there, content):
            raise MismatchError(f"{position.path.name}: what was written is not what a fresh conversion gives")
