"""Nanoseconds an element of the conversions that have loops of vectors, in one tier, on one thread, as JSON.

    python benchmarks/vector_rows.py [ELEMENTS] [--isa ISA] [--only TEXT] [--json FILE]

Each row is the least of many samples, less what a call with 256 elements takes: the loop's time.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conversions import Arrays, Conversion
from roofline import aligned

import lowprec as lp
from lowprec import _kernels
from lowprec.backends.program import make_program
from lowprec.plans.cast_plan import make_plan
from lowprec.spec.opset_rules import cast_rules

FEW = 256
CASTS = """
    float32 float8_e4m3fn, float32 float8_e5m2, float32 float8_e4m3fnuz, bfloat16 float8_e4m3fn, bfloat16 float8_e5m2,
    float16 float8_e4m3fn, float8_e4m3fn float32, float8_e4m3fn bfloat16, float8_e4m3fn float16, float8_e5m2 float16,
    float32 bfloat16, float32 float16, bfloat16 float32, float16 float32"""
INTEGERS = [(wide, "int8") for wide in ("float32", "bfloat16", "float16")]
FLOATS = [(wide, narrow) for wide in ("float32", "bfloat16") for narrow in ("float8_e4m3fn", "float8_e5m2")]


def _rows() -> list[Conversion]:
    rows = [Conversion(*pair.split()) for pair in CASTS.split(",")]
    for granularity in ("tensor", "block 32", "last axis"):
        rows += [Conversion(*pair, granularity) for pair in INTEGERS]
        rows += [Conversion(*pair[::-1], granularity) for pair in INTEGERS]
    return rows + [Conversion(*pair, "tensor") for pair in FLOATS]


def _packed_float4(n: int) -> Callable[[], Any]:
    ends = lp.formats["float4_e2m1fn"], lp.formats["bfloat16"]
    program = make_program(make_plan(*ends, cast_rules(*ends)), unpacked=True)
    x, out = aligned(n // 2), aligned(2 * n)
    return lambda: _kernels.run(program, x, out, n, None, 1)


def _calls(row: Conversion, n: int) -> Callable[[], Any]:
    arrays = Arrays(row, n)
    if row.operation != "quantize" or row.source == "float32":
        return arrays.lowprec()
    x, scale, out, options = arrays.x, arrays.scale, arrays.out, arrays.options  # not rounded to the type of x
    return lambda: lp.quantize_linear(x, scale, output_dtype=row.target, precision="float32", out=out, **options)


def _least(call: Callable[[], Any], n: int, seconds: float) -> float:
    """Return the nanoseconds of one call."""
    repeats = 1 if n > 1 << 20 else 20
    least, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        for _ in range(repeats):
            call()
        least = min(least, (time.perf_counter_ns() - start) / repeats)
    return least


def main() -> int:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("elements", nargs="?", type=int, default=1 << 16)
    parser.add_argument("--isa", help="the tier; the best one without")
    parser.add_argument("--only", default="", help="a part of the names of the rows")
    parser.add_argument("--json", type=Path, help="the file to write; printed without")
    options = parser.parse_args()
    n = options.elements
    lp.set_num_threads(1)
    _kernels.use_isa(options.isa or _kernels.available_isas()[-1])
    makers: dict[str, Callable[[int], Callable[[], Any]]] = {
        row.name.replace("→", "->"): functools.partial(_calls, row) for row in _rows()
    }
    makers["float4_e2m1fn packed -> bfloat16"] = _packed_float4
    found = {}
    for name, make in makers.items():
        if options.only in name:
            few = _least(make(FEW), FEW, 0.05)
            found[name] = float(f"{(_least(make(n), n, 2.0 if n > 1 << 20 else 0.3) - few) / (n - FEW):.4g}")
    text = json.dumps(found, indent=1)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
