"""The steps of a conversion: what must be known of whole tensors, every tensor chunk by chunk, verification."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats
from ..arithmetic.chunks import Chunk
from ..containers.tensors import ArchiveMember
from ..files.errors import FileError, reason
from ..files.output_files import OutputFiles
from ..operations.operation import Array
from ..planning.conversion_plan import ConversionPlan
from ..progress import Progress
from .runners import Action, Runner
from .worker import OutputPosition, Task, TaskResult, Worker

__all__ = ["Steps"]


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
        self, plan: ConversionPlan, files: OutputFiles, paths: Sequence[Path], runner: Runner, chunk_bytes: int
    ) -> None:
        self._plan, self._files, self._paths = plan, files, paths
        self._runner, self._chunk_bytes = runner, chunk_bytes
        self._shared: dict[int, Any] = {}
        self.tensor_stats = [ErrorStats() for _ in plan.tensor_plans]
        self.seconds = [0.0] * len(plan.tensor_plans)

    def convert(self, progress: Progress) -> None:
        """Find what must be known of whole tensors, then convert and write every tensor."""
        self._measure(progress, "scales")
        for path, at, content in self._constants():
            try:
                with path.open("r+b") as stream:
                    stream.seek(at)
                    stream.write(content)
            except OSError as error:
                raise FileError(f"{path.name}: cannot be written; {reason(error)}") from None
        progress.phase("convert")
        for done in self._run(Worker.convert, range(len(self._plan.tensor_plans)), progress):
            self.tensor_stats[done.number].merge(done.stats)
            self.seconds[done.number] += done.seconds

    def verify(self, progress: Progress) -> None:
        """Convert every tensor again, and raise FileError where the bytes that were written differ."""
        self._measure(progress, "verify scales")
        for path, at, content in self._constants():
            with path.open("rb") as stream:
                stream.seek(at)
                if stream.read(len(content)) != content:
                    raise FileError(f"{path.name}: what was written is not what a fresh conversion gives")
        progress.phase("verify")
        for _ in self._run(Worker.verify, range(len(self._plan.tensor_plans)), progress):
            pass

    def _run(self, action: Action, numbers: Iterable[int], progress: Progress) -> Iterator[TaskResult]:
        for done in self._runner.run(action, self._tasks(numbers)):
            yield done
            progress.advance(done.nbytes)

    def _position(self, output: int) -> OutputPosition:
        slot = self._files.slots[output]
        return OutputPosition(self._paths[slot.file], slot.offset)

    def _tasks(self, numbers: Iterable[int]) -> Iterator[Task]:
        for number in numbers:
            plan = self._plan.tensor_plans[number]
            positions = tuple(self._position(plan.first + n) for n in range(plan.count))
            chunks: Iterator[Chunk] = plan.operation.chunks(self._chunk_bytes)
            # A member of an archive is read from its first byte to its last.
            most = None if isinstance(plan.operation.tensor.location, ArchiveMember) else self._runner.chunks
            while group := tuple(itertools.islice(chunks, most)):
                yield Task(number, plan.operation, group, positions, self._shared.get(number))

    def _constants(self) -> Iterator[tuple[Path, int, bytes]]:
        """Yield the bytes that no chunk has, and where they go."""
        for number, plan in enumerate(self._plan.tensor_plans):
            for output, content in plan.operation.constants(self._shared.get(number)):
                position = self._position(plan.first + output)
                yield position.path, position.offset, content

    def _measure(self, progress: Progress, phase: str) -> None:
        """Find what operations must know of every element of a tensor, or of a group of tensors."""
        plans, measured = self._plan.tensor_plans, self._plan.measured
        if not measured:
            return
        progress.phase(phase)
        self._shared.clear()
        largest: dict[int | str, Array] = {}
        group_of = {number: plans[number].operation.group or number for number in measured}
        for number, group in group_of.items():
            largest.setdefault(group, np.zeros(plans[number].operation.measured or ()))
        for done in self._run(Worker.measure, measured, progress):
            for first, magnitudes in done.magnitudes:
                whole = largest[group_of[done.number]]
                part = whole[first : first + magnitudes.size] if magnitudes.ndim else whole
                np.maximum(part, magnitudes, out=part)
            self.seconds[done.number] += done.seconds
        for number, group in group_of.items():
            self._shared[number] = plans[number].operation.share(largest[group])
