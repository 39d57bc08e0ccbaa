"""Arrays on a CUDA device: which they are, their codes as CuPy sees them, the kernels compiled and launched by CuPy.

A kernel runs on the stream that the caller's library works on at that moment; nothing waits for it here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import array_api_compat as compat

from . import _kernels
from .arrays import check_out, is_torch, namespace
from .cuda import OPTIONS, Conversion, arguments, conversion, geometry, kernel_source

__all__ = ["convert", "holds", "memory_order"]


@cache
def _cupy() -> Any | None:
    """Return CuPy where it is installed and finds a CUDA device, else None."""
    if find_spec("cupy") is None:
        return None
    cupy = import_module("cupy")
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


def _launch(program: _kernels.Program, src: Any, dst: Any, n: int) -> None:
    """Convert `n` elements of one dense CuPy array to another one."""
    if n:
        made = conversion(program)
        blocks, threads = geometry(made, n)
        _kernel(made)((blocks,), (threads,), (src, dst, *arguments(program, n)))


def convert(x: Any, program: _kernels.Program, n: int, shape: tuple[int, ...], dtype: Any, out: Any = None) -> Any:
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

    Returns
    -------
    array
        In the library and on the device of `x`.
    """
    cupy: Any = _cupy()
    with _stream_of(x, cupy):
        src = _codes(x, cupy)
        packed = program.src_bits < 8 or program.dst_bits < 8
        axes = None if packed else memory_order(src.shape, src.strides, src.itemsize)
        if axes is None:
            src, axes = cupy.ascontiguousarray(src), tuple(range(len(shape)))
        elif axes:
            src = src.transpose(axes)
        if out is not None:
            check_out(out, x, shape, dtype)
            held = _codes(out, cupy).transpose(axes)
            if cupy.may_share_memory(src, held):
                src = src.copy()
            dst = held if held.flags.c_contiguous else cupy.empty(held.shape, held.dtype)
            _launch(program, src, dst, n)
            if dst is not held:
                held[...] = dst
            return out
        xp = namespace(x)
        result = xp.empty(tuple(shape[axis] for axis in axes), dtype=dtype, device=compat.device(x))
        _launch(program, src, _codes(result, cupy), n)
        return xp.permute_dims(result, tuple(axes.index(axis) for axis in range(len(axes))))
