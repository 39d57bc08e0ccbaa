"""What a call on few elements takes, with options and without: medians, and multiples of `astype` of ml_dtypes.

    python benchmarks/small_calls.py [elements]

Time of the processor. Every call takes its turn in each round, so that what else the machine does befalls all of them.
"""

from __future__ import annotations

import statistics
import sys
import time
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import lowprec as lp

ROUNDS, CALLS = 61, 300
BASE = "ml_dtypes, astype"


def calls(x: Any, library: Callable[[np.ndarray], Any]) -> dict[str, Callable[[], Any]]:
    """Return the calls on an array of float32, which `library` makes an array of another library of."""
    x, host = library(x), x
    codes = lp.encode(x, "float8_e4m3fn")
    nibbles = lp.encode(x, "float4_e2m1fn")
    packed = lp.encode(x, "float4_e2m1fn", packed=True)
    scale = library(np.array(0.5, np.float32))
    scales = library(np.full(host.size // 4, 0.5, np.float32))
    integers = lp.quantize_linear(x, scale, output_dtype="int8")
    out = lp.cast(x, "float8_e4m3fn")
    made: dict[str, Callable[[], Any]] = {
        "cast": lambda: lp.cast(x, "float8_e4m3fn"),
        "cast, out": lambda: lp.cast(x, "float8_e4m3fn", out=out),
        "cast, saturate": lambda: lp.cast(x, "float8_e4m3fn", saturate=False),
        "cast, opset": lambda: lp.cast(x, "float8_e4m3fn", opset=24),
        "cast, round_mode": lambda: lp.cast(x, "float8_e8m0fnu", round_mode="nearest"),
        "cast, rounding": lambda: lp.cast(x, "float8_e4m3fn", rounding="toward_zero"),
        "cast, seed": lambda: lp.cast(x, "float8_e4m3fn", rounding="stochastic", seed=3),
        "cast, source": lambda: lp.cast(codes, "float32", source="float8_e4m3fn"),
        "cast_like": lambda: lp.cast_like(x, out),
        "encode": lambda: lp.encode(x, "float8_e4m3fn"),
        "encode, packed": lambda: lp.encode(x, "float4_e2m1fn", packed=True),
        "decode": lambda: lp.decode(codes, "float8_e4m3fn"),
        "decode, packed": lambda: lp.decode(packed, "float4_e2m1fn", packed=True, shape=(host.size,)),
        "pack": lambda: lp.pack(nibbles, "float4_e2m1fn"),
        "unpack": lambda: lp.unpack(packed, "float4_e2m1fn", (host.size,)),
        "quantize_linear, number": lambda: lp.quantize_linear(x, 0.5, output_dtype="int8"),
        "quantize_linear": lambda: lp.quantize_linear(x, scale, output_dtype="int8"),
        "quantize_linear, blocks": lambda: lp.quantize_linear(x, scales, axis=0, block_size=4, output_dtype="int8"),
        "quantize_linear, packed": lambda: lp.quantize_linear(x, scale, output_dtype="int4", packed=True),
        "quantize_linear, rounding": lambda: lp.quantize_linear(
            x, scale, output_dtype="float8_e4m3fn", rounding="toward_zero"
        ),
        "dequantize_linear": lambda: lp.dequantize_linear(integers, scale),
    }
    if x is host:
        made[BASE] = lambda: host.astype(out.dtype)
    else:
        made["torch, to"] = lambda: x.to(out.dtype)
    return made


def main() -> None:
    """Measure and print."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    x = np.linspace(-3, 3, n // 4 * 4, dtype=np.float32)
    timed = {("NumPy", name): call for name, call in calls(x, lambda array: array).items()}
    if "torch" in sys.modules or _has_torch():
        timed |= {("torch", name): call for name, call in calls(x, sys.modules["torch"].from_numpy).items()}
    times: dict[tuple[str, str], list[float]] = {key: [] for key in timed}
    for _ in range(ROUNDS):
        for key, call in timed.items():
            times[key].append(timeit.timeit(call, timer=time.process_time, number=CALLS) / CALLS * 1e6)
    medians = {key: statistics.median(some) for key, some in times.items()}
    print(f"{x.size} elements: microseconds a call (median of {ROUNDS} rounds), multiple of {BASE}, least")
    for (library, name), median in medians.items():
        ratio = median / medians["NumPy", BASE]
        print(f"{library:6} {name:26} {median:7.3f} {ratio:7.2f} {min(times[library, name]):7.3f}")


def _has_torch() -> bool:
    try:
        __import__("torch")
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    main()
