"""What Python's limited API (abi3) would cost: `_kernels` compiled both ways, timed in alternating processes.

python benchmarks/limited_api.py [rounds]
"""

from __future__ import annotations

import platform
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from datetime import date
from pathlib import Path

import numpy as np

import lowprec as lp

SOURCES = Path(__file__).parents[1] / "lowprec"
DIRECTIVES = ["boundscheck=False", "wraparound=False", "cdivision=True", "initializedcheck=False"]
FLAGS = ["-shared", "-fPIC", "-DNDEBUG", "-g0", "-fwrapv", "-O3", "-fopenmp"]
FLAGS += ["-fno-trapping-math", "-fno-math-errno", "-ffp-contract=off"]
LIMITED = ["-DPy_LIMITED_API=0x030B0000", "-DCYTHON_LIMITED_API=1"]
LIMITED += ["-DPyByteArray_AS_STRING=PyByteArray_AsString"]  # a macro that the limited API lacks
TIMED = """
import time, timeit
import numpy as np
import lowprec as lp
lp.set_num_threads(1)
small, large = np.ones(16, np.float32), np.ones(1 << 20, np.float32)
out, scale = np.empty(16, np.uint8), np.float32(0.5)
for call in (
    lambda: lp.cast(small, "float8_e4m3fn"),
    lambda: lp.encode(small, "float8_e4m3fn", out=out),
    lambda: lp.quantize_linear(small, scale, output_dtype="int8"),
    lambda: lp.cast(large, "float8_e4m3fn"),
):
    timer = timeit.Timer(call, timer=time.thread_time)  # the thread's own: other processes do not count
    count = max(1, int(0.001 / (min(timer.repeat(5, 10)) / 10)))
    print(min(timer.repeat(200, count)) / count)
"""
CALLS = ["cast, 16 elements", "encode, out=, 16 elements", "quantize_linear, 16 elements", "cast, 1 Mi elements"]


def compiled(folder: Path, generated: Path, *flags: str) -> Path:
    """Copy the package to a folder, with `_kernels` compiled with the flags."""
    shutil.copytree(Path(lp.__file__).parent, folder / "lowprec", ignore=shutil.ignore_patterns("_kernels*.so", "*.c"))
    include = [SOURCES / "_native", np.get_include(), sysconfig.get_path("include")]
    module = folder / "lowprec" / ("_kernels.abi3.so" if flags else "_kernels" + sysconfig.get_config_var("EXT_SUFFIX"))
    macro = "-DNPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION"
    command = ["gcc", *FLAGS, *flags, macro, *(f"-I{path}" for path in include), str(generated), "-o", str(module)]
    subprocess.run(command, check=True)
    return folder


def seconds(folder: Path) -> list[float]:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{TIMED}"]
    return [float(line) for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        generated = work / "_kernels.c"
        directives = [part for each in DIRECTIVES for part in ("-X", each)]
        command = [
            sys.executable,
            "-m",
            "cython",
            "-3",
            *directives,
            "-I",
            "_native",
            "_kernels.pyx",
            "-o",
            str(generated),
        ]
        subprocess.run(command, check=True, cwd=SOURCES)
        usual, limited = compiled(work / "usual", generated), compiled(work / "limited", generated, *LIMITED)
        pairs = [(seconds(usual), seconds(limited)) for _ in range(rounds)]
    print(f"{platform.python_version()}, Cython's limited API for CPython 3.11, {rounds} rounds, {date.today()}")
    for index, call in enumerate(CALLS):
        first, second = (min(pair[which][index] for pair in pairs) for which in (0, 1))
        ratio = statistics.median(pair[1][index] / pair[0][index] for pair in pairs)
        print(f"{call:30} {first * 1e6:10.2f} us {second * 1e6:10.2f} us, median of the ratios {ratio:.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
