"""Arrays on a CUDA device: which they are, their codes as CuPy sees them, the kernels compiled and launched by CuPy.

A kernel runs on the stream that the caller's library works on at that moment; nothing waits for it here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import array_api_compat as compat

from .. import _kernels
from ..arrays.libraries import check_out, is_torch, namespace
from ..arrays.torch_state import mark_written
from ..plans.granularity import Granularity
from .cuda_source import OPTIONS, Conversion, arguments, beside, conversion, geometry, kernel_source

__all__ = ["Operands", "convert", "holds", "memory_order"]


class Operands(NamedTuple):
    """What stands beside the elements of a quantization, in the library and on the device of the array."""

    scale: Any  # float32 or float64, as the loops take it
    zero: Any | None  # int32 or float32
    spread: Granularity


@cache
def _cupy() -> Any | None:
    """Return CuPy where it is installed and finds a CUDA device, else None."""
    try:
        cupy = import_module("cupy")
    except ImportError:
        return None
    return cupy if cupy.is_available() and not cupy.cuda.runtime.is_hip else None


def holds(x: Any) -> bool:
    """Whether the kernels here can convert `x`: CuPy arrays, and torch's CUDA tensors where CuPy is at hand."""
    on_device = x.device.type == "cuda" if is_torch(x) else compat.is_cupy_array(x)
    return bool(on_device and _cupy() is not None)


@contextmanager
def _stream_of(x: Any, cupy: Any) -> Iterator[None]:
    """Make CuPy work where the library of `x` does now: on its device, and on torch's stream if it is torch's."""
    if is_torch(x):
        stream = sys.modules["torch"].cuda.current_stream(x.device).cuda_stream
        with cupy.cuda.Device(x.device.index), cupy.cuda.ExternalStream(stream, x.device.index):
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


@cache
def _kernel(made: Conversion) -> Any:
    """Return a kernel that CuPy compiles once a device, and keeps on disk."""
    cupy: Any = _cupy()
    return cupy.RawKernel(kernel_source({"convert": made}), "convert", options=OPTIONS)


def _launch(program: _kernels.Program, src: Any, dst: Any, n: int, *operands: bytes) -> None:
    """Convert `n` elements of one dense CuPy array to another one."""
    if n:
        made = conversion(program)
        blocks, threads = geometry(made, n)
        _kernel(made)((blocks,), (threads,), (src, dst, *arguments(program, n, *operands)))


def _dense(x: Any, packed: bool, rank: int, cupy: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the codes of an array in C order, and which axes of the array that are.

    A packed side has no axes to be put in order: the ones returned are those of the result, of that rank.
    """
    codes = _codes(x, cupy)
    axes = None if packed else memory_order(codes.shape, codes.strides, codes.itemsize)
    if axes is None:
        return cupy.ascontiguousarray(codes), tuple(range(rank))
    return codes.transpose(axes), axes


def _beside(
    operands: Operands, axes: tuple[int, ...] | None, shape: tuple[int, ...], cupy: Any
) -> tuple[list[Any], Granularity]:
    """Return scales and zero points as codes, and their spread over an array of `shape`, whose axes were in C order.

    They follow the array where its axes were put in another order, which `axes` tells.
    """
    arrays, spread = [_codes(array, cupy) for array in operands[:2] if array is not None], operands.spread
    if axes is not None and spread.axis is not None:
        inner = max(math.prod(shape[axes.index(spread.axis) + 1 :]), 1)
        if spread.outer_step:  # a scale for each block: they have the axes of the array
            arrays = [array.transpose(axes) for array in arrays]
        spread = spread._replace(inner=inner, width=inner if spread.outer_step else 1)
    return [cupy.ascontiguousarray(array) for array in arrays], spread


def convert(
    x: Any,
    program: _kernels.Program,
    n: int,
    shape: tuple[int, ...],
    dtype: Any,
    out: Any = None,
    operands: Operands | None = None,
) -> Any:
    """Carry out a program on an array of a CUDA device.

    Parameters
    ----------
    x : array
        For which `holds` is true; dense layouts in any order of the axes are kept, others copied to C order first.
    program : Program
        The loops, as for the CPU.
    n : int
        The number of elements.
    shape : tuple of int
        That of the result.
    dtype
        That of the result, in the library of `x`.
    out : array, optional
        Where the result goes.
    operands : Operands, optional
        What stands beside the elements, where the program has loops that take it.

    Returns
    -------
    array
        In the library and on the device of `x`.
    """
    cupy: Any = _cupy()
    with _stream_of(x, cupy):
        packed = program.src_bits < 8 or program.dst_bits < 8
        src, axes = _dense(x, packed, len(shape), cupy)
        given = []
        if operands is not None:
            arrays, spread = _beside(operands, None if packed else axes, src.shape, cupy)
            if out is not None:  # which may be written over them
                arrays = [array.copy() for array in arrays]
            scale, zero = (*(array.data.ptr for array in arrays), 0)[:2]
            given = [beside(scale, zero, *spread[1:])]
        if out is not None:
            check_out(out, x, shape, dtype)
            held = _codes(out, cupy).transpose(axes)
            if cupy.may_share_memory(src, held):
                src = src.copy()
            dst = held if held.flags.c_contiguous else cupy.empty(held.shape, held.dtype)
            _launch(program, src, dst, n, *given)
            if dst is not held:
                held[...] = dst
            if is_torch(out):
                mark_written(out)
            return out
        xp = namespace(x)
        result = xp.empty(tuple(shape[axis] for axis in axes), dtype=dtype, device=compat.device(x))
        _launch(program, src, _codes(result, cupy), n, *given)
        return xp.permute_dims(result, tuple(axes.index(axis) for axis in range(len(axes))))
