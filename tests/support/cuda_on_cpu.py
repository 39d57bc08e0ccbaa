"""The CUDA text compiled for the CPU: the same functions, with a loop in place of the threads."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowprec import _kernels
from lowprec.backends import cuda
from lowprec.plans.plan import Plan
from lowprec.plans.quantize_plan import QuantizeOptions, dequantize_plan, quantize_plan
from lowprec.spec.formats import FORMATS, NUMERIC, Kind
from lowprec.spec.rounding_modes import Stream
from support.plans import cast_plans, programs_of, rounded_plans

FLAGS = ["-std=c++17", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
TRAPS = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
"""A shift too far, or a wide access where memory is not aligned for it, ends the process."""

LAUNCH = """
#define LP_KERNEL(NAME, C)                                                                           \\
    extern "C" void NAME(                                                                            \\
        const u8 *src, u8 *dst, u64 n, const params_t *p, const operands_t *o, u64 threads) {        \\
        for (u64 thread = threads; thread-- > 0;)                                                    \\
            convert_vectors<C>(src, dst, n, *p, *o, thread, threads);                                 \\
    }
"""
GUARD = 64  # bytes around a result that must stay as they are
UNTOUCHED = 0xA5


def casts() -> Iterator[cuda.Conversion]:
    """Yield the kernel of every pair of numeric formats and every option, with packed ends and without."""
    for plan, _ in cast_plans():
        yield from _with_ends(plan)


def _options(output: Any, precision: Any = None) -> QuantizeOptions:
    return QuantizeOptions(output_dtype=output, precision=precision)


def quantizations() -> Iterator[cuda.Conversion]:
    """Yield the kernel of every quantization: every pair of types, every precision."""
    floats = [FORMATS[name] for name in ("float16", "bfloat16", "float32")]
    wide = [*floats, FORMATS["int32"]]
    codes = [row for row in NUMERIC if row.bits <= 16 and row not in floats and row.has_zero and row.kind != Kind.BOOL]
    for code, precision in itertools.product(codes, [*floats, FORMATS["float64"]]):
        for row, zero in itertools.product(wide, (code, None)):
            output = None if zero else code
            yield from _with_ends(quantize_plan(row, row, zero, _options(output, precision)))
    for code, output in itertools.product([*codes, FORMATS["int32"]], floats):
        yield from _with_ends(dequantize_plan(code, output, None, _options(output)))


def _with_ends(plan: Plan) -> Iterator[cuda.Conversion]:
    return map(cuda.conversion, programs_of(plan))


def roundings() -> Iterator[cuda.Conversion]:
    """Yield the kernels of `rounded_plans`, with packed ends and without."""
    for plan in rounded_plans():
        yield from _with_ends(plan)


class CpuBuild:
    """Runs programs by the kernels as they were compiled for this machine."""

    def __init__(self, folder: Path, conversions: Iterable[cuda.Conversion]) -> None:
        compiler = shutil.which("g++") or shutil.which("c++")
        if compiler is None:
            pytest.skip("no C++ compiler here")
        self.names = {made: f"kernel{index}" for index, made in enumerate(sorted(set(conversions)))}
        text = cuda.kernel_source({name: made for made, name in self.names.items()})
        source, library = folder / "kernels.cpp", folder / "kernels.so"
        source.write_text(LAUNCH + text, encoding="utf-8")
        subprocess.run([compiler, *FLAGS, *TRAPS, source, "-o", library], check=True)
        self.library = ctypes.CDLL(str(library))

    def __call__(
        self, codes: np.ndarray, program: _kernels.Program, n: int, *, threads: int | None = None, offset: int = 0,
        operands: tuple[np.ndarray, np.ndarray | None, tuple[int, ...]] | None = None, stream: Stream | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Convert `n` elements; `offset` moves both arrays by so many elements, or bytes where packed.

        `operands` are scales, zero points and their granularity.
        """
        made = cuda.conversion(program)
        blocks, threads_of_block = cuda.geometry(made, n)
        packed_operands = () if stream is None else (cuda.operands_bytes(*cuda.NO_SCALES, stream),)
        if operands is not None:
            scale, zero, granularity = operands
            addresses = scale.ctypes.data, 0 if zero is None else zero.ctypes.data
            packed_operands = (cuda.operands_bytes(*addresses, granularity),)
        count, *structs = cuda.arguments(program, n, *packed_operands)
        src = np.concatenate([np.zeros(offset, codes.dtype), codes])[offset:]
        item = max(program.dst_bits // 8, 1)
        size = (n * program.dst_bits + 7) // 8
        memory = np.full(GUARD + offset * item + size + GUARD, UNTOUCHED, np.uint8)
        start = GUARD + offset * item
        kernel = self.library[self.names[made]]
        kernel(
            ctypes.c_void_p(src.ctypes.data), ctypes.c_void_p(memory.ctypes.data + start), ctypes.c_uint64(int(count)),
            *(ctypes.c_void_p(struct.ctypes.data) for struct in structs),
            ctypes.c_uint64(threads or blocks * threads_of_block),
        )  # fmt: skip
        assert np.all(memory[:start] == UNTOUCHED)
        assert np.all(memory[start + size :] == UNTOUCHED)
        return memory[start : start + size].view(f"u{item}")
