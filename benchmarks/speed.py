"""Our time beside memory rooflines and every peer: same buffers, one process, interleaved, medians, as ratios.

    python benchmarks/speed.py [--quick] [--sizes 67108864,65536,1024] [--threads 1,2] [--only TEXT] [--alone]
                               [--json FILE]

Each case is first checked for equal bits; the last column names the peers that have others (docs/semantics.md says
where they are wrong). Then every contender runs once a round, in turn, into memory of its own that was written before.
Figures are multiples of the roofline: a C loop over as many threads that reads and writes the same bytes. `stream` is
that loop with stores past the cache. Two more tables: fresh outputs, and small calls.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import contenders
import numpy as np
from contenders import Call, Case, Roof, aligned, random_input

import lowprec as lp
from lowprec import _kernels

PEERS = ("torch", "ONNX Runtime", "NumPy")


def cases(roof: Roof, n: int, threads: int, only: str) -> Iterator[Case]:
    """Make the cases one at a time, for their buffers are large."""
    makers: list[tuple[str, Callable[[], Case]]] = []
    for source, target, packed in contenders.CAST:
        makers.append((f"{source} {target}", partial(contenders.cast_case, roof, source, target, packed, n, threads)))
    for target, packed, spread in contenders.QUANTIZE:
        call = partial(contenders.quantize_case, roof, target, packed, spread, n, threads)
        makers.append((f"quantize {target} {spread}", call))
    for source, packed, spread in contenders.DEQUANTIZE:
        call = partial(contenders.dequantize_case, roof, source, packed, spread, n, threads)
        makers.append((f"dequantize {source} {spread}", call))
    for name, make in makers:
        if only in name:
            yield make()


def measure(calls: dict[str, Call], n: int, rounds: int) -> dict[str, float]:
    """Return nanoseconds an element for each contender, the median of interleaved rounds."""
    repeats = max(1, (1 << 20) // n)
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            call()  # wakes threads and loads what the last one pushed out
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            found[name].append((time.perf_counter() - start) / repeats / n * 1e9)
            time.sleep(0.002)  # the others' thread pools spin for a while
    return {name: statistics.median(times) for name, times in found.items()}


def table(roof: Roof, n: int, threads: int, rounds: int, only: str) -> list[dict[str, Any]]:
    """Print one size and number of threads; return its rows."""
    lp.set_num_threads(threads)
    if (torch := contenders.module("torch")) is not None:
        torch.set_num_threads(threads)
    print(f"\n{n} elements, {threads} thread{'s' * (threads > 1)}: multiples of the roofline (in ns an element)\n")
    columns = ("lowprec", "stream", *PEERS)
    print("| case | roofline | " + " | ".join(columns) + " | other bits |")
    print("| --- |" + " ---: |" * (len(columns) + 1) + " --- |")
    rows = []
    for case in cases(roof, n, threads, only):
        times = measure(case.calls, n, rounds)
        base = times["roof"]
        ratios = (f"{times[who] / base:.2f}" if who in times else "–" for who in columns)
        print(f"| {case.name} | {base:.3f} | {' | '.join(ratios)} | {', '.join(case.differs)} |", flush=True)
        rows.append({"case": case.name, "elements": n, "threads": threads, "ns": times, "other bits": case.differs})
    return rows


def fresh(roof: Roof, n: int, rounds: int) -> list[dict[str, Any]]:
    """Print what newly allocated outputs cost: ours, and the roofline into such pages."""
    print(f"\n{n} elements into newly allocated memory, 1 thread: multiples of the roofline into such memory\n")
    print("| case | roofline | lowprec | lowprec, `out=` |\n| --- | ---: | ---: | ---: |")
    lp.set_num_threads(1)
    rows = []
    for source, target in (("float32", "float8_e4m3fn"), ("float32", "bfloat16"), ("float8_e4m3fn", "float32")):
        x, held = random_input(lp.formats[source], n), lp.formats[target]
        out = aligned(n * held.bits // 8).view(held.dtype)

        def into_new(x: np.ndarray = x, held: lp.Format = held) -> None:
            roof.call("roof", x, np.empty(n, held.dtype), n, 1)()

        calls: dict[str, Call] = {
            "roof": into_new,
            "fresh": partial(lp.cast, x, held),
            "out": partial(lp.cast, x, held, out=out),
        }
        times = measure(calls, n, rounds)
        base = times["roof"]
        print(f"| {source} → {target} | {base:.3f} | {times['fresh'] / base:.2f} | {times['out'] / base:.2f} |")
        rows.append({"case": f"{source} → {target}", "elements": n, "ns": times})
    return rows


def small_calls() -> list[dict[str, Any]]:
    """Print microseconds a call on few float32 elements takes, allocation included: minima of many."""
    target, torch = lp.formats["float8_e4m3fn"], contenders.module("torch")
    lp.set_num_threads(None)
    names = ("lowprec", "lowprec, `out=`", "ml_dtypes", "lowprec, torch", "torch")
    print("\nfloat32 → float8_e4m3fn, microseconds a call, allocation included\n")
    print("| elements | " + " | ".join(names) + " |\n| ---: |" + " ---: |" * len(names))
    rows = []
    for n in (16, 128, 1024):
        x = random_input(lp.formats["float32"], n)
        out = lp.cast(x, target)
        calls: list[Call] = [
            partial(lp.cast, x, target), partial(lp.cast, x, target, out=out), partial(x.astype, target.dtype),
        ]  # fmt: skip
        if torch is not None:
            tensor = torch.from_numpy(x)
            calls += [partial(lp.cast, tensor, target), partial(tensor.to, getattr(torch, target.torch_name or ""))]
        found = [min(timeit.repeat(call, number=1000, repeat=20)) * 1000 for call in calls]
        print(f"| {n} | " + " | ".join(f"{time_:.2f}" for time_ in found) + " |")
        rows.append({"elements": n, "microseconds": dict(zip(names, found, strict=False))})
    return rows


def machine() -> str:
    """Return the processor, the date, and the versions of everything timed."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines()
        cpu = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = platform.processor()
    versions = []
    for name in ("numpy", "ml_dtypes", "torch", "onnxruntime"):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    return f"{cpu}, {platform.system()}, {date.today()}, loops {_kernels.isa()}, {', '.join(versions)}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="4 Mi and 64 Ki elements, few rounds: under two minutes")
    parser.add_argument("--sizes", help="elements, comma-separated (default 64 Mi, 64 Ki, 1 Ki)")
    parser.add_argument("--threads", help="numbers of threads, comma-separated (default 1,2; quick: 1)")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases that contain the text: 'float32 bfloat16'")
    parser.add_argument("--alone", action="store_true", help="rooflines and lowprec, without the peers")
    parser.add_argument("--isa", help="base, v3 or v4 (default: the best here)")
    parser.add_argument("--json", type=Path, help="write the figures to a file, too")
    options = parser.parse_args()
    sizes = options.sizes or ("4194304,65536" if options.quick else "67108864,65536,1024")
    numbers = options.threads or ("1" if options.quick else "1,2")
    if options.alone:
        contenders.peers_wanted = False
    if options.isa:
        _kernels.use_isa(options.isa)
    print(machine())
    found: dict[str, Any] = {"machine": machine(), "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        roof = Roof(folder)
        for n in map(int, sizes.split(",")):
            for threads in map(int, numbers.split(",")):
                if threads == 1 or n >= 1 << 14:
                    rounds = 5 if options.quick or n > 1 << 24 else 15
                    found["rows"] += table(roof, n, threads, rounds, options.only)
        if not options.only:
            found["fresh"] = fresh(roof, max(map(int, sizes.split(","))), 5)
            found["small calls"] = small_calls()
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
