"""Nanoseconds an element of the loops of vectors, called at their addresses on one thread, and of a copy, as JSON.

    python benchmarks/vector_rows.py [ELEMENTS] [--isa ISA] [--only TEXT] [--json FILE]

Each row is the least of many samples. The copy reads and writes the same bytes (roof.c).
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from conversions import Arrays, Conversion
from roofline import Roof, aligned

import lowprec as lp
from lowprec import _kernels
from lowprec.backends.kernels_of_plan import make_program
from lowprec.plans.cast_plan import make_plan
from lowprec.plans.quantize_plan import QuantizeOptions, dequantize_plan, quantize_plan
from lowprec.spec.operator_versions import cast_rules

COLUMNS = 4096
BLOCK_SHIFT = 5
PAGE = 4096
CASTS = """
    float32 float8_e4m3fn, float32 float8_e5m2, float32 float8_e4m3fnuz, bfloat16 float8_e4m3fn, bfloat16 float8_e5m2,
    float16 float8_e4m3fn, float8_e4m3fn float32, float8_e4m3fn bfloat16, float8_e4m3fn float16, float8_e5m2 float16,
    float32 bfloat16, float32 float16, bfloat16 float32, float16 float32"""
INTEGERS = [(wide, "int8") for wide in ("float32", "bfloat16", "float16")]
FLOATS = [(wide, narrow) for wide in ("float32", "bfloat16") for narrow in ("float8_e4m3fn", "float8_e5m2")]
MODES = {"tensor": 0, "block 32": 2, "last axis": 3}
"""Where the addresses of a loop with scales stand in its row of the table."""
TIMER = """
#include <stddef.h>
#include <time.h>
typedef struct { ptrdiff_t src, dst; } remaining_t;
typedef void (*loop_t)(const void *, void *, ptrdiff_t, remaining_t, const void *);
typedef void (*scale_loop_t)(const void *, void *, ptrdiff_t, remaining_t, const void *, const void *);
double least(void *loop, const void *s, void *d, ptrdiff_t n, const void *scales, const void *params, int calls, int rounds) {
    const remaining_t none = {0, 0};
    double found = 1e30;
    for (int i = 0; i < rounds; i++) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (int j = 0; j < calls; j++) {
            if (scales) ((scale_loop_t)loop)(s, d, n, none, scales, params);
            else ((loop_t)loop)(s, d, n, none, params);
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        const double one = ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / calls;
        if (one < found) found = one;
    }
    return found;
}
"""  # noqa: E501


class Scales(ctypes.Structure):
    """`scales_t` of kernel_types.pxd."""

    _fields_ = (
        ("scale", ctypes.c_void_p),
        ("zero", ctypes.c_void_p),
        ("reciprocal", ctypes.c_void_p),
        ("offset", ctypes.c_ssize_t),
        ("run_shift", ctypes.c_int),
        ("columns", ctypes.c_ssize_t),
        ("mode", ctypes.c_int),
    )


class Row(NamedTuple):
    """A loop of the list and its arrays."""

    name: str
    chain: str
    granularity: str
    params: bytes
    x: np.ndarray
    out: np.ndarray
    scale: np.ndarray
    elements: int


def _rows(n: int) -> list[tuple[Conversion, bool]]:
    """Return the conversions, and whether the codes that they read are packed."""
    rows = [(Conversion(*pair.split()), False) for pair in CASTS.split(",")]
    for granularity in MODES:
        rows += [(Conversion(*pair, granularity), False) for pair in INTEGERS]
        rows += [(Conversion(*pair[::-1], granularity), False) for pair in INTEGERS]
    rows += [(Conversion(*pair, "tensor"), False) for pair in FLOATS]
    return [*rows, (Conversion("float4_e2m1fn", "bfloat16"), True)]


def _on_page(array: np.ndarray) -> np.ndarray:
    """Return a copy that begins where a page does: two arrays whose addresses differ by little wait for each other."""
    whole = aligned(array.nbytes + PAGE)
    start = -whole.ctypes.data % PAGE
    whole[start : start + array.nbytes] = array.view(np.uint8).reshape(-1)
    return whole[start : start + array.nbytes]


def _made(conversion: Conversion, unpacked: bool, n: int) -> Row:
    source, target = lp.formats[conversion.source], lp.formats[conversion.target]
    if conversion.operation == "quantize":
        options = QuantizeOptions(output_dtype=target, precision=lp.formats["float32"])
        plan = quantize_plan(source, lp.formats["float32"], None, options)
    elif conversion.operation == "dequantize":
        plan = dequantize_plan(source, lp.formats["float32"], None, QuantizeOptions(output_dtype=target))
    else:
        plan = make_plan(source, target, cast_rules(source, target))
    program = make_program(plan, unpacked=unpacked)
    name = conversion.name.replace("→", "->")
    if unpacked:
        name = name.replace(" ->", " packed ->")
        x, out = aligned(n // 2), aligned(n * target.bits // 8)
        x[:] = np.random.default_rng(0).integers(0, 256, x.size)
    else:
        arrays = Arrays(conversion, n)
        x, out = arrays.x, arrays.out
    x, out = _on_page(x), _on_page(out)
    count = {"": 1, "tensor": 1, "block 32": n >> BLOCK_SHIFT, "last axis": COLUMNS}[conversion.granularity]
    scale = aligned(4 * (count + 64)).view(np.float32)
    scale[:] = np.random.default_rng(1).uniform(0.01, 0.02, scale.size)
    return Row(name, ".".join(program.names), conversion.granularity, program.params, x, out, scale, n)


def _time(row: Row, tier: Any, timer: Any) -> float:
    """Return the nanoseconds of one call of the loop."""
    scales, reciprocal = None, np.float32(1) / row.scale
    if row.granularity:
        address = tier.FUSED_SCALE_LOOPS[row.chain][MODES[row.granularity]]
        scales = Scales(
            row.scale.ctypes.data, None, reciprocal.ctypes.data, 0, BLOCK_SHIFT, COLUMNS, MODES[row.granularity]
        )
    else:
        address = tier.FUSED_LOOPS.get(row.chain) or tier.LOOPS[row.chain]
    often = (1, 10) if row.elements > 1 << 20 else (20, 1500)
    pointers = (ctypes.c_void_p(address), *(ctypes.c_void_p(one.ctypes.data) for one in (row.x, row.out)))
    more = ctypes.byref(scales) if scales else None, ctypes.create_string_buffer(row.params)
    return float(timer.least(*pointers, ctypes.c_ssize_t(row.elements), *more, *often))


def main() -> int:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("elements", nargs="?", type=int, default=1 << 16, help="a multiple of 4096")
    parser.add_argument("--isa", help="the tier; the best one without")
    parser.add_argument("--only", default="", help="a part of the names of the rows")
    parser.add_argument("--json", type=Path, help="the file to write; printed without")
    options = parser.parse_args()
    tier = importlib.import_module(f"lowprec._native.tier_{options.isa or _kernels.available_isas()[-1]}")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "timer.c")
        source.write_text(TIMER, encoding="utf-8")
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", source, "-o", f"{folder}/timer.so"], check=True)
        timer, roof = ctypes.CDLL(f"{folder}/timer.so"), Roof(folder)
        timer.least.restype = ctypes.c_double
        for conversion, unpacked in _rows(options.elements):
            if options.only in conversion.name.replace("→", "->"):
                row = _made(conversion, unpacked, options.elements)
                copy = roof.copy(row.x, row.out, 1)
                repeats = 1 if row.elements > 1 << 20 else 20
                copied = min(copy.time(repeats, warm=True) for _ in range(10 if repeats == 1 else 500)) * 1e9
                both = {"copy": copied, "loop": _time(row, tier, timer)}
                found[row.name] = {name: float(f"{time / row.elements:.4g}") for name, time in both.items()}
    text = json.dumps(found, indent=1)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
