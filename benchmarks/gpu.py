"""The command `gpu`: bandwidth of the CUDA kernels as a share of a copy on the device; needs CuPy and a GPU.

Each case is first checked for NumPy's bits on a sample. Then the conversion and a copy, which reads and writes together
as many bytes, run in turn on one stream between two events; the medians of the rounds are printed.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import statistics
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import stored_runs

import lowprec as lp

CASES = [
    # source, target, packed
    ("float32", "float8_e4m3fn", False), ("float32", "float8_e5m2", False), ("float32", "float8_e4m3fnuz", False),
    ("float32", "float8_e8m0fnu", False), ("float32", "float6_e2m3fn", True), ("float32", "float4_e2m1fn", True),
    ("float32", "bfloat16", False), ("float32", "float16", False), ("float32", "int8", False),
    ("float32", "int4", True), ("float64", "float8_e4m3fn", False), ("float16", "float8_e4m3fn", False),
    ("bfloat16", "float8_e4m3fn", False),
    ("float8_e4m3fn", "float32", False), ("float8_e4m3fn", "float16", False), ("float8_e4m3fn", "bfloat16", False),
    ("float16", "float32", False), ("int8", "float32", False), ("int64", "float32", False), ("int64", "int8", False),
]  # fmt: skip
LINEAR = [
    # target, axis of the scales of a (rows, 4096) float32 array, block_size
    ("int8", None, 0), ("int8", 0, 0), ("int8", 1, 0), ("float8_e4m3fn", None, 0), ("int4", 1, 128),
    ("float4_e2m1fn", 1, 16), ("float4_e2m1fn", 1, 32),
]  # fmt: skip
SAMPLE = 1 << 16
COLUMNS = 4096


def _cupy() -> Any | None:
    if importlib.util.find_spec("cupy") is None:
        return None
    import cupy

    return cupy if cupy.is_available() else None


def _seconds(cupy: Any, calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median time of each call on the device."""
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()  # compiles
    for _ in range(rounds):
        for name, call in calls.items():
            start.record()
            call()
            stop.record()
            stop.synchronize()
            found[name].append(cupy.cuda.get_elapsed_time(start, stop) / 1e3)
    return {name: statistics.median(times) for name, times in found.items()}


def _against_copy(cupy: Any, call: Callable[[], Any], moved: int, rounds: int) -> tuple[float, float]:
    """Return the gigabytes a second of a call that reads and writes so many bytes, and of a copy."""
    here, there = cupy.empty(moved // 2, np.uint8), cupy.empty(moved // 2, np.uint8)

    def copy() -> None:
        there.data.copy_from_device_async(here.data, here.nbytes)

    seconds = _seconds(cupy, {"call": call, "copy": copy}, rounds)
    return moved / seconds["call"] / 1e9, moved / seconds["copy"] / 1e9


def _cast(cupy: Any, source: lp.Format, target: lp.Format, packed: bool, n: int, rounds: int) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    sample = lp.encode((10 * rng.standard_normal(SAMPLE)).astype(np.float32), source)
    x = cupy.resize(cupy.asarray(sample), n)
    out = lp.encode(x, target, source=source, packed=packed)
    expected = lp.encode(sample, target, source=source, packed=packed)
    if not np.array_equal(out[: expected.size].get(), expected):
        raise SystemExit(f"{source.name} to {target.name}: other bits than NumPy's")
    call = functools.partial(lp.encode, x, target, source=source, packed=packed, out=out)
    return _against_copy(cupy, call, x.nbytes + out.nbytes, rounds)


def _quantize(cupy: Any, target: lp.Format, axis: int | None, block: int, n: int, rounds: int) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    x = cupy.resize(cupy.asarray((10 * rng.standard_normal(SAMPLE)).astype(np.float32)), (n // COLUMNS, COLUMNS))
    shape = (x.shape[0], COLUMNS // block) if block else () if axis is None else (x.shape[axis],)
    scale = cupy.asarray(rng.uniform(0.05, 2, shape).astype(np.float32))
    options = {"axis": axis or 0, "block_size": block, "output_dtype": target, "packed": target.bits < 8}
    out = lp.quantize_linear(x, scale, **options)
    rows = SAMPLE // COLUMNS
    beside = scale[:rows] if scale.shape[:1] == x.shape[:1] else scale
    expected = lp.quantize_linear(x[:rows].get(), beside.get(), **options).reshape(-1).view(np.uint8)
    if not np.array_equal(out.reshape(-1)[: expected.size].view(np.uint8).get(), expected):
        raise SystemExit(f"quantize_linear to {target.name}: other bits than NumPy's")
    call = functools.partial(lp.quantize_linear, x, scale, out=out, **options)
    return _against_copy(cupy, call, x.nbytes + out.nbytes + scale.nbytes, rounds)


def main(arguments: list[str]) -> int:
    """Print the table, and store it by the name of the GPU."""
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=["gpu"])
    parser.add_argument(
        "--elements", type=int, default=1 << 28, help="elements of each array, in steps of 64 Ki (default 256 Mi)"
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--store", action="store_true", help="replace the stored run of this GPU")
    options = parser.parse_args(arguments)
    n, rounds = options.elements // SAMPLE * SAMPLE, options.rounds
    cupy = _cupy()
    if cupy is None:
        print("No CUDA device that CuPy can use is here: nothing was measured.")
        return 1
    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    run: dict[str, Any] = {"date": str(date.today()), "elements": n, "rounds": rounds, "CuPy": cupy.__version__}
    print(f"{name}, {', '.join(f'{key} {value}' for key, value in run.items())}")
    print(f"{'case':40} {'GB/s':>8} {'copy GB/s':>10} {'share':>7}")
    run["rows"] = []

    def show(title: str, measured: tuple[float, float]) -> None:
        ours, copy = measured
        run["rows"].append({"case": title, "GB/s": round(ours), "of a copy": round(ours / copy, 2)})
        print(f"{title:40} {ours:8.0f} {copy:10.0f} {ours / copy:7.0%}", flush=True)

    for source, target, packed in CASES:
        pair = lp.formats[source], lp.formats[target]
        show(f"{source} → {target}{' packed' if packed else ''}", _cast(cupy, *pair, packed, n, rounds))
    for target, axis, block in LINEAR:
        how = "tensor" if axis is None else f"block {block}" if block else f"axis {axis}"
        show(f"quantize float32 → {target}, {how}", _quantize(cupy, lp.formats[target], axis, block, n, rounds))
    if options.store:
        stored_runs.store_other("gpu", name, run)
    return 0
