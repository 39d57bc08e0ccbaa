"""Which output files are complete: those all of whose tensors have been written, each in several tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

__all__ = ["FileCompletion"]


class FileCompletion:
    """Counts tasks, and calls a function with the number of each file when its last tensor is written.

    Parameters
    ----------
    files_of : mapping of int to set of int
        The tensors that are to be written, and the files that each is written to.
    complete : callable
        Takes the number of a file.
    """

    def __init__(self, files_of: Mapping[int, set[int]], complete: Callable[[int], None]) -> None:
        self._files_of, self._complete = files_of, complete
        self._tensors = Counter(file for files in files_of.values() for file in files)
        self._tasks: Counter[int] = Counter()
        self._made: set[int] = set()

    def task_made(self, tensor: int) -> None:
        """Count a task of a tensor."""
        self._tasks[tensor] += 1

    def all_made(self, tensor: int) -> None:
        """Note that a tensor has no more tasks than those that were made."""
        self._made.add(tensor)
        self._check(tensor)

    def task_done(self, tensor: int) -> None:
        """Note that a task of a tensor is carried out."""
        self._tasks[tensor] -= 1
        self._check(tensor)

    def _check(self, tensor: int) -> None:
        if self._tasks[tensor] or tensor not in self._made:
            return
        for file in sorted(self._files_of[tensor]):
            self._tensors[file] -= 1
            if not self._tensors[file]:
                self._complete(file)
