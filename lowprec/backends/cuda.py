"""CUDA arrays: the text of a kernel, its compilation and its launch, by CuPy."""

from __future__ import annotations

import hashlib
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import array_api_compat as compat
import numpy as np

from .. import _kernels
from ..arrays.array_memory import check_out
from ..arrays.libraries import is_torch, namespace
from ..arrays.torch_tensors import mark_written
from ..plans.scale_shapes import Granularity
from ..spec.rounding_modes import Stream
from .jobs import BlockJob, Job, Scales
from .kernels_of_plan import make_program
from .scales_for_kernels import converted_scales

__all__ = [
    "Conversion",
    "NO_SCALES",
    "OPTIONS",
    "accepts",
    "arguments",
    "conversion",
    "geometry",
    "kernel_source",
    "memory_order",
    "operands_bytes",
    "run",
]


OPTIONS = ("--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true")
"""The compiler's options: strict IEEE arithmetic, every operation rounded by itself."""

THREADS = 256  # of a block
BLOCKS = 1 << 16  # the most of a launch; what is left, threads take in further rounds

_VECTOR_BITS = 128  # the most that one instruction loads or stores
_WORD_BITS = 32

_TEXTS = (
    "params.h", "scalar_kernels.h", "philox.h", "cuda_kernel.cuh",
)  # fmt: skip
_LINEAR = ("add_zero_point", "dequantize", "divide", "quantize", "round_saturate")
"""How the names of the loops begin that take a scale and a zero point."""

_RANDOM = ("stochastic", "exact")
"""How the names of the loops begin that take a slot of a random stream."""


class Conversion(NamedTuple):
    """What makes a kernel another one: the loops, in order, and the bits of an element at both ends, packed below 8."""

    loops: tuple[str, ...]
    source_bits: int
    target_bits: int

    @property
    def scale_bits(self) -> int:
        """How wide the scales are that the loops take, 0 where none takes any."""
        linear = [loop for loop in self.loops if loop.startswith(_LINEAR)]
        return 64 if any("64" in loop for loop in linear) else 32 if linear else 0

    @property
    def is_random(self) -> bool:
        """Whether a loop takes random numbers."""
        return any(loop.startswith(_RANDOM) for loop in self.loops)

    @property
    def vector_length(self) -> int:
        """How many elements a thread takes at once.

        As many as fill 16 bytes of the wider side, so that the threads of a warp read and write memory side by side;
        and whole words of a packed side.
        """
        fill = _VECTOR_BITS // max(self.source_bits, self.target_bits, 8)
        packed = [bits for bits in (self.source_bits, self.target_bits) if bits < 8]
        return max([fill, *(math.lcm(bits, _WORD_BITS) // bits for bits in packed)])


def conversion(program: _kernels.Program) -> Conversion:
    """Return what a program asks of a kernel; packing is a matter of the kernel's two ends."""
    loops = (name for name in program.names if not name.startswith(("pack", "unpack")))
    return Conversion(tuple(loops), program.src_bits, program.dst_bits)


@cache
def _text(name: str) -> str:
    return (Path(_kernels.__file__).parent / "_native" / name).read_text(encoding="utf-8")


def _kernel_text(name: str, made: Conversion) -> str:
    value, more = "v", ""
    for loop in made.loops:
        given = "scale, zero, " if loop.startswith(_LINEAR) else "slot, " if loop.startswith(_RANDOM) else ""
        value = f"lp_{loop}({value}, {given}&p)"
    if made.scale_bits:
        more = ", scale_t scale, u32 zero"
    if made.is_random:
        more += ", u32 slot"
    return f"""
struct {name}_conversion {{
    typedef u{max(made.source_bits, 8)} source_t;
    typedef u{max(made.target_bits, 8)} target_t;
    typedef u{max(made.scale_bits, 32)} scale_t;
    static constexpr int source_bits = {made.source_bits}, target_bits = {made.target_bits};
    static constexpr int vector_length = {made.vector_length};
    static constexpr bool takes_scales = {str(made.scale_bits > 0).lower()};
    static constexpr bool takes_slots = {str(made.is_random).lower()};
    static LP_INLINE target_t convert_one(source_t v, const params_t &p{more}) {{ return {value}; }}
}};
LP_KERNEL({name}, {name}_conversion)
"""


def kernel_source(kernels: Mapping[str, Conversion]) -> str:
    """Return CUDA C++ that defines kernels, by their names; it includes nothing.

    Examples
    --------
    >>> loops = ("int32_to_float64", "float64_to_float32_odd", "encode8")
    >>> text = kernel_source({"convert": Conversion(loops, 32, 8)})
    >>> "return lp_encode8(lp_float64_to_float32_odd(lp_int32_to_float64(v, &p), &p), &p);" in text
    True
    """
    return "".join(["#define LP_CUDA\n", *map(_text, _TEXTS), *(_kernel_text(*item) for item in kernels.items())])


def geometry(made: Conversion, n: int) -> tuple[int, int]:
    """Return the blocks of a launch for `n` elements, one at least, and the threads of a block."""
    vectors = -(-n // made.vector_length)
    return min(max(-(-vectors // THREADS), 1), BLOCKS), THREADS


def _by_value(struct: bytes) -> np.ndarray[Any, Any]:
    """Return bytes as an array of one element, which is how CuPy takes a struct."""
    return np.frombuffer(struct, np.dtype((np.void, len(struct))))


NO_SCALES = 0, 0, Granularity(None, 1, 1, 1, 0, 1)
"""The first operands of a program that takes no scales."""


def operands_bytes(scale: int, zero: int, granularity: Granularity, stream: Stream | None = None) -> bytes:
    """Return the struct of operands: the addresses of scales and of zero points, 0 for none, and how they spread.

    Then the stream of random numbers, for programs that take some.
    """
    return np.array([scale, zero, *granularity[1:], *(stream or Stream(0))], np.uint64).tobytes()


_NOTHING = operands_bytes(*NO_SCALES)


def arguments(program: _kernels.Program, n: int, operands: bytes = _NOTHING) -> tuple[Any, Any, Any]:
    """Return what a kernel takes by value after its two pointers: the element count, the parameters, the operands."""
    return np.uint64(n), _by_value(program.params), _by_value(operands)


@cache
def _cupy() -> Any | None:
    """Return CuPy where it is installed and finds a CUDA device, else None."""
    try:
        cupy = import_module("cupy")
    except ImportError:
        return None
    return cupy if cupy.is_available() and not cupy.cuda.runtime.is_hip else None


def accepts(job: Job | BlockJob) -> bool:
    """Whether the kernels here convert the array: a CuPy array, or a CUDA tensor of torch's where CuPy is installed."""
    if isinstance(job, BlockJob):
        return False
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
    arrays = [_codes(array, cupy) for array in converted_scales(job.plan, scales) if array is not None]
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
