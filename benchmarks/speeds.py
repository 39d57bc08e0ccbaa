"""The commands `casts`, `roundings`, `blocks`, `scales` and `check`: times as multiples of a copy, or of one read of x.

Every contender runs once a round, in turn, into memory of its own that was written before; minima count. `lowprec` has
the loops of the best instruction set here, `AVX2` and `baseline` those of lesser ones, `non-temporal` is the copy with
stores past the cache, `2 threads` a multiple of the copy on two. ✗ marks a missed target; the last column names peers
that return other bits, which is checked before. Blocks and scales are of rows of 4096 elements. Of several `--runs` the
medians count, of each row and contender. At the end are the peers that take less than 0.97 of our time.

`check` times conversions of 64 Ki elements, in the cache, on one thread, and compares with the run that is stored for
the same vendor, generation and instruction set; where none is, it judges nothing. A slower one is timed again, up to
three times; the least multiple counts.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import peers
import rows
import stored_runs
import timing
from calls import small_calls, small_scales
from rows import COLUMNS, Row, random_input
from timing import Contender, Roof, aligned, calls, measure

import lowprec as lp
from lowprec import _kernels
from lowprec.checkpoints.memory_limit import parse_size

AHEAD = 0.97
"""Of our time: a peer that takes less is faster."""
LARGE = 1 << 20
"""Elements from which a run takes longer, and non-temporal stores and two threads are shown."""
TABLES: dict[str, tuple[Callable[..., Iterator[Row]], tuple[str, ...]]] = {
    "casts": (rows.conversion_rows, peers.PEERS),
    "roundings": (rows.rounding_rows, peers.ROUNDING_PEERS),
    "blocks": (rows.block_rows, peers.BLOCK_PEERS),
}
SMALL = {"small calls": small_calls, "small scales": small_scales}
"""What is measured with small arrays, too."""
FRESH = (("float32", "float8_e4m3fn"), ("float32", "bfloat16"), ("float8_e4m3fn", "float32"))
"""The casts that are timed into newly allocated outputs."""


def contenders(row: Row, roof: Roof, threads: int) -> dict[str, Contender]:
    """Return ours and the copies; the loops of lesser instruction sets; two threads where one was asked for.

    Two threads have no time of the processor that says what they gain.
    """
    x, out, ours = row.x, row.out, row.ours
    found = {"roofline": roof.copy(x, out, threads), "lowprec": calls(ours, threads=threads)}
    large = row.elements >= LARGE
    if large:
        found["non-temporal"] = roof.copy(x, out, threads, "stream")
    best = _kernels.isa()
    for tier, name in stored_runs.LESSER_LOOPS.items():
        if best != tier and (best, tier) != ("base", "v3"):
            switch = {"before": partial(_kernels.use_isa, tier), "after": partial(_kernels.use_isa, best)}
            found[name] = calls(ours, threads=threads, **switch)
    if threads == 1 and large and stored_runs.machine()["cores"] > 1 and timing.clock is time.perf_counter:
        found["roofline, 2 threads"] = roof.copy(x, out, 2)
        switch = {"before": partial(lp.set_num_threads, 2), "after": partial(lp.set_num_threads, 1)}
        found["2 threads"] = calls(ours, threads=2, **switch)
    return found


def measured(row: Row, roof: Roof, seconds: float, options: argparse.Namespace) -> dict[str, Any]:
    """Return the times of a row in nanoseconds an element, as they are stored; peers only where there is time."""
    start = time.perf_counter()
    timed = contenders(row, roof, options.threads)
    others, elements, other_bits = {}, {}, []
    if not options.alone and (options.seconds or seconds >= (1.5 if row.elements >= LARGE else 0.25)):
        others, elements, other_bits = peers.checked(row, options.threads, options.verbose)
    left = max(0.2, seconds - (time.perf_counter() - start))
    times = measure(timed | others, row.elements, left)
    for some in times.values():
        some.update({name: float(f"{some[name] * row.elements / n:.5g}") for name, n in elements.items()})
    return {"case": row.name, **({"bars": row.bars} if row.bars else {}), **times, "other bits": other_bits}


def table(command: str, roof: Roof, n: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure and print the rows of one size; return them."""
    made, others = TABLES[command]
    statistic = "median" if options.median else "minimum"
    lp.set_num_threads(options.threads)
    runs = stored_runs.of_this_machine(stored_runs.folder_of(command)) if options.threads == 1 else {}
    before = {row["case"]: rows.multiples(row) for row in runs.get(str(n), {}).get("rows", ())}
    left_out = (others if options.alone else ()) + (() if n >= LARGE else ("2 threads", "non-temporal"))
    left_out += (stored_runs.LESSER_LOOPS.get(_kernels.isa(), ""), *(["2 threads"] if options.cpu_time else []))
    names = [*stored_runs.OURS, *others]
    names = [name for name in names if name not in left_out]
    threads = f"{options.threads} thread{'s' * (options.threads > 1)}"
    print(
        f"\n{stored_runs.size(n)} elements, {threads}: multiples of a copy, {statistic} of interleaved rounds; ", end=""
    )
    print(f"change against {runs.get(str(n), {}).get('date', 'no stored run')}\n")
    print(stored_runs.markdown((stored_runs.head(names, ["change"]), [])))
    count = sum(options.only in name for name in rows.BY_NAME) if command == "casts" else 0
    minutes = options.minutes or (8 if n >= LARGE else 3.5) * count / len(rows.BY_NAME)
    found: list[dict[str, Any]] = []
    known: dict[str, dict[str, float]] = {}
    end = time.monotonic() + 60 * minutes
    for row in made(n, options.threads, options.only):
        if options.only not in row.name:
            continue
        seconds = options.seconds or ((end - time.monotonic()) / max(1, count - len(found)) if count else 4)
        found.append(measured(row, roof, seconds, options))
        now, then = rows.multiples(found[-1])["lowprec"], before.get(row.name, {}).get("lowprec")
        change = f"{100 * (now / then - 1):+.0f} %" if then else "–"
        cells = stored_runs.cells_of(found[-1], names, n, known, _kernels.isa(), statistic, [change])
        print(f"| {' | '.join(cells)} |", flush=True)
    return found


