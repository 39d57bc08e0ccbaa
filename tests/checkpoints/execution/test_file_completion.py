"""When all tensors of a file are written."""

from __future__ import annotations

from lowprec.checkpoints.execution.steps import FileCompletion


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
