"""Arrays on a CUDA device: which they are, their codes as CuPy sees them, the kernels compiled and launched by CuPy.

A kernel runs on the stream that the caller's library works on at that moment; nothing waits for it here.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import array_api_compat as compat

from .. import _kernels
from ..arrays.libraries import check_out, is_torch, namespace
from ..arrays.torch_tensors import mark_written
from ..plans.scale_shapes import Granularity
from .cuda_source import NO_SCALES, OPTIONS, Conversion, arguments, conversion, geometry, kernel_source, operands_bytes
from .job import Job, Scales
from .program import make_program
from .scales_for_kernels import converted_scales

__all__ = ["accepts", "memory_order", "run"]


@cache
def _cupy() -> Any | None:
    """Return CuPy where it is installed and finds a CUDA device, else None."""
    try:
        cupy = import_module("cupy")
    except ImportError:
        return None
    return cupy if cupy.is_available() and not cupy.cuda.runtime.is_hip else None


def accepts(job: Job) -> bool:
    """Whether the kernels here convert the array: a CuPy array, or a CUDA tensor of torch's where CuPy is installed."""
    on_device = job.x.device.type == "cuda" if is_torch(job.x) else compat.is_cupy_array(job.x)
    return bool(on_device and _cupy() is not None)


class _Stream(NamedTuple):
    """A stream of another library, by the CUDA stream protocol."""

    address: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


@contextmanager
def _stream_of(x: Any, cupy: Any) -> Iterator[None]:
    """Make CuPy work where the library of `x` does now: on its device, and on torch's stream if it is torch's."""
    if is_torch(x):
        stream = _Stream(sys.modules["torch"].cuda.current_stream(x.device).cuda_stream)
        with cupy.cuda.Device(x.device.index), cupy.cuda.Stream.from_external(stream):
            yield
    else:
        with x.device:
            yield


def _codes(x: Any, cupy: Any) -> Any:
    """Return a CuPy view of an array as unsigned integers of the same width."""
    if is_torch(x):
        x = x.detach().resolve_neg()
        x = cupy.asarray(x.view(getattr(sys.modules["torch"], f"int{8 * x.itemsize}")))  # the same memory
    return x.view(f"u{x.dtype.itemsize}")


def memory_order(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, ...] | None:
    """Return the axes of an array in the order of its memory, None where its elements leave gaps or overlap.

    Examples
    --------
    >>> memory_order((2, 3, 4), (4, 32, 8), 4)
    (1, 2, 0)
    """
    axes = tuple(sorted(range(len(shape)), key=lambda axis: (shape[axis] != 1, -strides[axis])))
    expected = itemsize
    for axis in reversed(axes):
        if shape[axis] != 1 and strides[axis] != expected:
            return None
        expected *= shape[axis]
    return axes


def _compiled(source: str, cupy: Any) -> bytes:
    """Return the machine code of a kernel for the current device, kept in the folder where CuPy keeps its own.

    CuPy's RawKernel adds `-ftz=true`, with which subnormal numbers become 0.
    """
    version = cupy.cuda.nvrtc.getVersion()
    key = repr((source, OPTIONS, version, cupy.cuda.Device().compute_capability))
    folder = Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
    kept = folder / f"lowprec_{hashlib.sha256(key.encode()).hexdigest()}.cubin"
    try:
        return kept.read_bytes()
    except OSError:
        code: bytes = cupy.cuda.compiler.compile_using_nvrtc(source, OPTIONS)[0]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(code)
        os.replace(file.name, kept)
    except OSError:  # a folder that cannot be written: compiled again in the next process
        pass
    return code


@cache
def _kernel(made: Conversion, device: int) -> Any:
    """Return the kernel of a conversion, loaded on the current device, which has that number."""
    cupy: Any = _cupy()
    module = cupy.cuda.function.Module()
    module.load(_compiled(kernel_source({"convert": made}), cupy))
    return module.get_function("convert")


def _launch(program: _kernels.Program, src: Any, dst: Any, n: int, *operands: bytes) -> None:
    """Convert `n` elements of one dense CuPy array to another one."""
    if n:
        made = conversion(program)
        blocks, threads = geometry(made, n)
        cupy: Any = _cupy()
        _kernel(made, cupy.cuda.Device().id)((blocks,), (threads,), (src, dst, *arguments(program, n, *operands)))


def _dense(x: Any, in_order: bool, rank: int, cupy: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the codes of an array in C order, and which axes of the array that are.

    Where elements must keep their order, as those of a packed side and those with random numbers, the axes returned
    are those of the result, of that rank.
    """
    codes = _codes(x, cupy)
    axes = None if in_order else memory_order(codes.shape, codes.strides, codes.itemsize)
    if axes is None:
        return cupy.ascontiguousarray(codes), tuple(range(rank))
    return codes.transpose(axes), axes


def _ready_scales(
    job: Job, scales: Scales, axes: tuple[int, ...] | None, shape: tuple[int, ...], cupy: Any
) -> tuple[list[Any], Granularity]:
    """Return scales and zero points as a kernel reads them, for an array of `shape` with axes in the order of `axes`.

    They follow the array where its axes were put in another order.
    """
    arrays = [_codes(array, cupy) for array in converted_scales(job.plan, scales, run) if array is not None]
    granularity = scales.granularity
    if axes is not None and granularity.axis is not None:
        inner = max(math.prod(shape[axes.index(granularity.axis) + 1 :]), 1)
        if granularity.outer_step:  # a scale for each block: they have the axes of the array
            arrays = [array.transpose(axes) for array in arrays]
        granularity = granularity._replace(inner=inner, width=inner if granularity.outer_step else 1)
    arrays = [cupy.ascontiguousarray(array) for array in arrays]
    if job.out is not None:  # which may be written over them
        arrays = [array.copy() for array in arrays]
    return arrays, granularity


def run(job: Job) -> Any:
    """Carry out a job on a CUDA device.

    Dense layouts in any order of the axes are kept; others are copied to C order first.
    """
    cupy: Any = _cupy()
    x, out, shape, dtype = job.x, job.out, job.result_shape, job.dtype
    program = make_program(job.plan, extend=job.extend, packed=job.packed, unpacked=job.shape is not None)
    n = math.prod(job.values_shape)
    with _stream_of(x, cupy):
        in_order = program.src_bits < 8 or program.dst_bits < 8 or job.stream is not None
        src, axes = _dense(x, in_order, len(shape), cupy)
        operands = [] if job.stream is None else [operands_bytes(*NO_SCALES, job.stream)]
        if job.scales is not None:
            # Their memory is given to no other array, the result above all, while they have a name here.
            scales, granularity = _ready_scales(job, job.scales, None if in_order else axes, src.shape, cupy)
            scale, zero_point = (*(array.data.ptr for array in scales), 0)[:2]
            operands = [operands_bytes(scale, zero_point, granularity, job.stream)]
        if out is not None:
            check_out(out, x, shape, dtype)
            codes = _codes(out, cupy).transpose(axes)
            if cupy.may_share_memory(src, codes):
                src = src.copy()
            dst = codes if codes.flags.c_contiguous else cupy.empty(codes.shape, codes.dtype)
            _launch(program, src, dst, n, *operands)
            if dst is not codes:
                codes[...] = dst
            if is_torch(out):
                mark_written(out)
            return out
        xp = namespace(x)
        result = xp.empty(tuple(shape[axis] for axis in axes), dtype=dtype, device=compat.device(x))
        _launch(program, src, _codes(result, cupy), n, *operands)
        return xp.permute_dims(result, tuple(axes.index(axis) for axis in range(len(axes))))
