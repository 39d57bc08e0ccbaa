"""Our time beside memory rooflines and every peer: same arrays, one process, interleaved rounds, as ratios.

    python benchmarks/speed.py [--quick] [--sizes 65536,67108864] [--only TEXT] [--alone] [--store [--note TEXT]]
    python benchmarks/speed.py --markdown | --write-pages

Each conversion is first checked for equal bits; the last column names the peers that have others (docs/semantics.md
says where they are wrong). Then every contender runs once a round, in turn, into memory of its own that was written
before; the minimum counts (`--median`: the median). Figures are multiples of the roofline: a C loop that reads and
writes the same bytes (roof.c). `non-temporal` is that loop with stores past the cache, `AVX2` and `baseline` are our
loops for less than this machine has, `2 threads` is a multiple of the roofline on two threads. ✗ marks a missed target
(targets.py). `change` compares with the run in benchmarks/results/ for the vendor of this machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import timeit
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import peers
import result_tables
import results
import targets
from conversions import CONVERSIONS, Arrays, random_input
from roofline import Roof, aligned
from timing import Contender, calls, measure

import lowprec as lp
from lowprec import _kernels

LARGE = 1 << 20
"""Elements from which a run takes longer, and non-temporal stores and two threads are shown."""


def contenders(arrays: Arrays, roof: Roof, threads: int) -> dict[str, Contender]:
    """Return ours and the rooflines; beside one thread the loops of lesser instruction sets, and two threads."""
    x, out, ours = arrays.x, arrays.out, arrays.lowprec()
    found = {"roofline": roof.copy(x, out, threads), "lowprec": calls(ours, threads=threads)}
    if arrays.n >= LARGE:
        found["non-temporal"] = roof.copy(x, out, threads, "stream")
    best = _kernels.isa()
    for name, tier in (("AVX2", "v3"), ("baseline", "base")):
        if best != tier and (best, tier) != ("base", "v3"):
            switch = {"before": partial(_kernels.use_isa, tier), "after": partial(_kernels.use_isa, best)}
            found[name] = calls(ours, threads=threads, **switch)
    if threads == 1 and results.machine()["cores"] > 1 and arrays.n >= LARGE:
        found["roofline, 2 threads"] = roof.copy(x, out, 2)
        switch = {"before": partial(lp.set_num_threads, 2), "after": partial(lp.set_num_threads, 1)}
        found["2 threads"] = calls(ours, threads=2, **switch)
    return found


def table(roof: Roof, n: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure and print the conversions of one size; return their rows."""
    threads, statistic = options.threads, "median" if options.median else "minimum"
    chosen = [row for row in CONVERSIONS if options.only in row.name]
    stored = results.load(results.machine()["vendor"]).get(str(n), {}) if threads == 1 else {}
    before = {row["case"]: targets.multiples(row) for row in stored.get("rows", ())}
    lp.set_num_threads(threads)
    print(
        f"\n{result_tables.size(n)} elements, {threads} thread{'s' * (threads > 1)}: multiples of the roofline, ",
        end="",
    )
    print(f"{statistic} of interleaved rounds; change against {stored.get('date', 'no stored run')}\n")
    left_out = (peers.PEERS if options.alone else ()) + (() if n >= LARGE else ("2 threads", "non-temporal"))
    names = [name for name in result_tables.COLUMNS if name not in left_out]
    print(result_tables.header(names, "ns", ("change",)))
    rows: list[dict[str, Any]] = []
    known: dict[str, dict[str, float]] = {}
    end = time.monotonic() + 60 * options.minutes * len(chosen) / len(CONVERSIONS)
    for index, conversion in enumerate(chosen):
        allotted = (end - time.monotonic()) / (len(chosen) - index)
        start = time.monotonic()
        late = allotted < (1.5 if n >= LARGE else 0.25)
        arrays = Arrays(conversion, n)
        timed = contenders(arrays, roof, threads)
        others, differ = ({}, []) if options.alone or late else peers.checked(arrays, threads, options.verbose)
        seconds = max(0.2, allotted - (time.monotonic() - start))
        row = {"case": conversion.name, **measure(timed | others, n, seconds), "other bits": differ}
        now, then = targets.multiples(row)["lowprec"], before.get(conversion.name, {}).get("lowprec")
        change = f"{100 * (now / then - 1):+.0f} %" if then else "–"
        print(result_tables.line(row, names, n, "ns", known, _kernels.isa(), statistic, (change,)), flush=True)
        rows.append(row)
    return rows


def fresh(roof: Roof, n: int) -> list[dict[str, Any]]:
    """Print what newly allocated outputs cost: ours, and the roofline into such pages."""
    lp.set_num_threads(1)
    rows = []
    for source, target in (("float32", "float8_e4m3fn"), ("float32", "bfloat16"), ("float8_e4m3fn", "float32")):
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
        rows.append({"case": f"{source} → {target}", "elements": n, **measure(timed, n, 2.0)})
    print(f"\n{result_tables.fresh_table(rows)}")
    return rows


