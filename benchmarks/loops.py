"""The commands `rows` and `cycles`: what loops cost without their call, next to a copy of the same bytes (roof.c).

`rows` calls loops of vectors at their addresses, on one thread, and prints nanoseconds an element as JSON, the least of
many samples; `--against` a built checkout also the median of the time as a multiple of its loop's, which runs in turn.
`cycles` times each conversion with 16 Ki and with 64 Ki elements: the difference is the loop's time, and what is left
of the shorter call is the rest: Python, the look-up of the call, operands. Cycles come from a chain of multiplications,
each of which takes 3 cycles on an x86-64 processor, timed in the same rounds.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.util
import json
import statistics
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rows import COLUMNS, CONVERSIONS, Arrays, Conversion
from stored_runs import circumstances, described
from timing import Contender, Roof, aligned, calls, compiled

import lowprec as lp
from lowprec import _kernels
from lowprec.backends.kernels_of_plan import make_program
from lowprec.plans.cast_plan import make_plan
from lowprec.plans.quantize_plan import QuantizeOptions, dequantize_plan, quantize_plan
from lowprec.spec.operator_versions import cast_rules

BLOCK_SHIFT = 5
PAGE = 4096
PAIRS = 25
FEW = 20
"""Rounds of one of a pair."""
NEVER = -(1 << 48)
"""What remains after the elements of a loop that is not to prefetch, as in the cache."""
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
double least(void *loop, const void *s, void *d, ptrdiff_t n, const void *scales, const void *params, ptrdiff_t after,
             ptrdiff_t calls, ptrdiff_t rounds) {
    const remaining_t remaining = {after, after};
    double found = 1e30;
    for (ptrdiff_t i = 0; i < rounds; i++) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (ptrdiff_t j = 0; j < calls; j++) {
            if (scales) ((scale_loop_t)loop)(s, d, n, remaining, scales, params);
            else ((loop_t)loop)(s, d, n, remaining, params);
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        const double one = ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / calls;
        if (one < found) found = one;
    }
    return found;
}
"""


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
        ("zero_words", ctypes.c_void_p),
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
    zero: np.ndarray | None
    columns: int


def _rows(n: int) -> list[tuple[Conversion, bool]]:
    """Return the conversions, and whether the codes that they read are packed."""
    rows = [(Conversion(*pair.split()), False) for pair in CASTS.split(",")]
    for granularity in MODES:
        rows += [(Conversion(*pair, granularity), False) for pair in INTEGERS]
        rows += [(Conversion(*pair[::-1], granularity), False) for pair in INTEGERS]
    rows += [(Conversion(*pair, "tensor"), False) for pair in FLOATS]
    rows += [(Conversion(*pair, how), False) for how in ("block 32", "last axis") for pair in FLOATS[::2]]
    rows += [(Conversion(*pair, "last axis", zero_points=True), False) for pair in (INTEGERS[0], INTEGERS[0][::-1])]
    return [*rows, (Conversion("float4_e2m1fn", "bfloat16"), True)]


def _on_page(array: np.ndarray) -> np.ndarray:
    """Return a copy that begins where a page does: two arrays whose addresses differ by little wait for each other."""
    whole = aligned(array.nbytes + PAGE)
    start = -whole.ctypes.data % PAGE
    whole[start : start + array.nbytes] = array.view(np.uint8).reshape(-1)
    return whole[start : start + array.nbytes]


def _made(conversion: Conversion, unpacked: bool, n: int, columns: int) -> Row:
    source, target = lp.formats[conversion.source], lp.formats[conversion.target]
    if conversion.operation == "quantize":
        options = QuantizeOptions(output_dtype=target, precision=lp.formats["float32"])
        plan = quantize_plan(source, lp.formats["float32"], target if conversion.zero_points else None, options)
    elif conversion.operation == "dequantize":
        zero_format = source if conversion.zero_points else None
        plan = dequantize_plan(source, lp.formats["float32"], zero_format, QuantizeOptions(output_dtype=target))
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
    count = {"": 1, "tensor": 1, "block 32": n >> BLOCK_SHIFT, "last axis": columns}[conversion.granularity]
    scale = aligned(4 * (count + 64)).view(np.float32)
    scale[:] = np.random.default_rng(1).uniform(0.01, 0.02, scale.size)
    zero = None
    if conversion.zero_points:
        zero = aligned(scale.nbytes).view(np.int32 if conversion.operation == "quantize" else np.float32)
        zero[:] = np.random.default_rng(2).integers(-9, 10, zero.size)
    return Row(name, ".".join(program.names), conversion.granularity, program.params, x, out, scale, zero, columns)


def _file_of_tier(checkout: Path, isa: str) -> Path:
    return checkout / "lowprec" / "_native" / f"tier_{isa}{EXTENSION_SUFFIXES[0]}"


def _tier_of(checkout: Path, isa: str) -> Any:
    """Return the compiled loops of another checkout, with those that are imported left as they are."""
    loader = ExtensionFileLoader(f"lowprec._native.tier_{isa}", str(_file_of_tier(checkout, isa)))
    module = importlib.util.module_from_spec(ModuleSpec(loader.name, loader, origin=loader.path))
    loader.exec_module(module)
    return module