def medians_of(runs: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the rows of several runs as those of one: the medians of what each contender took where it took part."""
    found = []
    for same in zip(*runs, strict=True):
        row = dict(same[0])
        for kind in ("minimum", "median"):
            names = dict.fromkeys(name for one in same for name in one[kind])
            row[kind] = {
                name: statistics.median(one[kind][name] for one in same if name in one[kind]) for name in names
            }
        found.append(row)
    return found


def peers_ahead(found: list[dict[str, Any]], others: tuple[str, ...], statistic: str) -> str:
    """Return which peers take less than `AHEAD` of our time in which rows."""
    ahead = [
        f"{row['case']}: {name} {time / row[statistic]['lowprec']:.2f}"
        for row in found
        for name, time in row[statistic].items()
        if name in others and time / row[statistic]["lowprec"] < AHEAD
    ]
    return f"peers that take less than {AHEAD} of our time: {'; '.join(ahead) or 'none'}"


def fresh(roof: Roof, n: int) -> list[dict[str, Any]]:
    """Return what newly allocated outputs cost: ours, and the copy into such pages."""
    lp.set_num_threads(1)
    found = []
    for source, target in FRESH:
        x, to = random_input(lp.formats[source], n), lp.formats[target]
        out = aligned(n * to.bits // 8).view(to.dtype)

        def into_new(x: np.ndarray = x, to: lp.Format = to) -> None:
            new = np.empty(n * to.bits // 8 + 64, np.uint8)
            start = -new.ctypes.data % 64
            roof.copy(x, new[start : start + n * to.bits // 8], 1).run(1)

        timed = {
            "roofline": calls(into_new),
            "lowprec": calls(partial(lp.cast, x, to)),
            "out=": calls(partial(lp.cast, x, to, out=out)),
        }
        found.append({"case": f"{source} → {target}", "elements": n, **measure(timed, n, 2.0)})
    return found


SCALE_SOURCES = ("float32", "bfloat16")
SHARED: list[tuple[str, dict[str, Any]]] = [
    ("tensor", {}),
    ("axis 0", {"axis": 0}),
    ("last axis", {"axis": 1}),
    *((f"block {size}", {"axis": 1, "block_size": size}) for size in (16, 32, 128)),
    ("tile 128 x 128", {"axis": (0, 1), "block_size": (128, 128)}),
]
"""What shares a scale."""


def largest_by_numpy(x: np.ndarray, axis: int | tuple[int, int] | None = None, block_size: Any = 0) -> Any:
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


def scales(roof: Roof, options: argparse.Namespace) -> int:
    """Print the times of `absmax_scale`, its division and rounding included; `read` is no less than all of x."""
    nbytes, threads = options.size, options.threads
    lp.set_num_threads(threads)
    print(f"\n{nbytes >> 20} MiB, {threads} thread{'s' * (threads > 1)}: multiples of reading x (in GB/s)\n")
    print("| source | scales | read | lowprec | lowprec, e8m0 | NumPy |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for source in SCALE_SOURCES:
        held = lp.formats[source]
        n = nbytes * 8 // held.bits // (128 * COLUMNS) * (128 * COLUMNS)
        x = random_input(held, n).reshape(-1, COLUMNS)
        x[~np.isfinite(x.astype(np.float32))] = 0
        for name, shared in SHARED:
            if options.only not in name:
                continue
            e8m0 = {"scale_format": "float8_e8m0fnu", **shared}
            timed: dict[str, Contender] = {
                "read": roof.read(x, threads),
                "lowprec": calls(partial(lp.absmax_scale, x, "int8", **shared), threads=threads),
                "e8m0": calls(partial(lp.absmax_scale, x, "float8_e4m3fn", **e8m0), threads=threads),
                "NumPy": calls(partial(largest_by_numpy, x, **shared), limited=True),
            }
            times = measure(timed, n, options.seconds or 1)["minimum"]
            ratios = " | ".join(f"{times[who] / times['read']:.2f}" for who in ("lowprec", "e8m0", "NumPy"))
            print(f"| {source} | {name} | {held.bits / 8 / times['read']:.1f} | {ratios} |", flush=True)
    return 0


CHECKED, LIMIT, AGAIN = 1 << 16, 1.5, 3
"""Elements; what a conversion may take of the stored multiple; how often a slower one is timed again."""


def is_slower(row: Row, roof: Roof, stored: float | None, seconds: float) -> bool:
    """Print a line, and return whether a conversion takes more than it may."""
    timed = {"roofline": roof.copy(row.x, row.out, 1), "lowprec": calls(row.ours)}
    ratio, limit = float("inf"), float("inf") if stored is None else LIMIT * stored
    for _ in range(1 + AGAIN):
        times = measure(timed, row.elements, seconds)["minimum"]
        ratio = min(ratio, times["lowprec"] / times["roofline"])
        if ratio <= limit:
            break
    verdict = "not stored" if stored is None else "slower" if ratio > limit else ""
    print(f"{row.name:58} {ratio:8.2f} {'–' if stored is None else f'{stored:.2f}':>8} {verdict}".rstrip(), flush=True)
    return ratio > limit


def check(roof: Roof, options: argparse.Namespace) -> int:
    """Return 1 where a conversion is slower than it may be."""
    lp.set_num_threads(1)
    count, slower = 0, []
    for command, (made, _) in TABLES.items():
        run = stored_runs.of_this_machine(stored_runs.folder_of(command)).get(str(CHECKED))
        stored = stored_runs.stored_ratios(run, _kernels.isa()) if run else {}
        print(f"\n{command}, stored: {stored_runs.described(run) if stored and run else 'nothing for this machine'}")
        print(f"{'multiples of a copy':58} {'now':>8} {'stored':>8}")
        for row in made(CHECKED, 1, options.only):
            if options.only in row.name:
                count += 1
                slower += [row.name] * is_slower(row, roof, stored.get(row.name), options.seconds or 0.15)
    print(f"\n{count} conversions, {len(slower)} take more than {LIMIT} times what is stored", *slower, sep="\n")
    return 1 if slower else 0


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Return the options; those that a command has no use for are refused where they would mislead."""
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=[*TABLES, "check", "scales"])
    parser.add_argument("--sizes", help="elements, comma-separated, multiples of 4096 (default 65536,67108864)")
    parser.add_argument("--size", type=parse_size, default="64M", help="scales: bytes of x (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="64 Ki and 4 Mi elements, one minute each")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose names contain the text")
    parser.add_argument("--alone", action="store_true", help="copies and lowprec, without the peers")
    parser.add_argument("--seconds", type=float, default=0, help="time of a row (default: 4; check 0.15, scales 1)")
    parser.add_argument(
        "--minutes", type=float, default=0,
        help="casts: time of a size (default: 3.5, from 1 Mi elements up 8); where it gets short, peers are left out",
    )  # fmt: skip
    parser.add_argument("--runs", type=int, default=1, help="how many runs, whose medians count (default 1)")
    parser.add_argument("--threads", type=int, default=1, help="of lowprec and every peer (default 1)")
    parser.add_argument("--isa", help="base, v3, v4 or v4_vbmi (default: the best here)")
    parser.add_argument("--median", action="store_true", help="print medians, not minima; both are stored")
    parser.add_argument("--cpu-time", action="store_true", help="count processor time: other work shares the cores")
    parser.add_argument("--store", action="store_true", help="replace the stored run of such a machine")
    parser.add_argument("--note", default="", metavar="TEXT", help="is stored, and printed with the table")
    parser.add_argument("--markdown", action="store_true", help="print the tables of the stored runs, and end")
    parser.add_argument("--write-pages", action="store_true", help="put the stored rows into README.md, and end")
    parser.add_argument("--verbose", action="store_true", help="say why a peer is left out")
    options = parser.parse_args(arguments)
    if options.store and (options.only or options.isa or options.quick or options.threads > 1):
        parser.error("--store needs a whole run: no --only, --isa, --quick or --threads")
    if options.store and (options.command not in TABLES or (options.command == "casts" and options.alone)):
        parser.error("--store is for casts with peers, roundings and blocks")
    if options.quick:
        options.sizes, options.minutes = options.sizes or "65536,4194304", options.minutes or 1
    return options


