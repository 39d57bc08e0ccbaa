"""The CUDA kernels as functions of this machine: the same text through a host compiler, a loop for the threads."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sweeping import options_for

from lowprec import _kernels, cuda
from lowprec.formats import NUMERIC
from lowprec.opsets import cast_rules
from lowprec.plan import make_plan
from lowprec.stages import make_program

FLAGS = ["-std=c++17", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
TRAPS = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
"""A shift too far, or a wide access where memory is not aligned for it, ends the process."""

LAUNCH = """
#define LP_KERNEL(NAME, C)                                                                           \\
    extern "C" void NAME(const u8 *src, u8 *dst, u64 n, const params_t *p, u64 threads) {            \\
        for (u64 thread = threads; thread-- > 0;) convert_groups<C>(src, dst, n, *p, thread, threads); \\
    }
"""
GUARD = 64  # bytes around a result that must stay as they are
UNTOUCHED = 0xA5


def every_conversion() -> list[cuda.Conversion]:
    """Return every kernel that some pair of numeric formats asks for, with packed ends and without."""
    found = set()
    for source in NUMERIC:
        for target in NUMERIC:
            for options in options_for(target):
                if options.get("opset", 28) < source.since:
                    continue
                plan = make_plan(source, target, cast_rules(source, target, **options))
                for unpacked in (False, True) if source.bits in (2, 4, 6) else (False,):
                    for packed in (False, True) if target.bits in (2, 4, 6) else (False,):
                        found.add(cuda.conversion(make_program(plan, packed=packed, unpacked=unpacked)))
    return sorted(found)


class Host:
    """Runs programs by the kernels as they were compiled for this machine."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("g++") or shutil.which("c++")
        if compiler is None:
            pytest.skip("no C++ compiler here")
        self.names = {made: f"kernel{index}" for index, made in enumerate(every_conversion())}
        text = cuda.kernel_source({name: made for made, name in self.names.items()})
        size = 'extern "C" u64 size_of_numbers() { return sizeof(params_t); }\n'
        source, library = folder / "kernels.cpp", folder / "kernels.so"
        source.write_text(LAUNCH + text + size, encoding="utf-8")
        subprocess.run([compiler, *FLAGS, *TRAPS, source, "-o", library], check=True)
        self.library = ctypes.CDLL(str(library))

    def __call__(
        self, codes: np.ndarray, program: _kernels.Program, n: int, *, threads: int | None = None, offset: int = 0
    ) -> np.ndarray:
        """Convert `n` elements; `offset` moves both arrays by so many elements, or bytes where packed."""
        made = cuda.conversion(program)
        blocks, threads_of_block = cuda.geometry(made, n)
        count, numbers = cuda.arguments(program, n)
        src = np.concatenate([np.zeros(offset, codes.dtype), codes])[offset:]
        item = max(program.dst_bits // 8, 1)
        size = (n * program.dst_bits + 7) // 8
        memory = np.full(GUARD + offset * item + size + GUARD, UNTOUCHED, np.uint8)
        start = GUARD + offset * item
        kernel = self.library[self.names[made]]
        kernel(
            ctypes.c_void_p(src.ctypes.data),
            ctypes.c_void_p(memory.ctypes.data + start),
            ctypes.c_uint64(int(count)),
            ctypes.c_void_p(numbers.ctypes.data),
            ctypes.c_uint64(threads or blocks * threads_of_block),
        )
        assert np.all(memory[:start] == UNTOUCHED)
        assert np.all(memory[start + size :] == UNTOUCHED)
        return memory[start : start + size].view(f"u{item}")