def _time(row: Row, tier: Any, timer: Any, n: int, rounds: int = 0) -> float:
    """Return the nanoseconds of one call of the loop, the least of so many rounds."""
    scales, reciprocal = None, np.float32(1) / row.scale
    if row.granularity:
        address = tier.FUSED_SCALE_LOOPS[row.chain][MODES[row.granularity]]
        zero = zero_words = None
        if row.zero is not None:
            zero = row.zero.ctypes.data
            made = np.empty(row.zero.size, np.int16)
            if getattr(tier, "ZERO_WORDS", 0):  # older ones have none
                zero_words = made.ctypes.data
                function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)(tier.ZERO_WORDS)
                function(zero, row.columns, zero_words)
        scales = Scales(
            row.scale.ctypes.data, zero, reciprocal.ctypes.data, 0, BLOCK_SHIFT, row.columns, MODES[row.granularity],
            zero_words,
        )  # fmt: skip
    else:
        address = tier.FUSED_LOOPS.get(row.chain) or tier.LOOPS[row.chain]
    how = (0, 1, rounds or 10) if n > 1 << 20 else (NEVER, 20, rounds or 1500)
    pointers = (ctypes.c_void_p(address), *(ctypes.c_void_p(one.ctypes.data) for one in (row.x, row.out)))
    more = ctypes.byref(scales) if scales else None, ctypes.create_string_buffer(row.params)
    return float(timer.least(*pointers, ctypes.c_ssize_t(n), *more, *map(ctypes.c_ssize_t, how)))


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


def multiplications(folder: str) -> Contender:
    """Return a chain of multiplications, each of which waits for the one before."""
    source = Path(folder, "chain.c")
    source.write_text(CHAIN, encoding="utf-8")
    chain = compiled(source, Path(folder, "chain.so"), ["-O2"]).chain
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


def print_cycles(roof: Roof, folder: str, only: str) -> None:
    """Print a line for each conversion."""
    print(f"{described(circumstances())}\n")
    print("| | before the first element, µs | cycles an element | of a copy |\n| --- | ---: | ---: | ---: |")
    chain = multiplications(folder)
    for row in CONVERSIONS:
        if only in row.name:
            before, loop, copy = costs(row, roof, chain)
            print(f"| {row.name} | {before:.2f} | {loop:.3f} | {copy:.3f} |", flush=True)


def rows_of(
    roof: Roof, folder: str, tier: Any, other: Any, n: int, only: str, columns: int
) -> dict[str, dict[str, float]]:
    """Return nanoseconds an element of a copy and of each loop of vectors, and its time by that of the other tier."""
    source = Path(folder, "timer.c")
    source.write_text(TIMER, encoding="utf-8")
    timer = compiled(source, Path(folder, "timer.so"), ["-O2"])
    timer.least.restype = ctypes.c_double
    found = {}
    for conversion, unpacked in _rows(n):
        if only in conversion.name.replace("→", "->"):
            row = _made(conversion, unpacked, n, columns)
            copy = roof.copy(row.x, row.out, 1)
            repeats = 1 if n > 1 << 20 else 20
            copied = min(copy.time(repeats, warm=True) for _ in range(10 if repeats == 1 else 500)) * 1e9
            both = {"copy": copied, "loop": _time(row, tier, timer, n)}
            found[row.name] = {name: float(f"{nanoseconds / n:.4g}") for name, nanoseconds in both.items()}
            if other:
                pairs = [[_time(row, one, timer, n, FEW) for one in (tier, other)] for _ in range(PAIRS)]
                found[row.name]["of the other"] = round(statistics.median(ours / its for ours, its in pairs), 3)
    return found


def main(arguments: list[str]) -> None:
    """Print the rows of one of the commands."""
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=["rows", "cycles"])
    parser.add_argument("elements", nargs="?", type=int, default=1 << 16, help="of rows, a multiple of 4096 (64 Ki)")
    parser.add_argument("--isa", help="base, v3, v4 or v4_vbmi (default: the best here)")
    parser.add_argument("--only", default="", metavar="TEXT", help="those whose names contain the text")
    parser.add_argument("--columns", type=int, default=COLUMNS, help=f"of the last axis, a multiple of 64 ({COLUMNS})")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="of rows: a built checkout, for base, v3 or v4")
    parser.add_argument("--json", type=Path, help="the file for the rows; printed without")
    options = parser.parse_args(arguments)
    isa = options.isa or _kernels.available_isas()[-1]
    if options.against and not _file_of_tier(options.against, isa).is_file():
        parser.error(f"--against must be a checkout with compiled loops of --isa (base, v3, v4); got {options.against}")
    with tempfile.TemporaryDirectory() as folder:
        roof = Roof(folder)
        if options.command == "cycles":
            _kernels.use_isa(isa)
            print_cycles(roof, folder, options.only)
            return
        tier = importlib.import_module(f"lowprec._native.tier_{isa}")
        other = options.against and _tier_of(options.against, isa)
        rows = rows_of(roof, folder, tier, other, options.elements, options.only, options.columns)
        text = json.dumps(rows, indent=1)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
