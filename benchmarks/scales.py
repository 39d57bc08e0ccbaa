"""Time of `absmax_scale` beside reading x once: one thread or several, as ratios.

    python benchmarks/scales.py [--size 64M] [--threads 1,2] [--seconds 1] [--isa v3]

`read` is a C loop over as many threads that combines all of x in vector registers and writes nothing: no scale can be
had for less. `NumPy` is ``np.abs(x).max(…)``. Contenders take turns, the minimum of their times counts. The goal is 1.3
times `read`, scales, their division and their rounding included.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from typing import Any

import numpy as np
from conversions import random_input
from results import circumstances, described
from roofline import Roof
from timing import Contender, calls, measure

import lowprec as lp
from lowprec import _kernels
from lowprec.checkpoints.conversion import parse_size

SOURCES = ("float32", "bfloat16")
COLUMNS = 4096
GROUPS: list[tuple[str, dict[str, Any]]] = [
    ("tensor", {}),
    ("axis 0", {"axis": 0}),
    ("last axis", {"axis": 1}),
    *((f"block {size}", {"axis": 1, "block_size": size}) for size in (16, 32, 128)),
    ("tile 128 x 128", {"axis": (0, 1), "block_size": (128, 128)}),
]
"""What shares a scale, of rows of 4096 elements."""


def with_numpy(x: np.ndarray[Any, Any], axis: int | tuple[int, int] | None = None, block_size: Any = 0) -> Any:
    """Return the largest magnitudes by plain NumPy; x has no NaN or Inf, and whole blocks."""
    magnitudes = np.abs(x)
    if axis is None:
        return magnitudes.max()
    if isinstance(axis, tuple):
        down, across = block_size
        return magnitudes.reshape(x.shape[0] // down, down, -1, across).max(axis=(1, 3))
    if not block_size:
        return magnitudes.max(axis=1 - axis)
    return magnitudes.reshape(x.shape[0], -1, block_size).max(axis=2)


def table(roof: Roof, nbytes: int, threads: int, seconds: float) -> None:
    """Print the ratios for one number of threads."""
    lp.set_num_threads(threads)
    print(f"\n{nbytes >> 20} MiB, {threads} thread{'s' * (threads > 1)}: multiples of reading x (in GB/s)\n")
    print("| source | scales | read | lowprec | lowprec, e8m0 | NumPy |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for source in SOURCES:
        held = lp.formats[source]
        n = nbytes * 8 // held.bits // (128 * COLUMNS) * (128 * COLUMNS)
        x = random_input(held, n).reshape(-1, COLUMNS)
        x[~np.isfinite(x.astype(np.float32))] = 0
        for name, shared in GROUPS:
            e8m0 = {"scale_format": "float8_e8m0fnu", **shared}
            timed: dict[str, Contender] = {
                "read": roof.read(x, threads),
                "lowprec": calls(partial(lp.absmax_scale, x, "int8", **shared), threads=threads),
                "e8m0": calls(partial(lp.absmax_scale, x, "float8_e4m3fn", **e8m0), threads=threads),
                "NumPy": calls(partial(with_numpy, x, **shared), limited=True),
            }
            times = measure(timed, n, seconds)["minimum"]
            ratios = " | ".join(f"{times[who] / times['read']:.2f}" for who in ("lowprec", "e8m0", "NumPy"))
            print(f"| {source} | {name} | {held.bits / 8 / times['read']:.1f} | {ratios} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=parse_size, default="64M", help="of x, in bytes (default: %(default)s)")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, comma-separated (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1, help="time of a row (default: %(default)s)")
    parser.add_argument("--isa", help="base, v3, v4 or v4_vbmi (default: the best here)")
    options = parser.parse_args()
    if options.isa:
        _kernels.use_isa(options.isa)
    print(described(circumstances()))
    with tempfile.TemporaryDirectory() as folder:
        roof = Roof(folder)
        for threads in map(int, options.threads.split(",")):
            table(roof, options.size, threads, options.seconds)


if __name__ == "__main__":
    main()
