"""What bounds a conversion in the cache: microseconds of a call before its first element, and cycles an element.

    python benchmarks/cycles.py [--only TEXT] [--isa ISA]

A call is timed with 16 Ki and with 64 Ki elements. The difference is the loop's time; what is left of the shorter call
is the rest: Python, the look-up of the call, operands. Cycles come from a chain of multiplications, each of which takes
3 cycles on an x86-64 processor, timed in the same rounds. The copy is the roofline of the same bytes.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from conversions import CONVERSIONS, Arrays, Conversion
from results import machine
from roofline import Roof
from timing import Contender, calls

from lowprec import _kernels

SMALL, LARGE = 1 << 14, 1 << 16
ROUNDS = 60
MULTIPLICATIONS = 200_000
CYCLES_OF_ONE = 3
CHAIN = """
#include <stdint.h>
uint64_t chain(uint64_t v, long n) {
    for (long i = 0; i < n; i++) {
        v *= 0x9e3779b97f4a7c15u; /* no shifts and additions */
        __asm__ volatile("" : "+r"(v));
    }
    return v;
}
"""


def clock(folder: str) -> Contender:
    """Return a chain of multiplications, each of which waits for the one before."""
    source, library = Path(folder, "chain.c"), Path(folder, "chain.so")
    source.write_text(CHAIN, encoding="utf-8")
    flags = ["-O2", "-shared", "-fPIC"]
    subprocess.run([shutil.which("gcc") or "cc", *flags, source, "-o", library], check=True)
    chain = ctypes.CDLL(str(library)).chain
    chain.argtypes, chain.restype = [ctypes.c_uint64, ctypes.c_long], ctypes.c_uint64

    def run(repeats: int) -> None:
        for _ in range(repeats):
            chain(1, MULTIPLICATIONS)

    return Contender(run)


def costs(row: Conversion, roof: Roof, chain: Contender) -> tuple[float, float, float]:
    """Return microseconds before the first element, cycles an element, and those of a copy: minima of many rounds."""
    contenders: dict[str, tuple[Contender, int]] = {"clock": (chain, 1)}
    for n in (SMALL, LARGE):
        made = Arrays(row, n)
        contenders[f"loop {n}"] = calls(made.lowprec()), 1 << 21
        contenders[f"copy {n}"] = roof.copy(made.x, made.out, 1), 1 << 21
    least = dict.fromkeys(contenders, 1e9)
    for _ in range(ROUNDS):
        for name, (contender, elements) in contenders.items():
            repeats = 1 if name == "clock" else max(1, elements // (LARGE * 8))
            least[name] = min(least[name], contender.time(repeats, warm=True))
    hertz = CYCLES_OF_ONE * MULTIPLICATIONS / least["clock"]
    loop, copy = ((least[f"{kind} {LARGE}"] - least[f"{kind} {SMALL}"]) / (LARGE - SMALL) for kind in ("loop", "copy"))
    before = least[f"loop {SMALL}"] - loop * SMALL
    return before * 1e6, loop * hertz, copy * hertz


def main() -> None:
    """Print a line for each conversion."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="conversions whose names contain the text")
    parser.add_argument("--isa", help="base, v3, v4 or v4_vbmi (default: the best here)")
    options = parser.parse_args()
    if options.isa:
        _kernels.use_isa(options.isa)
    print(f"{', '.join(map(str, machine().values()))}, loops {_kernels.isa()}, {time.strftime('%Y-%m-%d')}\n")
    print("| | before the first element, µs | cycles an element | of a copy |\n| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        roof, chain = Roof(folder), clock(folder)
        for row in CONVERSIONS:
            if options.only in row.name:
                before, loop, copy = costs(row, roof, chain)
                print(f"| {row.name} | {before:.2f} | {loop:.3f} | {copy:.3f} |", flush=True)


if __name__ == "__main__":
    main()
