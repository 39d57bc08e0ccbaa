"""CUDA kernels as text, and what they are launched with: the loops of a program in one function, nothing of a library.

`elementwise.h`, `integer_elements.h` and `scaled_elements.h` have a function for each loop that `cast_loops` and
`quantize_loops` name, for the compiled loops and for these kernels; `vectors.cuh` has what a thread does with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import _kernels
from ..plans.scale_shapes import Granularity
from ..spec.rounding_modes import Stream

__all__ = [
    "NO_SCALES",
    "OPTIONS",
    "Conversion",
    "arguments",
    "operands_bytes",
    "conversion",
    "geometry",
    "kernel_source",
]

OPTIONS = ("--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true")
"""The compiler's options: strict IEEE arithmetic, every operation rounded by itself."""

THREADS = 256  # of a block
BLOCKS = 1 << 16  # the most of a launch; what is left, threads take in further rounds

_VECTOR_BITS = 128  # the most that one instruction loads or stores
_WORD_BITS = 32

_TEXTS = (
    "params.h", "elementwise.h", "integer_elements.h", "scaled_elements.h", "philox.h", "rounding_elements.h",
    "vectors.cuh",
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


def _kernel(name: str, made: Conversion) -> str:
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
    return "".join(["#define LP_CUDA\n", *map(_text, _TEXTS), *(_kernel(*item) for item in kernels.items())])


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
