"""Tasks on threads, one of which fails; files that are complete when their last tensor is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lowprec.checkpoints.chunks import Chunk
from lowprec.checkpoints.containers.container import FileRegion, StoredTensor
from lowprec.checkpoints.execution.runners import Threads
from lowprec.checkpoints.execution.steps import FileCompletion
from lowprec.checkpoints.execution.worker import Task, TaskResult
from lowprec.checkpoints.operations.copy import Copy
from lowprec.spec.formats import INT8

STORED = StoredTensor("x", (1,), INT8, "I8", FileRegion(Path("x"), 0, 1))


def test_what_was_begun_before_an_error_is_done_and_yielded() -> None:
    """Task 1 fails when task 0 is done and task 2 is begun."""
    begun, failed = threading.Event(), threading.Event()

    def execute(_: Any, task: Task) -> TaskResult:
        if task.number == 1:
            failed.set()
            raise ValueError("no room")
        if task.number == 2:
            begun.set()
            time.sleep(0.1)
        return TaskResult(task.number)

    def tasks() -> Iterator[Task]:
        for number in range(3):
            yield Task(number, Copy(STORED), (Chunk(0, (1, 1, 1), 0),), ())
        assert begun.wait(10)
        assert failed.wait(10)

    threads = Threads(3)
    done: list[int] = []
    try:
        with pytest.raises(ValueError, match="no room"):
            done.extend(one.number for one in threads.run(execute, tasks()))
    finally:
        threads.close()
    assert sorted(done) == [0, 2]


def test_a_file_is_complete_when_its_last_tensor_is() -> None:
    complete: list[int] = []
    watch = FileCompletion({0: {0}, 1: {0, 1}, 2: {1}, 3: {2}}, complete.append)
    for tensor in (0, 1, 1, 2):
        watch.task_made(tensor)
    watch.task_done(1)
    watch.task_done(1)
    watch.task_done(0)
    watch.all_made(0)
    assert complete == []  # tensor 1 may have more tasks
    watch.all_made(1)
    assert complete == [0]
    watch.all_made(2)
    watch.all_made(3)  # it is empty, and has no task
    assert complete == [0, 2]
    watch.task_done(2)
    assert complete == [0, 2, 1]
