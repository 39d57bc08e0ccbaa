"""The targets of the rows: multiples of the roofline, and peers that a row may not be slower than."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conversions import BY_NAME, Conversion
from peers import PEERS

import lowprec as lp

IN_CACHE = 1 << 16
OUT_OF_CACHE = 1 << 26
OUT_OF_CACHE_LIMITS = {"v4": (1.10, 1.20), "v3": (1.30, 1.35)}
"""By the loops: out of the cache, and there with scales along the last axis."""
TWO_THREADS = 1.05
"""Of the roofline on two threads."""
ZERO_POINTS = 1.15
"""Of the time of the same row without zero points."""


@dataclass(frozen=True)
class Target:
    """What a row is to reach: a multiple of the roofline and the time of peers; either may be missing."""

    limit: float | None = None
    peers: tuple[str, ...] = ()

    def __str__(self) -> str:
        peers = ["every peer"] if len(self.peers) > 2 else list(self.peers)
        return ", ".join(([] if self.limit is None else [f"{self.limit:.2f}"]) + peers)


def _in_cache(row: Conversion) -> float | None:
    source, target = lp.formats[row.source], lp.formats[row.target]
    if row.operation == "cast":
        if target.is_float and target.bits == 8 and row.source in ("float32", "bfloat16", "float16"):
            return 2.2
        return 2.0 if source.is_float and source.bits == 8 and row.target == "float32" else None
    limits = {"int8": (2.3, 1.6), "float8_e4m3fn": (3.2, 2.4), "int4": (2.8, 1.5)}
    if row.operation == "quantize":
        return limits[row.target][0] if row.source == "float32" else None
    return limits[row.source][1] if row.target == "float32" else None


def out_of_cache(row: Conversion, loops: str) -> float | None:
    """Return the multiple that loops of an instruction set are to reach; None for the baseline."""
    limits = OUT_OF_CACHE_LIMITS.get(loops.removesuffix("_vbmi"))
    return limits and limits["last axis" in row.granularity]


def target(row: Conversion, elements: int, ratios: dict[str, dict[str, float]], loops: str) -> Target:
    """Return the target of a row by its loops; `ratios` has the multiples of every measured row, for zero points."""
    limit, peers = None, set()
    if elements <= 1 << 18:
        limit = _in_cache(row) if loops.startswith("v4") else None
        sixteen = {"float16", "bfloat16"} & {row.source, row.target}
        if row.operation == "cast" and sixteen and {row.source, row.target} <= {"float16", "bfloat16", "float32"}:
            peers = {"torch"}
        if row.granularity == "tensor" and "int8" in (row.source, row.target):
            peers = {"torch", "ONNX Runtime"}
    elif elements >= 1 << 24:
        limit, peers = out_of_cache(row, loops), set(PEERS)
    if row.zero_points:
        without = Conversion(row.source, row.target, row.granularity).name
        base = ratios.get(without, {}).get("lowprec")
        limit = ZERO_POINTS * base if base is not None else None
    timed = ratios.get(row.name, {})
    return Target(limit, tuple(peer for peer in PEERS if peer in peers and peer in timed))


def missed(goal: Target, ratios: dict[str, float]) -> list[str]:
    """Return what lowprec is slower than, to two decimals: `target`, or the names of peers."""
    ours = round(ratios["lowprec"], 2)
    slower = ["target"] * (goal.limit is not None and ours > round(goal.limit, 2))
    return slower + [peer for peer in goal.peers if ours > round(ratios[peer], 2)]


def multiples(row: dict[str, Any], statistic: str = "minimum") -> dict[str, float]:
    """Return a stored row's times as multiples of the roofline, two threads of their own."""
    times = row[statistic]
    ratios = {name: time / times["roofline"] for name, time in times.items() if name != "roofline"}
    if "2 threads" in times:
        ratios["2 threads"] = times["2 threads"] / times["roofline, 2 threads"]
    return ratios


def row_of(name: str) -> Conversion | None:
    """Return the conversion of a stored row, or None where it is no longer timed."""
    return BY_NAME.get(name)
