"""The steps of a conversion: scales that need whole tensors, every tensor chunk by chunk, verification."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...loss.error_stats import ErrorStats
from ...ops.scales import scale_codes
from ..arithmetic.chunk_arithmetic import Array
from ..arithmetic.chunks import ALIGNMENT, Chunk, split_chunks
from ..containers.tensors import ArchiveMember
from ..files.errors import FileError
from ..files.output_files import OutputFiles
from ..planning.conversion_plan import ConversionPlan, TensorPlan
from ..planning.weights_to_quantize import constant_outputs
from ..progress import Progress
from ..schemes.llm_compressor import global_scale
from .quantize_chunks import quantize_chunks
from .runners import Action, Runner
from .weight_chunks import check_weight_chunks, weight_chunks
from .worker import OutputPosition, Quantization, Task, TaskResult, Worker

__all__ = ["Steps", "check_chunk_sizes"]


def chunks_of(plan: TensorPlan, nbytes: int) -> Iterator[Chunk]:
    """Cut a tensor into chunks of about so many bytes, before or after the conversion."""
    tensor, recipe = plan.tensor, plan.recipe
    if plan.weight is not None:
        return weight_chunks(plan.weight, nbytes)
    if plan.quantized is not None:
        return quantize_chunks(plan.quantized, nbytes)
    if recipe is None or tensor.fmt is None:
        return split_chunks((1, 1, tensor.location.nbytes), nbytes)
    most = 8 * nbytes // max(tensor.fmt.storage_bits, recipe.to.storage_bits)
    align = ALIGNMENT if tensor.packed or recipe.packs else 1
    return split_chunks(recipe.view(tensor.shape, tensor.fortran), most, recipe.unit, align)


def check_chunk_sizes(plans: Iterable[TensorPlan], nbytes: int, most: int) -> None:
    """Raise FileError if a tensor cannot be cut finely enough, or its scales would take more than `most` bytes."""
    scale_bytes = 0
    for plan in plans:
        tensor, recipe = plan.tensor, plan.recipe
        if plan.weight is not None:
            check_weight_chunks(plan.weight, nbytes)
        if recipe is None or recipe.scaling is None or tensor.fmt is None:
            continue
        scaling = recipe.scaling
        width = max(tensor.fmt.storage_bits, recipe.to.storage_bits) // 8
        first = next(chunks_of(plan, nbytes), None)
        scale_bytes += 0 if scaling.block_size else 16 * int(np.prod(scaling.scale_shape(tensor.shape), dtype=object))
        if scale_bytes > most or (first is not None and first.size * width > 2 * nbytes):
            raise FileError(
                f"{ascii(tensor.name)[:80]}: cannot be scaled along axis {scaling.axis} within `max_memory`"
            )


class Steps:
    """The steps of one conversion, and the scales and error statistics that they share."""

    def __init__(
        self, plan: ConversionPlan, files: OutputFiles, paths: Sequence[Path], runner: Runner, chunk_bytes: int
    ) -> None:
        self._plan, self._files, self._paths = plan, files, paths
        self._runner, self._chunk_bytes = runner, chunk_bytes
        self._scales: dict[int, Array] = {}
        self._second: dict[str, np.float32] = {}
        self.tensor_stats = [ErrorStats() for _ in plan.tensor_plans]
        self.seconds = [0.0] * len(plan.tensor_plans)

    def convert(self, progress: Progress) -> None:
        """Find the scales that need whole tensors, then convert and write every tensor."""
        if self._plan.two_pass:
            progress.phase("scales")
            self._find_scales(progress)
            self._write_scales()
        self._write_constants()
        progress.phase("convert")
        for done in self._run(Worker.convert, progress):
            self.tensor_stats[done.number].merge(done.stats)
            self.seconds[done.number] += done.seconds

    def verify(self, progress: Progress) -> None:
        """Convert every tensor again, and raise FileError where the bytes that were written differ."""
        progress.phase("verify")
        for _ in self._run(Worker.verify, progress):
            pass

    def _run(self, action: Action, progress: Progress) -> Iterator[TaskResult]:
        for done in self._runner.run(action, self._tasks(range(len(self._plan.tensor_plans)))):
            yield done
            progress.advance(done.nbytes)

    def _position(self, output: int) -> OutputPosition:
        slot = self._files.slots[output]
        return OutputPosition(self._paths[slot.file], slot.offset)

    def _tasks(self, numbers: Iterable[int]) -> Iterator[Task]:
        for number in numbers:
            plan, scales = self._plan.tensor_plans[number], self._scales.get(number)
            scale = None if plan.scale is None or scales is not None else self._position(plan.scale)
            chunks = chunks_of(plan, self._chunk_bytes)
            # A member of an archive is read from its first byte to its last.
            most = None if isinstance(plan.tensor.location, ArchiveMember) else self._runner.chunks
            while group := tuple(itertools.islice(chunks, most)):
                yield self._task(number, group, scale, scales)

    def _task(self, number: int, chunks: tuple[Chunk, ...], scale: OutputPosition | None, scales: Array | None) -> Task:
        plan = self._plan.tensor_plans[number]
        task = Task(number, plan.tensor, plan.recipe, chunks, self._position(plan.codes), scale, scales, plan.weight)
        if plan.quantized is None:
            return task
        positions = {role: self._position(plan.codes + n) for n, role in enumerate(plan.quantized.roles)}
        return replace(task, quantized=Quantization(plan.quantized, positions, self._second.get(plan.quantized.group)))

    def _write_constants(self) -> None:
        """Write the outputs of quantized weights that hold no rows: second scales and shapes."""
        for plan in self._plan.tensor_plans:
            if plan.quantized is None:
                continue
            contents = constant_outputs(plan.quantized, self._second.get(plan.quantized.group))
            for n, role in enumerate(plan.quantized.roles):
                if role in contents:
                    self._write_whole(plan.codes + n, contents[role])

    def _write_whole(self, output: int, content: bytes) -> None:
        position = self._position(output)
        with position.path.open("r+b") as stream:
            stream.seek(position.offset)
            stream.write(content)

    def _find_scales(self, progress: Progress) -> None:
        """Compute the scales that need every element of a tensor."""
        largest: dict[int, Array] = {}
        plans = {number: self._plan.tensor_plans[number] for number in self._plan.two_pass}
        for number, plan in plans.items():
            shape = () if plan.quantized else plan.quantization[1].scale_shape(plan.tensor.shape)
            largest[number] = np.zeros(shape)
        for done in self._runner.run(Worker.find_absmax, self._tasks(self._plan.two_pass)):
            for first, magnitudes in done.absmax:
                whole = largest[done.number]
                part = whole[first : first + magnitudes.size] if magnitudes.ndim else whole
                np.maximum(part, magnitudes, out=part)
            self.seconds[done.number] += done.seconds
            progress.advance(done.nbytes)
        groups: dict[str, float] = {}
        for number, magnitudes in largest.items():
            weight = plans[number].quantized
            if weight is not None:
                groups[weight.group] = max(groups.get(weight.group, 0.0), float(magnitudes))
                self._second[weight.group] = global_scale(groups[weight.group], weight.fmt)
                continue
            to, scaling = plans[number].quantization
            self._scales[number] = scale_codes(magnitudes, to, scaling.fmt)

    def _write_scales(self) -> None:
        for number, codes in self._scales.items():
            output = self._plan.tensor_plans[number].scale
            if output is not None:
                self._write_whole(output, codes.tobytes())
