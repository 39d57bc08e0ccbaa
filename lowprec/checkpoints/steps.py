"""The steps of a conversion: scales that need whole tensors, then every tensor in pieces, then a second look."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ..loss.error_stats import ErrorStats
from ..ops.scales import scale_codes
from .arithmetic import Array
from .boxes import ALIGNMENT, Box, boxes
from .layout import Layout
from .npy_header import FileError
from .plan import Job, Plan
from .progress import Progress
from .recipe import Scaling
from .runners import Action, Runner
from .stored import Member
from .work import Spot, Task, Worker

__all__ = ["Steps", "check_pieces", "scaled_whole"]


def pieces(job: Job, piece: int) -> Iterator[Box]:
    """Cut a tensor into pieces of about so many bytes, before or after the conversion."""
    stored, recipe = job.stored, job.recipe
    if recipe is None or stored.fmt is None:
        return boxes((1, 1, stored.place.nbytes), piece)
    most = 8 * piece // max(stored.fmt.storage_bits, recipe.to.storage_bits)
    align = ALIGNMENT if stored.packed or recipe.packs else 1
    return boxes(recipe.view(stored.shape, stored.fortran), most, recipe.unit, align)


def check_pieces(jobs: Iterable[Job], piece: int, most: int) -> None:
    """Raise FileError if a tensor cannot be cut finely enough, or its scales would take more than `most` bytes."""
    scales = 0
    for job in jobs:
        if job.recipe is None or job.recipe.scaling is None or job.stored.fmt is None:
            continue
        scaling, stored = job.recipe.scaling, job.stored
        width = max(stored.fmt.storage_bits, job.recipe.to.storage_bits) // 8  # type: ignore[union-attr]
        first = next(pieces(job, piece), None)
        scales += 0 if scaling.block_size else 16 * int(np.prod(scaling.scale_shape(stored.shape), dtype=object))
        if scales > most or (first is not None and first.size * width > 2 * piece):
            raise FileError(
                f"{ascii(stored.name)[:80]}: cannot be scaled along axis {scaling.axis} within `max_memory`"
            )


class Steps:
    """The steps of one conversion, and what they hand to each other."""

    def __init__(self, plan: Plan, layout: Layout, paths: Sequence[Path], runner: Runner, piece: int) -> None:
        self._plan, self._layout, self._paths = plan, layout, paths
        self._runner, self._piece = runner, piece
        self._scales: dict[int, Array] = {}
        self.tallies = [ErrorStats() for _ in plan.jobs]
        self.seconds = [0.0] * len(plan.jobs)

    def _spot(self, output: int) -> Spot:
        slot = self._layout.slots[output]
        return Spot(self._paths[slot.file], slot.offset)

    def _tasks(self, numbers: Iterable[int]) -> Iterator[Task]:
        for number in numbers:
            job = self._plan.jobs[number]
            blocks = job.scale is not None and number not in self._scales
            scale = self._spot(job.scale) if job.scale is not None and blocks else None
            cut = pieces(job, self._piece)
            # A member of an archive is read from its first byte to its last.
            many = None if isinstance(job.stored.place, Member) else self._runner.pieces
            while group := tuple(itertools.islice(cut, many)):
                yield Task(
                    number, job.stored, job.recipe, group, self._spot(job.codes), scale, self._scales.get(number)
                )

    def find_scales(self, numbers: Sequence[int], progress: Progress) -> None:
        """Find scales that need the whole of a tensor."""
        largest: dict[int, Array] = {}
        for number in numbers:
            job = self._plan.jobs[number]
            scaling = _scaling(job)
            if job.stored.fmt is not None:
                largest[number] = np.zeros(scaling.scale_shape(job.stored.shape))
        for done in self._runner.run(Worker.find_peaks, self._tasks(numbers)):
            everything = largest[done.number]
            for first, found in done.peaks:
                part = everything[first : first + found.size] if found.ndim else everything
                np.maximum(part, found, out=part)
            self.seconds[done.number] += done.seconds
            progress.advance(done.nbytes)
        for number, found in largest.items():
            job = self._plan.jobs[number]
            if job.stored.fmt is not None and job.recipe is not None:
                self._scales[number] = scale_codes(found, job.recipe.to, _scaling(job).fmt)

    def write_scales(self) -> None:
        """Write those scales."""
        for number, codes in self._scales.items():
            job = self._plan.jobs[number]
            if job.scale is not None:
                spot = self._spot(job.scale)
                with spot.path.open("r+b") as stream:
                    stream.seek(spot.offset)
                    stream.write(codes.tobytes())

    def carry_out(self, action: Action, progress: Progress, *, counting: bool) -> None:
        """Convert, or verify, every tensor."""
        for done in self._runner.run(action, self._tasks(range(len(self._plan.jobs)))):
            if counting:
                self.tallies[done.number].merge(done.tally)
                self.seconds[done.number] += done.seconds
            progress.advance(done.nbytes)


def _scaling(job: Job) -> Scaling:
    if job.recipe is None or job.recipe.scaling is None:
        raise ValueError(f"{job.stored.name} is not scaled")
    return job.recipe.scaling


def scaled_whole(plan: Plan) -> list[int]:
    """Return the numbers of the jobs whose scales need the whole of a tensor."""
    return [
        number for number, job in enumerate(plan.jobs)
        if job.recipe is not None and job.recipe.scaling is not None and not job.recipe.scaling.block_size
    ]  # fmt: skip