def main(arguments: list[str]) -> int:
    """Measure, print and store; return 1 where `check` finds a conversion slower."""
    options = parsed(arguments)
    command, folder = options.command, stored_runs.folder_of(options.command)
    if options.markdown:
        runs = (run for name in stored_runs.names(folder) for run in stored_runs.load(name, folder).values())
        print("\n\n".join(map(stored_runs.run_text, runs)))
    if options.write_pages:
        stored_runs.write_pages()
    if options.markdown or options.write_pages:
        return 0
    if options.isa:
        _kernels.use_isa(options.isa)
    timing.clock = time.process_time if options.cpu_time else time.perf_counter
    warnings.filterwarnings("ignore", module="torch")
    with tempfile.TemporaryDirectory() as temporary:
        roof = Roof(temporary)
        if command not in TABLES:
            print(stored_runs.described(stored_runs.circumstances()))
            return (check if command == "check" else scales)(roof, options)
        for n in map(int, (options.sizes or "65536,67108864").split(",")):
            run = {"elements": n, "threads": options.threads, "unit": "ns", **stored_runs.circumstances()}
            run |= {"note": options.note} if options.note else {}
            run |= {"clock": "processor time"} if options.cpu_time else {}
            print(stored_runs.described(run))
            run |= {"runs": options.runs} if options.runs > 1 else {}
            run["rows"] = medians_of([table(command, roof, n, options) for _ in range(options.runs)])
            print(f"\n{peers_ahead(run['rows'], TABLES[command][1], 'median' if options.median else 'minimum')}")
            if command == "casts" and not options.only:
                large = {"fresh": partial(fresh, roof, n)}
                for name, found in (large if n >= LARGE else SMALL).items():
                    run[name] = found()
                    shown = stored_runs.fresh_table if n >= LARGE else stored_runs.calls_table
                    print(f"\n{stored_runs.markdown(shown(run[name]))}")
            if options.store:
                print(f"\nstored: {stored_runs.store(run, folder).relative_to(stored_runs.ROOT)}")
    return 0
