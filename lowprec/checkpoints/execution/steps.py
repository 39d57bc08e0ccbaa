"""The order of a conversion: measure, convert file by file, verify; which files are complete."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats
from ..chunks import Chunk
from ..containers.container import ArchiveMember
from ..files.atomic_output import OutputFiles, Staging
from ..files.errors import FileError, MismatchError, reason
from ..operations.operation import Array
from ..planning.conversion_plan import ConversionPlan
from ..progress import Progress
from .runners import Action, Runner
from .worker import OutputPosition, Task, TaskResult, Worker

__all__ = ["FileCompletion", "Steps"]


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


class Steps:
    """The steps of one conversion, and what is shared between them.

    Attributes
    ----------
    tensor_stats : list of ErrorStats
        What was counted, for each tensor.
    seconds : list of float
        How long the workers took, together, for each tensor.
    """

    def __init__(
        self, plan: ConversionPlan, files: OutputFiles, staging: Staging, runner: Runner, chunk_bytes: int
    ) -> None:
        self._plan, self._files, self._staging = plan, files, staging
        self._runner, self._chunk_bytes = runner, chunk_bytes
        self._shared: dict[int, Any] = {}
        self.tensor_stats = [ErrorStats() for _ in plan.tensor_plans]
        self.seconds = [0.0] * len(plan.tensor_plans)
        self._files_of = [{files.slots[one.first + n].file for n in range(one.count)} for one in plan.tensor_plans]

    def convert(self, progress: Progress) -> None:
        """Find what must be known of whole tensors, then convert and write every tensor, file by file.

        Tensors all of whose files were finished by an earlier run keep what it counted.
        """
        kept = self._restore()
        numbers = [number for number in range(len(self._plan.tensor_plans)) if number not in kept]
        numbers.sort(key=lambda number: min(self._files_of[number], default=0))
        measured = self._groups(numbers)
        progress.skip(self._nbytes(kept) + self._nbytes(set(self._plan.measured) - measured.keys()))
        self._measure(progress, "measuring", measured)
        for path, at, content in self._constants(numbers):
            try:
                with path.open("r+b") as stream:
                    stream.seek(at)
                    stream.write(content)
            except OSError as error:
                raise FileError(f"{path.name}: cannot be written; {reason(error)}") from None
        progress.phase("converting")
        completion = FileCompletion({number: self._files_of[number] for number in numbers}, self._finish)
        for done in self._run(Worker.convert, numbers, progress, completion):
            self.tensor_stats[done.number].merge(done.stats)
            self.seconds[done.number] += done.seconds
            completion.task_done(done.number)

    def verify(self, progress: Progress) -> None:
        """Convert every tensor again, and raise MismatchError where the bytes that were written differ."""
        try:
            self._compare(progress)
        except MismatchError:
            self._staging.discard()
            raise

    def _compare(self, progress: Progress) -> None:
        numbers = range(len(self._plan.tensor_plans))
        self._measure(progress, "verifying, measuring", self._groups(numbers))
        for path, at, content in self._constants(numbers):
            with path.open("rb") as stream:
                stream.seek(at)
                if stream.read(len(content)) != content:
                    raise MismatchError(f"{path.name}: what was written is not what a fresh conversion gives")
        progress.phase("verifying")
        for _ in self._run(Worker.verify, numbers, progress):
            pass

    def _nbytes(self, numbers: Iterable[int]) -> int:
        return sum(self._plan.tensor_plans[number].operation.nbytes for number in numbers)

    def _restore(self) -> set[int]:
        """Take over what an earlier run counted; return the numbers of the tensors that it has finished."""
        counted: dict[int, tuple[ErrorStats, float]] = {}
        for state in self._staging.finished.values():
            for name, fields in state.items():
                with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
                    counted[int(name)] = ErrorStats.from_state(fields["stats"]), float(fields["seconds"])
        whole = self._staging.finished.keys()
        kept = {number for number, of in enumerate(self._files_of) if of and of <= whole and number in counted}
        for number in kept:
            self.tensor_stats[number], self.seconds[number] = counted[number]
        return kept

    def _finish(self, file: int) -> None:
        """Have a file kept, with what was counted of all tensors in it."""
        tensors = {
            str(number): {"stats": self.tensor_stats[number].state(), "seconds": self.seconds[number]}
            for number, of in enumerate(self._files_of)
            if file in of
        }
        self._staging.finish(file, tensors)

    def _run(
        self, action: Action, numbers: Iterable[int], progress: Progress, completion: FileCompletion | None = None
    ) -> Iterator[TaskResult]:
        for done in self._runner.run(action, self._tasks(numbers, completion)):
            yield done
            progress.advance(done.nbytes, self._plan.tensor_plans[done.number].operation.tensor.name)

    def _position(self, output: int) -> OutputPosition:
        slot = self._files.slots[output]
        return OutputPosition(self._staging.paths[slot.file], slot.offset)

    def _tasks(self, numbers: Iterable[int], completion: FileCompletion | None) -> Iterator[Task]:
        for number in numbers:
            plan = self._plan.tensor_plans[number]
            positions = tuple(self._position(plan.first + n) for n in range(plan.count))
            chunks: Iterator[Chunk] = plan.operation.cut.chunks(self._chunk_bytes)
            # A member of an archive is read from its first byte to its last.
            most = None if isinstance(plan.operation.tensor.location, ArchiveMember) else self._runner.chunks
            while group := tuple(itertools.islice(chunks, most)):
                if completion is not None:
                    completion.task_made(number)
                yield Task(number, plan.operation, group, positions, self._shared.get(number))
            if completion is not None:
                completion.all_made(number)

    def _constants(self, numbers: Iterable[int]) -> Iterator[tuple[Path, int, bytes]]:
        """Yield the bytes that no chunk has, and where they go."""
        for number in numbers:
            plan = self._plan.tensor_plans[number]
            for output, content in plan.operation.constants(self._shared.get(number)):
                position = self._position(plan.first + output)
                yield position.path, position.offset, content

    def _groups(self, numbers: Iterable[int]) -> dict[int, int | str]:
        """Return the tensors that must be measured so that some can be converted, and the group of each."""
        group_of = {number: self._plan.tensor_plans[number].operation.group or number for number in self._plan.measured}
        needed = {group_of[number] for number in numbers if number in group_of}
        return {number: group for number, group in group_of.items() if group in needed}

    def _measure(self, progress: Progress, phase: str, group_of: Mapping[int, int | str]) -> None:
        """Find what operations must know of every element of a tensor, or of a group of tensors."""
        plans = self._plan.tensor_plans
        if not group_of:
            return
        progress.phase(phase)
        self._shared.clear()
        largest: dict[int | str, Array] = {}
        for number, group in group_of.items():
            largest.setdefault(group, np.zeros(plans[number].operation.measured or ()))
        for done in self._run(Worker.measure, group_of, progress):
            for first, magnitudes in done.magnitudes:
                whole = largest[group_of[done.number]]
                part = whole[first : first + magnitudes.size] if magnitudes.ndim else whole
                np.maximum(part, magnitudes, out=part)
            self.seconds[done.number] += done.seconds
        for number, group in group_of.items():
            self._shared[number] = plans[number].operation.share(largest[group])
