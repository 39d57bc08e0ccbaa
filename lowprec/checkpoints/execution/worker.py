"""One worker: reads chunks of a tensor, converts them, writes them or compares them with the bytes in the file."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from ...loss.error_stats import ErrorStats
from ..arithmetic.chunk_arithmetic import Arithmetic, Array, SourceBytes, bytes_of
from ..arithmetic.chunks import Chunk
from ..containers.tensors import StoredTensor, TensorReader
from ..files.errors import FileError, reason
from ..files.writeback import start_writing
from ..layouts.weight import Weight
from ..planning.weights_to_quantize import QuantizedWeight
from ..recipe import Recipe
from .quantize_chunks import largest_magnitude, quantize_chunk
from .weight_chunks import Dequantizer

__all__ = ["TaskResult", "OutputPosition", "Quantization", "Task", "Worker"]


@dataclass(frozen=True, slots=True)
class OutputPosition:
    """Where a tensor starts in a file that is being written."""

    path: Path
    offset: int


@dataclass(frozen=True, slots=True)
class Quantization:
    """A weight that a preset quantizes, where its outputs go by their roles, and its second scale."""

    weight: QuantizedWeight
    positions: dict[str, OutputPosition]
    second: np.float32 | None


@dataclass(frozen=True, slots=True)
class Task:
    """Some chunks of one tensor, and all that is needed to convert them on any machine that sees the files.

    Attributes
    ----------
    number : int
        Which tensor it is.
    tensor, recipe : StoredTensor, Recipe
        The tensor, and how it is converted; None for a copy, the chunks of which are counted in bytes.
    chunks : tuple of Chunk
        In the order of memory.
    codes, scale : OutputPosition
        Where results go; `scale` is for scales of blocks.
    scales : numpy.ndarray, optional
        The codes of scales that are shared more widely.
    weight : Weight, optional
        The quantized weight that is dequantized; `tensor` has its codes.
    quantized : Quantization, optional
        How the weight is quantized by a preset.
    """

    number: int
    tensor: StoredTensor
    recipe: Recipe | None
    chunks: tuple[Chunk, ...]
    codes: OutputPosition
    scale: OutputPosition | None = None
    scales: Array | None = None
    weight: Weight | None = None
    quantized: Quantization | None = None


@dataclass(slots=True)
class TaskResult:
    """The result of a task: statistics; largest magnitudes, each with its index; bytes read; seconds."""

    number: int
    stats: ErrorStats
    absmax: list[tuple[int, Array]]
    nbytes: int
    seconds: float


_Deliver = Callable[[OutputPosition, int, Array], None]


class Worker:
    """Runs tasks, one at a time, with files and buffers of its own."""

    def __init__(self) -> None:
        self._reader = TensorReader()
        self._files: dict[Path, IO[bytes]] = {}
        self._arithmetic = Arithmetic()
        self._dequantizer: Dequantizer | None = None

    def close(self) -> None:
        """Close all files."""
        self._reader.close()
        for stream in self._files.values():
            stream.close()
        self._files.clear()

    def find_absmax(self, task: Task) -> TaskResult:
        """Find the largest magnitudes of a tensor whose scales are shared by the whole of it, or along an axis."""
        done, started = TaskResult(task.number, ErrorStats(), [], 0, 0.0), time.perf_counter()
        recipe = task.recipe
        if task.quantized is not None:
            for chunk in task.chunks:
                source = self._load(task.tensor, chunk)
                done.absmax.append((0, np.asarray(largest_magnitude(task.quantized.weight, source, chunk))))
                done.nbytes += source.content.nbytes
            done.seconds = time.perf_counter() - started
            return done
        if recipe is None or recipe.scaling is None:
            raise ValueError(f"{task.tensor.name} cannot be scaled")
        for chunk in task.chunks:
            source = self._load(task.tensor, chunk)
            done.absmax += self._arithmetic.absmax(source, chunk, recipe.scaling)
            done.nbytes += source.content.nbytes
        done.seconds = time.perf_counter() - started
        return done

    def convert(self, task: Task) -> TaskResult:
        """Convert the chunks, or copy them, and write them."""
        return self._each(task, self._write)

    def verify(self, task: Task) -> TaskResult:
        """Convert the chunks again and raise FileError unless the bytes that were written are the same."""
        return self._each(task, self._compare)

    def _each(self, task: Task, deliver: _Deliver) -> TaskResult:
        done, started = TaskResult(task.number, ErrorStats(), [], 0, 0.0), time.perf_counter()
        for chunk in task.chunks:
            if task.weight is not None and task.recipe is not None:
                for at, content in self._weight(task.weight).convert(chunk, task.recipe, done.stats):
                    deliver(task.codes, at, content)
                done.nbytes += task.weight.scheme.row_bytes(task.weight.columns) * chunk.shape[1]
            elif task.quantized is not None:
                done.nbytes += self._quantize(task, task.quantized, chunk, done.stats, deliver)
            elif task.recipe is None:
                content = self._read(task.tensor, chunk.start, chunk.size)
                deliver(task.codes, chunk.start, content)
                done.nbytes += content.nbytes
            else:
                source = self._load(task.tensor, chunk)
                self._convert(task, task.recipe, chunk, source, done.stats, deliver)
                done.nbytes += source.content.nbytes
        done.seconds = time.perf_counter() - started
        return done

    def _quantize(self, task: Task, quantized: Quantization, chunk: Chunk, stats: ErrorStats, deliver: _Deliver) -> int:
        """Quantize a chunk of a weight and deliver its parts; return how many bytes were read."""
        source = self._load(task.tensor, chunk)
        parts = quantize_chunk(quantized.weight, source, chunk, quantized.second, self._arithmetic, stats)
        for role, at, content in parts:
            deliver(quantized.positions[role], at, content)
        return source.content.nbytes

    def _weight(self, weight: Weight) -> Dequantizer:
        """Return what dequantizes a weight; the last one is kept, for the next chunk."""
        if self._dequantizer is None or self._dequantizer.weight != weight:
            self._dequantizer = Dequantizer(weight, self._reader, self._arithmetic)
        return self._dequantizer

    def _convert(
        self, task: Task, recipe: Recipe, chunk: Chunk, source: SourceBytes, stats: ErrorStats, deliver: _Deliver
    ) -> None:
        tensor, to = task.tensor, recipe.to
        result = self._arithmetic.buffer("result", np.uint8, bytes_of(chunk.size, to, recipe.packs))
        if recipe.scaling is None:
            self._arithmetic.cast(source, chunk.size, recipe, result, stats)
        else:
            scales = self._arithmetic.quantize(source, chunk, recipe, task.scales, result, stats)
            if task.scale is not None:
                length, size = recipe.view(tensor.shape, tensor.fortran)[1], recipe.unit
                first = chunk.start // length * -(-length // size) + chunk.first // size
                deliver(task.scale, first * scales.itemsize, scales.view(np.uint8))
        deliver(task.codes, bytes_of(chunk.start, to, recipe.packs), result)

    def _read(self, tensor: StoredTensor, start: int, nbytes: int) -> Array:
        buffer = self._arithmetic.buffer("source", np.uint8, nbytes)
        self._reader.read_into(buffer, tensor.location, start)
        return buffer

    def _load(self, tensor: StoredTensor, chunk: Chunk) -> SourceBytes:
        """Return the bytes of a chunk, in this machine's order."""
        if tensor.fmt is None:
            raise ValueError(f"{tensor.name} holds no numbers")
        content = self._read(tensor, tensor.bytes_of(chunk.start), tensor.bytes_of(chunk.size))
        if tensor.swapped:
            content.view(tensor.fmt.code_dtype).byteswap(inplace=True)
        return SourceBytes(content, tensor.fmt, tensor.packed)

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
            start_writing(stream.fileno(), position.offset + at, content.nbytes)
        except OSError as error:
            raise FileError(f"{position.path.name}: cannot be written; {reason(error)}") from None

    def _compare(self, position: OutputPosition, at: int, content: Array) -> None:
        there = self._arithmetic.buffer("there", np.uint8, content.size)
        stream, view = self._open(position.path), memoryview(there)
        stream.seek(position.offset + at)
        while view.nbytes and (n := stream.readinto(view)):  # type: ignore[attr-defined]
            view = view[n:]
        if view.nbytes or not np.array_equal(there, content):
            raise FileError(f"{position.path.name}: what was written is not what a fresh conversion gives")