def small_calls() -> list[dict[str, Any]]:
    """Print microseconds a call on few float32 elements takes, allocation included: minima of many."""
    target = lp.formats["float8_e4m3fn"]
    lp.set_num_threads(None)
    rows = []
    for n in (16, 128, 1024):
        x = random_input(lp.formats["float32"], n)
        out = lp.cast(x, target)
        timed: dict[str, Callable[[], Any]] = {
            "lowprec": partial(lp.cast, x, target),
            "lowprec, `out=`": partial(lp.cast, x, target, out=out),
            "ml_dtypes": partial(x.astype, target.dtype),
        }
        if "torch" in sys.modules:
            torch = sys.modules["torch"]
            timed["lowprec, torch"] = partial(lp.cast, torch.from_numpy(x), target)
            timed["torch"] = partial(torch.from_numpy(x).to, torch.float8_e4m3fn)
        times = {name: min(timeit.repeat(call, number=1000, repeat=20)) * 1000 for name, call in timed.items()}
        rows.append({"elements": n, "microseconds": {name: round(time_, 3) for name, time_ in times.items()}})
    print(f"\n{result_tables.small_table(rows)}")
    return rows


def small_scales() -> list[dict[str, Any]]:
    """Print microseconds that scales and blocks of 16 float32 elements take, of NumPy arrays and of torch tensors."""
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
    rows = []
    for name, call in wanted.items():
        arrays = {"NumPy": x} | ({"torch": sys.modules["torch"].from_numpy(x)} if "torch" in sys.modules else {})
        times = {
            library: min(timeit.repeat(partial(call, one), number=1000, repeat=20)) * 1000
            for library, one in arrays.items()
        }
        rows.append({"call": name, "microseconds": {library: round(time_, 3) for library, time_ in times.items()}})
    print(f"\n{result_tables.small_scales_table(rows)}")
    return rows


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="64 Ki and 4 Mi elements, one minute each")
    parser.add_argument("--sizes", help="elements, comma-separated, multiples of 1024 (default 65536,67108864)")
    parser.add_argument(
        "--minutes",
        type=float,
        help="time of a size (default: 3.5, from 1 Mi elements up 8); where it gets short, rows do without peers",
    )
    parser.add_argument("--threads", type=int, default=1, help="of lowprec and every peer (default 1, beside it 2)")
    parser.add_argument("--only", default="", metavar="TEXT", help="conversions whose names contain the text")
    parser.add_argument("--alone", action="store_true", help="rooflines and lowprec, without the peers")
    parser.add_argument("--isa", help="base, v3, v4 or v4_vbmi (default: the best here)")
    parser.add_argument("--median", action="store_true", help="print medians, not minima; both are stored")
    parser.add_argument("--store", action="store_true", help="replace the stored run of this machine's vendor")
    parser.add_argument("--note", default="", metavar="TEXT", help="is stored, and printed with the table")
    parser.add_argument("--markdown", action="store_true", help="print the tables of the stored runs, and end")
    parser.add_argument("--write-pages", action="store_true", help="put them into docs/performance.md and README.md")
    parser.add_argument("--verbose", action="store_true", help="say why a peer is left out")
    options = parser.parse_args()
    if options.store and (options.only or options.alone or options.isa or options.quick or options.threads > 1):
        parser.error("--store needs a whole run: no --only, --alone, --isa, --quick or --threads")
    return options


def main() -> None:
    """Measure, print and store."""
    options = parsed()
    if options.markdown or options.write_pages:
        if options.markdown:
            print("\n\n".join(text for _, text in result_tables.tables().values()))
        else:
            result_tables.write_pages()
        return
    if options.isa:
        _kernels.use_isa(options.isa)
    warnings.filterwarnings("ignore", module="torch")
    minutes = options.minutes
    with tempfile.TemporaryDirectory() as folder:
        roof = Roof(folder)
        for n in map(int, (options.sizes or ("65536,4194304" if options.quick else "65536,67108864")).split(",")):
            options.minutes = minutes or (1 if options.quick else 8 if n >= LARGE else 3.5)
            run = {"elements": n, "threads": 1, "unit": "ns", **results.circumstances()}
            run |= {"note": options.note} if options.note else {}
            print(results.described(run))
            run["rows"] = table(roof, n, options)
            if not options.only:
                more = {"fresh": fresh(roof, n)} if n >= LARGE else {}
                run |= more or {"small calls": small_calls(), "small scales": small_scales()}
            if options.store:
                print(f"\nstored: {results.store(run).relative_to(results.FOLDER.parent.parent)}")


if __name__ == "__main__":
    main()
