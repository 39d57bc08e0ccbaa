"""One worker: reads pieces of a tensor, has them converted, writes them or compares them with what is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from ..loss.error_stats import ErrorStats
from .arithmetic import Arithmetic, Array, bytes_of
from .boxes import Box
from .npy_header import FileError, reason
from .recipe import Recipe
from .stored import Reading, Stored
from .writeback import start_writing

__all__ = ["Done", "Spot", "Task", "Worker"]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a tensor starts in a file that is being written."""

    path: Path
    offset: int


@dataclass(frozen=True, slots=True)
class Task:
    """Some pieces of one tensor, and all that is needed to convert them on any machine that sees the files.

    Attributes
    ----------
    number : int
        Which tensor it is.
    stored, recipe : Stored, Recipe
        The tensor, and how it is converted; None for a copy, the pieces of which are counted in bytes.
    pieces : tuple of Box
        In the order of memory.
    codes, scale : Spot
        Where results go; `scale` is for scales of blocks.
    scales : numpy.ndarray, optional
        The codes of scales that are shared more widely.
    """

    number: int
    stored: Stored
    recipe: Recipe | None
    pieces: tuple[Box, ...]
    codes: Spot
    scale: Spot | None = None
    scales: Array | None = None


@dataclass(slots=True)
class Done:
    """What came of a task: counts; largest magnitudes by the index of the first; bytes read; seconds it took."""

    number: int
    tally: ErrorStats
    peaks: list[tuple[int, Array]]
    nbytes: int
    seconds: float


_Deliver = Callable[[Spot, int, Array], None]


class Worker:
    """Carries out tasks, one at a time, with files and buffers of its own."""

    def __init__(self) -> None:
        self._reading = Reading()
        self._files: dict[Path, IO[bytes]] = {}
        self._arithmetic = Arithmetic()

    def close(self) -> None:
        """Close all files."""
        self._reading.close()
        for stream in self._files.values():
            stream.close()
        self._files.clear()

    def find_peaks(self, task: Task) -> Done:
        """Look for the largest magnitudes of a tensor whose scales are shared by the whole of it, or along an axis."""
        done, started = Done(task.number, ErrorStats(), [], 0, 0.0), time.perf_counter()
        stored, recipe = task.stored, task.recipe
        if stored.fmt is None or recipe is None or recipe.scaling is None:
            raise ValueError(f"{stored.name} cannot be scaled")
        for box in task.pieces:
            piece = self._load(stored, box)
            done.peaks += self._arithmetic.largest(piece, box, stored.fmt, stored.packed, recipe.scaling)
            done.nbytes += piece.nbytes
        done.seconds = time.perf_counter() - started
        return done

    def convert(self, task: Task) -> Done:
        """Convert the pieces, or copy them, and write them."""
        return self._each(task, self._write)

    def verify(self, task: Task) -> Done:
        """Convert the pieces again and raise FileError unless what was written is the same."""
        return self._each(task, self._compare)

    def _each(self, task: Task, deliver: _Deliver) -> Done:
        done, started = Done(task.number, ErrorStats(), [], 0, 0.0), time.perf_counter()
        for box in task.pieces:
            if task.recipe is None or task.stored.fmt is None:
                piece = self._read(task.stored, box.start, box.size)
                deliver(task.codes, box.start, piece)
            else:
                piece = self._load(task.stored, box)
                self._converted(task, task.recipe, box, piece, done.tally, deliver)
            done.nbytes += piece.nbytes
        done.seconds = time.perf_counter() - started
        return done

    def _converted(
        self, task: Task, recipe: Recipe, box: Box, piece: Array, tally: ErrorStats, deliver: _Deliver
    ) -> None:
        stored, to = task.stored, recipe.to
        if stored.fmt is None:
            return
        result = self._arithmetic.buffer("result", np.uint8, bytes_of(box.size, to, recipe.packs))
        if recipe.scaling is None:
            self._arithmetic.cast(piece, box.size, stored.fmt, stored.packed, recipe, result, tally)
        else:
            scales = self._arithmetic.quantize(
                piece, box, stored.fmt, stored.packed, recipe, task.scales, result, tally
            )
            if task.scale is not None:
                along, size = recipe.view(stored.shape, stored.fortran)[1], recipe.unit
                first = box.start // along * -(-along // size) + box.first // size
                deliver(task.scale, first * scales.itemsize, scales.view(np.uint8))
        deliver(task.codes, bytes_of(box.start, to, recipe.packs), result)

    def _read(self, stored: Stored, start: int, nbytes: int) -> Array:
        buffer = self._arithmetic.buffer("source", np.uint8, nbytes)
        self._reading.into(buffer, stored.place, start)
        return buffer

    def _load(self, stored: Stored, box: Box) -> Array:
        """Return the bytes of a box, in this machine's order."""
        piece = self._read(stored, stored.bytes_of(box.start), stored.bytes_of(box.size))
        if stored.swapped and stored.fmt is not None:
            piece.view(stored.fmt.code_dtype).byteswap(inplace=True)
        return piece

    def _open(self, path: Path) -> IO[bytes]:
        stream = self._files.get(path)
        if stream is None:
            stream = self._files[path] = path.open("r+b", buffering=0)
        return stream

    def _write(self, spot: Spot, at: int, content: Array) -> None:
        view = memoryview(content)
        try:
            stream = self._open(spot.path)
            stream.seek(spot.offset + at)
            while view.nbytes:
                view = view[stream.write(view) :]
            start_writing(stream.fileno(), spot.offset + at, content.nbytes)
        except OSError as error:
            raise FileError(f"{spot.path.name}: cannot be written; {reason(error)}") from None

    def _compare(self, spot: Spot, at: int, content: Array) -> None:
        there = self._arithmetic.buffer("there", np.uint8, content.size)
        stream, view = self._open(spot.path), memoryview(there)
        stream.seek(spot.offset + at)
        while view.nbytes and (n := stream.readinto(view)):  # type: ignore[attr-defined]
            view = view[n:]
        if view.nbytes or not np.array_equal(there, content):
            raise FileError(f"{spot.path.name}: what was written is not what a fresh conversion gives")
