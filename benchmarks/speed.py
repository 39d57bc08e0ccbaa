"""Our time beside a memory roofline, torch and ml_dtypes / NumPy: same buffers, one process, interleaved, medians.

    python benchmarks/speed.py [--quick] [--sizes 67108864,65536] [--threads 1] [--json FILE]

Each case is first checked for equal bits where the peer is known to be right (docs/semantics.md says where they are
not); then every contender runs once a round, in turn, and the medians of the rounds are printed as multiples of the
roofline, a C loop that reads and writes the same bytes. `--isa` picks the loops of an instruction set.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import _kernels

CASES = [
    # source, target, packed
    ("float32", "float8_e4m3fn", False), ("float32", "float8_e5m2", False), ("float32", "float8_e4m3fnuz", False),
    ("float32", "float8_e8m0fnu", False), ("float32", "float6_e2m3fn", False), ("float32", "float4_e2m1fn", True),
    ("float32", "bfloat16", False), ("float32", "float16", False), ("float64", "float8_e4m3fn", False),
    ("float64", "float32", False), ("float16", "float8_e4m3fn", False), ("bfloat16", "float8_e4m3fn", False),
    ("float8_e4m3fn", "float32", False), ("float8_e5m2", "float32", False), ("float8_e4m3fnuz", "float32", False),
    ("float8_e8m0fnu", "float32", False), ("bfloat16", "float32", False), ("float16", "float32", False),
    ("float8_e4m3fn", "float16", False), ("float8_e4m3fn", "bfloat16", False), ("float8_e4m3fn", "float64", False),
    ("float32", "int4", True), ("int4", "float32", False), ("float32", "int8", False), ("int8", "float32", False),
    ("int64", "float32", False), ("float32", "int64", False), ("int64", "int8", False), ("float32", "bool", False),
]  # fmt: skip


def _library(folder: str) -> ctypes.CDLL:
    source = Path(__file__).with_name("roof.c")
    flags = ["-O3", "-march=native", "-mprefer-vector-width=512", "-shared", "-fPIC"]
    subprocess.run([shutil.which("gcc") or "cc", *flags, source, "-o", f"{folder}/roof.so"], check=True)
    return ctypes.CDLL(f"{folder}/roof.so")


def _input(fmt: lp.Format, n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    if fmt.is_float:
        return lp.cast(rng.normal(0, 10, n).astype(np.float32), fmt)
    codes = rng.integers(0, 1 << min(fmt.bits, 7), n).astype(fmt.code_dtype)
    return codes.view(fmt.dtype)


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def _torch_call(x: np.ndarray, source: lp.Format, target: lp.Format) -> tuple[Callable[[], Any], Any] | None:
    torch = _torch()
    if torch is None:
        return None
    if not (source.torch_name and target.torch_name):
        return None
    tensor = torch.from_numpy(x.view(f"i{x.itemsize}")).view(getattr(torch, source.torch_name))
    out = torch.empty(x.shape, dtype=getattr(torch, target.torch_name))
    return lambda: out.copy_(tensor), out.view(getattr(torch, f"int{8 * out.element_size()}")).numpy()


def _contenders(
    roof: ctypes.CDLL, source: lp.Format, target: lp.Format, packed: bool, n: int
) -> tuple[dict[str, Callable[[], Any]], str]:
    x = _input(source, n)
    ours = np.empty(n * target.bits // 8 if packed else n, np.uint8 if packed else target.dtype)
    plain = np.empty(n, target.dtype)
    spare = np.empty(ours.nbytes, np.uint8)
    loop = getattr(roof, f"roof_{source.storage_bits}_{target.bits if packed else target.storage_bits}")

    def by_roof() -> None:  # the arrays themselves, not their addresses, so that they stay alive
        loop(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(spare.ctypes.data), ctypes.c_ssize_t(n))

    calls: dict[str, Callable[[], Any]] = {"roof": by_roof}
    if packed:
        calls["lowprec"] = lambda: lp.encode(x, target, packed=True, out=ours)
    else:
        calls["lowprec"] = lambda: lp.cast(x, target, out=ours)

    def by_numpy() -> None:
        with np.errstate(all="ignore"):
            np.copyto(plain, x, casting="unsafe")

    calls["ml_dtypes"] = by_numpy
    torchs = _torch_call(x, source, target)
    differs = []
    expected = lp.encode(x, target)
    by_numpy()
    width = f"u{plain.itemsize}"
    masked = plain.view(width) & np.array(target.code_mask, width)
    if not np.array_equal(masked, expected):
        differs.append("ml_dtypes")
    if torchs is not None:
        calls["torch"] = torchs[0]
        torchs[0]()
        if not np.array_equal(torchs[1].view(width), expected):
            differs.append("torch")
    return calls, " ".join(differs)


def _measure(calls: dict[str, Callable[[], Any]], n: int, rounds: int) -> dict[str, float]:
    """Return nanoseconds an element for each contender, the median of interleaved rounds."""
    repeats = max(1, (1 << 20) // n)
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            found[name].append((time.perf_counter() - start) / repeats / n * 1e9)
            time.sleep(0.002)  # the others' thread pools spin for a while
    return {name: statistics.median(times) for name, times in found.items()}


def _small_calls() -> dict[str, float]:
    """Return microseconds a call on 1 Ki float32 elements takes, allocation included: minima of many."""
    x = _input(lp.formats["float32"], 1024)
    target = lp.formats["float8_e4m3fn"]
    out = lp.cast(x, target)
    calls: dict[str, Callable[[], Any]] = {
        "lowprec, NumPy": lambda: lp.cast(x, target),
        "lowprec, NumPy, out=": lambda: lp.cast(x, target, out=out),
        "ml_dtypes": lambda: x.astype(target.dtype),
    }
    torch = _torch()
    if torch is not None:
        tensor, dtype = torch.from_numpy(x), getattr(torch, target.torch_name or "")
        calls["lowprec, torch"] = lambda: lp.cast(tensor, target)
        calls["torch"] = lambda: tensor.to(dtype)
    return {name: min(timeit.repeat(call, number=2000, repeat=20)) / 2000 * 1e6 for name, call in calls.items()}


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines()
        return next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def _versions() -> str:
    from importlib import metadata

    names = ["numpy", "ml_dtypes", "torch"]
    found = []
    for name in names:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer rounds: under two minutes")
    parser.add_argument("--sizes", help="elements, comma-separated (default 64 Mi, 64 Ki; quick: 4 Mi, 64 Ki)")
    parser.add_argument("--threads", default="1", help="numbers of threads, comma-separated (default 1)")
    parser.add_argument("--isa", help="base, v3 or v4 (default: the best here)")
    parser.add_argument("--json", type=Path, help="write the figures to a file, too")
    options = parser.parse_args()
    sizes = options.sizes or ("4194304,65536" if options.quick else "67108864,65536")
    if options.isa:
        _kernels.use_isa(options.isa)
    title = f"{_cpu()}, {platform.system()}, {date.today()}, loops {_kernels.isa()}, {_versions()}"
    print(title)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        roof = _library(folder)
        for n in map(int, sizes.split(",")):
            for threads in map(int, options.threads.split(",")):
                lp.set_num_threads(threads)
                if _torch() is not None:
                    _torch().set_num_threads(threads)
                print(f"\n{n} elements, {threads} threads; multiples of the one-thread roofline (ns an element)")
                print(f"{'case':34} {'roof ns':>8} {'lowprec':>8} {'torch':>8} {'ml_dtypes':>10}  other bits in")
                for source, target, packed in CASES:
                    calls, differs = _contenders(roof, lp.formats[source], lp.formats[target], packed, n)
                    times = _measure(calls, n, 5 if options.quick or n > 1 << 24 else 15)
                    base = times["roof"]
                    case = f"{source} > {target}{' packed' if packed else ''}"
                    torch = f"{times['torch'] / base:8.2f}" if "torch" in times else f"{'-':>8}"
                    print(
                        f"{case:34} {base:8.3f} {times['lowprec'] / base:8.2f} {torch} "
                        f"{times['ml_dtypes'] / base:10.2f}  {differs}",
                        flush=True,
                    )
                    rows.append({"case": case, "elements": n, "threads": threads, "ns": times, "other bits": differs})
    small = _small_calls()
    print("\n1024 float32 elements to float8_e4m3fn, allocation included: microseconds a call")
    for name, microseconds in small.items():
        print(f"{name:24} {microseconds:6.2f}")
    if options.json:
        options.json.write_text(
            json.dumps({"machine": title, "rows": rows, "small calls": small}, indent=1) + "\n", encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
