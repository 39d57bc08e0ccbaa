"""Rows with a bar each: ours in both tiers and the peers, as multiples of a copy of the same bytes; printed, stored."""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import result_tables
import results
import timing
from roofline import Roof
from timing import Contender, calls, measure

import lowprec as lp
from lowprec import _kernels

MISSED = " ✗"
TIERS = {"lowprec": "v4", "AVX2": "v3"}


@dataclass
class Peer:
    """A library that carries out a row. One that raises an error is left out."""

    name: str
    call: Callable[[], Any]
    codes: Callable[[], np.ndarray]
    """What the last call returned, as codes."""
    elements: int = 0
    """How many it converts, from the first on; 0 for all."""
    compiled: bool = False
    """Whether the first call does more than the next ones."""
    stochastic: bool = False
    """Whether it draws random numbers of its own, so that its codes are others."""


@dataclass
class Row:
    """A conversion of float32 numbers: our call writes `out`, and a copy of x to `out` is the unit."""

    name: str
    bars: tuple[float, float] | None
    """What the loops of AVX-512 and of AVX2 may take out of the cache."""
    x: np.ndarray
    out: np.ndarray
    """Bytes of the codes alone: those of scales are few."""
    ours: Callable[[], Any]
    peers: Iterable[Peer] = field(default_factory=tuple)


def _contenders(row: Row, roof: Roof) -> dict[str, Contender]:
    found = {"roofline": roof.copy(row.x, row.out, 1)}
    active = _kernels.isa()
    for name, tier in TIERS.items():
        if tier in _kernels.available_isas():
            switch = {"before": partial(_kernels.use_isa, tier), "after": partial(_kernels.use_isa, active)}
            found[name] = calls(row.ours, **switch)
    return found


def _checked(row: Row, verbose: bool) -> tuple[dict[str, Contender], dict[str, int], list[str]]:
    """Return the peers that run, how many elements each converts, and the names of those with other codes."""
    row.ours()
    expected = row.out.view(np.uint8).reshape(-1)
    found, elements, other = {}, {}, []
    for peer in row.peers:
        try:
            if peer.compiled:
                peer.call()
            start = timing.clock()
            peer.call()
            seconds = timing.clock() - start
            codes = peer.codes().view(np.uint8).reshape(-1)
        except Exception as error:  # what a peer raises for what it lacks is its own affair
            if verbose:
                print(f"{row.name}: {peer.name}: {type(error).__name__}: {str(error)[:200]}")
            continue
        if not peer.stochastic and not np.array_equal(codes, expected[: codes.size]):
            other.append(peer.name)
        found[peer.name] = calls(peer.call, limited=True, known=seconds, keep=peer)
        elements[peer.name] = peer.elements or max(row.x.size, row.out.size)
    return found, elements, other


def measured(row: Row, roof: Roof, seconds: float, verbose: bool) -> dict[str, Any]:
    """Return the times of a row in nanoseconds an element, as `benchmarks/results` stores them."""
    peers, elements, other = _checked(row, verbose)
    n = max(row.x.size, row.out.size)  # blocks of GGUF are bytes
    times = measure(_contenders(row, roof) | peers, n, seconds)
    for some in times.values():
        some.update({name: float(f"{some[name] * n / elements[name]:.5g}") for name in peers})
    return {"case": row.name, "bars": row.bars, **times, "other bits": other}


def line(row: dict[str, Any], names: Iterable[str]) -> str:
    """Return a measured row as one of a Markdown table."""
    times = row["minimum"]
    bars = dict(zip(TIERS, row["bars"] or (), strict=False))
    cells = [f"{times['roofline']:.3f}", " / ".join(f"{bar:.1f}" for bar in bars.values()) or "–"]
    for name in names:
        if name not in times:
            cells.append("–")
            continue
        ratio = times[name] / times["roofline"]
        missed = name in bars and round(ratio, 2) > bars[name]
        cells.append(f"{ratio:.2f}{MISSED * missed}" if ratio < 100 else f"{ratio:.0f}")
    return f"| {row['case']} | {' | '.join(cells)} | {', '.join(row['other bits'])} |"


def header(names: Iterable[str]) -> str:
    """Return the head of the table."""
    heads = ["copy, ns", "bars", *names]
    return f"| | {' | '.join(heads)} | other codes |\n| --- |{' ---: |' * len(heads)} --- |"


def main(
    description: str, rows: Callable[[int, argparse.Namespace], Iterable[Row]], peers: tuple[str, ...], name: str
) -> None:
    """Measure, print and store rows; runs are stored in a folder of benchmarks/results/ with this name."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--sizes", default="65536,67108864", help="elements (default: %(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose names contain the text")
    parser.add_argument("--seconds", type=float, default=4, help="time of a row (default: %(default)s)")
    parser.add_argument("--cpu-time", action="store_true", help="count processor time: other work shares the cores")
    parser.add_argument("--alone", action="store_true", help="without the peers")
    parser.add_argument("--store", action="store_true", help="replace the stored runs of this machine's vendor")
    parser.add_argument("--note", default="", metavar="TEXT", help="is stored with the run")
    parser.add_argument("--verbose", action="store_true", help="say why a peer is left out")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", module="torch")
    lp.set_num_threads(1)
    timing.clock = time.process_time if options.cpu_time else time.perf_counter
    names = [*TIERS, *(() if options.alone else peers)]
    folder = results.FOLDER / name
    with tempfile.TemporaryDirectory() as temporary:
        roof = Roof(temporary)
        for n in map(int, options.sizes.split(",")):
            run = {"elements": n, "threads": 1, "unit": "ns", **results.circumstances()}
            run |= {"note": options.note} if options.note else {}
            run |= {"clock": "processor time"} if options.cpu_time else {}
            print(
                f"\n{result_tables.size(n)} elements, 1 thread: multiples of a copy, minima. {results.described(run)}\n"
            )
            print(header(names))
            run["rows"] = []
            for row in rows(n, options):
                if options.only in row.name:
                    if options.alone:
                        row.peers = ()
                    run["rows"].append(measured(row, roof, options.seconds, options.verbose))
                    print(line(run["rows"][-1], names), flush=True)
            if options.store:
                results.store(run, folder)
