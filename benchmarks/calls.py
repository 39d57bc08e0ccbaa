"""The command `calls`: what a call on few elements takes, with options and without, next to `astype` of ml_dtypes.

Time of the processor. Every call takes its turn in each round, so that what else the machine does befalls all of them.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
import timeit
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from peers import has
from rows import random_input
from stored_runs import circumstances, described

import lowprec as lp

ROUNDS, CALLS = 61, 300
BASE = "ml_dtypes, astype"


def without_body(function: Any) -> Callable[..., Any]:
    """Return a function with the parameters of another that does nothing: what CPython takes to call that."""
    empty = (lambda: None).__code__
    code = function.__code__.replace(
        co_code=empty.co_code, co_consts=empty.co_consts, co_linetable=empty.co_linetable,
        co_exceptiontable=empty.co_exceptiontable,
    )  # fmt: skip
    made = types.FunctionType(code, {}, argdefs=function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


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
        nothing = without_body(lp.quantize_linear)
        made["quantize_linear, no body"] = lambda: nothing(x, scale, output_dtype="int8")
        made[BASE] = lambda: host.astype(out.dtype)
    else:
        made["torch, to"] = lambda: x.to(out.dtype)
    return made


def small_calls() -> list[dict[str, Any]]:
    """Return microseconds that a cast of few float32 elements takes, allocation included: minima of many."""
    target = lp.formats["float8_e4m3fn"]
    lp.set_num_threads(None)
    rows = []
    for n in (16, 128, 1024):
        x = random_input(lp.formats["float32"], n)
        out = lp.cast(x, target)
        timed: dict[str, Callable[[], Any]] = {
            "lowprec": partial(lp.cast, x, target),
            "lowprec, out=": partial(lp.cast, x, target, out=out),
            "ml_dtypes": partial(x.astype, target.dtype),
        }
        if has("torch"):
            torch = importlib.import_module("torch")
            timed["lowprec, torch"] = partial(lp.cast, torch.from_numpy(x), target)
            timed["torch"] = partial(torch.from_numpy(x).to, torch.float8_e4m3fn)
        rows.append({"elements": n, "microseconds": {name: _least(call) for name, call in timed.items()}})
    return rows


def small_scales() -> list[dict[str, Any]]:
    """Return microseconds that scales and blocks of 16 float32 elements take, of NumPy arrays and of torch tensors."""
    lp.set_num_threads(None)
    x = random_input(lp.formats["float32"], 16).reshape(4, 4)
    wanted: dict[str, Callable[[Any], Any]] = {
        "absmax_scale": lambda x: lp.absmax_scale(x, "int8"),
        "absmax_scale, axis": lambda x: lp.absmax_scale(x, "int8", axis=0),
        "absmax_scale, blocks": lambda x: lp.absmax_scale(x, "int8", axis=1, block_size=2),
        "absmax_scale, blocks, float8_e8m0fnu": lambda x: lp.absmax_scale(
            x, "float4_e2m1fn", axis=1, block_size=2, scale_format="float8_e8m0fnu"
        ),
        "minmax_scale": lambda x: lp.minmax_scale(x, "uint8"),
        "mx_quantize": lp.mx_quantize,
        "nvfp4_quantize": lp.nvfp4_quantize,
    }
    arrays = {"NumPy": x} | ({"torch": importlib.import_module("torch").from_numpy(x)} if has("torch") else {})
    return [
        {"call": name, "microseconds": {library: _least(partial(call, one)) for library, one in arrays.items()}}
        for name, call in wanted.items()
    ]


def _least(call: Callable[[], Any]) -> float:
    return round(min(timeit.repeat(call, number=1000, repeat=20)) * 1000, 3)


def main(arguments: list[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=["calls"])
    parser.add_argument("--elements", type=int, default=16, help="a multiple of 4 (default: %(default)s)")
    options = parser.parse_args(arguments)
    x = np.linspace(-3, 3, options.elements // 4 * 4, dtype=np.float32)
    timed = {("NumPy", name): call for name, call in calls(x, lambda array: array).items()}
    if has("torch"):
        timed |= {("torch", name): call for name, call in calls(x, importlib.import_module("torch").from_numpy).items()}
    times: dict[tuple[str, str], list[float]] = {key: [] for key in timed}
    for _ in range(ROUNDS):
        for key, call in timed.items():
            times[key].append(timeit.timeit(call, timer=time.process_time, number=CALLS) / CALLS * 1e6)
    medians = {key: statistics.median(some) for key, some in times.items()}
    print(f"{described(circumstances())}\n")
    print(f"{x.size} elements: microseconds a call (median of {ROUNDS} rounds), multiple of {BASE}, least")
    for (library, name), median in medians.items():
        ratio = median / medians["NumPy", BASE]
        print(f"{library:6} {name:26} {median:7.3f} {ratio:7.2f} {min(times[library, name]):7.3f}")
