"""What protects published speeds: the unit, equal bits of the peers, stored runs in the README, the check of a run."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import ROOT

import lowprec as lp
from lowprec.conformance.cast_inputs import sweep_float32


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports a module of benchmarks/."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or ".").parent == ROOT / "benchmarks":
            del sys.modules[name]


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
@pytest.mark.parametrize(("share", "status"), [(0.1, 1), (10, 0)])
def test_a_conversion_that_has_become_slower_fails(
    bench: Any, monkeypatch: Any, tmp_path: Path, capsys: Any, share: float, status: int
) -> None:
    """The stored multiple of this machine is a tenth of what is measured now, or ten times as much."""
    runs, check, timing = bench("stored_runs"), bench("check"), bench("timing")
    case = "float32 → bfloat16"
    now = check.multiple(case, timing.Roof(str(tmp_path)), 0.05)
    run = {"elements": 65536, **runs.circumstances()}
    run["rows"] = [{"case": case, "minimum": {"roofline": 1.0, "lowprec": now * share}}]
    runs.store(run, tmp_path)
    monkeypatch.setattr(runs, "of_this_machine", partial(runs.of_this_machine, tmp_path))
    assert check.main(["check", "--only", case, "--seconds", "0.05"]) == status
    assert ("slower" in capsys.readouterr().out) == (status == 1)


def test_what_is_not_stored_is_printed_and_not_judged(bench: Any, monkeypatch: Any, tmp_path: Path) -> None:
    runs, check = bench("stored_runs"), bench("check")
    assert check.failures(["a"], {}, lambda name: 1e9) == []
    run = {"elements": 65536, **runs.circumstances(), "rows": []}
    run["machine"] = {**run["machine"], "generation": "another"}
    runs.store(run, tmp_path)
    assert runs.of_this_machine(tmp_path) == {}


def test_a_slower_conversion_is_timed_three_times_again(bench: Any) -> None:
    check = bench("check")
    times = iter([1.6, 1.7, 1.6, 1.49, 0.0])
    assert check.failures(["a"], {"a": 1.0}, lambda name: next(times)) == []
    assert next(times) == 0.0
    assert check.failures(["a"], {"a": 1.0}, lambda name: 1.51) == ["a"]


def test_the_ratios_of_an_instruction_set(bench: Any) -> None:
    runs = bench("stored_runs")
    run = {"loops": "v4", "rows": [{"case": "a", "minimum": {"roofline": 2.0, "lowprec": 3.0, "AVX2": 5.0}}]}
    found = {loops: runs.stored_ratios(run, loops) for loops in ("v4", "v3", "base", "v4_vbmi")}
    assert found == {"v4": {"a": 1.5}, "v3": {"a": 2.5}, "base": {}, "v4_vbmi": {}}


def test_the_readme_has_the_rows_of_the_stored_runs(bench: Any) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    runs = bench("stored_runs")
    assert runs.readme_text() in text, "python benchmarks/run.py casts --write-pages"
    assert runs.inserted(text, "readme", runs.readme_text()) == text


def test_stored_runs_say_where_they_come_from(bench: Any) -> None:
    names = {row.name for row in bench("rows").CONVERSIONS}
    for name in bench("stored_runs").names():
        for elements, run in json.loads((ROOT / f"benchmarks/results/{name}.json").read_text(encoding="utf-8")).items():
            assert run["elements"] == int(elements)
            assert name.split("-")[0] == run["machine"]["vendor"]
            assert all((run["date"], run["compiler"], run["machine"]["model"]))
            assert {row["case"] for row in run["rows"]} <= names
            assert all({"roofline", "lowprec"} <= set(row["minimum"]) for row in run["rows"])


def test_a_store_replaces_one_size_and_keeps_the_others(bench: Any, tmp_path: Path) -> None:
    runs = bench("stored_runs")
    run = {"elements": 1024, **runs.circumstances(), "rows": [{"case": "a", "minimum": {"roofline": 1.0}}]}
    vendor = run["machine"]["vendor"]
    for one in ({**run, "elements": 2048}, run, {**run, "note": "later"}):
        runs.store(one, tmp_path)
    assert runs.load(vendor, tmp_path) == {"1024": {**run, "note": "later"}, "2048": {**run, "elements": 2048}}


@pytest.mark.parametrize(
    ("case", "elements", "limit", "peers"),
    [  # typed from the numbers of the goal: multiples of a copy in L2, and out of the cache
        ("float32 → float8_e5m2", 65536, 2.2, ()),
        ("float8_e4m3fnuz → float32", 65536, 2.0, ()),
        ("float32 → float16", 65536, None, ("torch",)),
        ("quantize float32 → int8, tensor", 65536, 2.3, ("torch", "ONNX Runtime")),
        ("dequantize int8 → float32, last axis", 65536, 1.6, ()),
        ("dequantize int4 packed → float32, tensor", 65536, 1.5, ()),
        ("float32 → int64", 65536, None, ()),
        ("float32 → float8_e5m2", 1 << 26, 1.1, ("torch", "ONNX Runtime")),
        ("quantize float32 → float8_e4m3fn, last axis", 1 << 26, 1.2, ("torch", "ONNX Runtime")),
        ("quantize float32 → int8, last axis, zero points", 1 << 26, 1.15 * 2, ("torch", "ONNX Runtime")),
    ],
)
def test_targets(bench: Any, case: str, elements: int, limit: float | None, peers: tuple[str, ...]) -> None:
    rows = bench("rows")
    ratios = {"lowprec": 2.0, "torch": 1.0, "ONNX Runtime": 3.0}
    known = {case: ratios, case.removesuffix(", zero points"): ratios}
    target = rows.target_of({"case": case}, elements, known, "v4")
    assert target.limit == (pytest.approx(limit) if limit else None)
    assert target.peers == peers
    wanted = ["target"] * (limit is not None and limit < 2) + ["torch"] * ("torch" in peers)
    assert rows.missed(target, ratios) == wanted


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rooflines_read_and_write_every_byte(bench: Any, tmp_path: Path, threads: int) -> None:
    timing = bench("timing")
    roof = timing.Roof(str(tmp_path))
    width = roof.library.vector_bytes()
    rng = np.random.default_rng(0)
    for reads, writes in ((8, 1), (4, 1), (2, 1), (1, 1), (1, 2), (1, 4), (1, 8)):
        x, out = timing.aligned(1024 * reads), timing.aligned(1024 * writes)
        x[:] = rng.integers(0, 256, x.size)
        for kind in ("copy", "stream"):
            out[:] = 0
            roof.copy(x, out, threads, kind).run(2)
            vectors = x.reshape(-1, reads, width) if reads > 1 else x.reshape(-1, width)
            expected = np.bitwise_or.reduce(vectors, 1) if reads > 1 else np.repeat(vectors, writes, 0)
            assert np.array_equal(out.reshape(-1, width), expected)
        combined = roof.read(x, threads).run(2)
        assert combined == int(np.bitwise_or.reduce(x.view(np.uint64)))
    with pytest.raises(ValueError, match="whole vectors"):
        roof.copy(x, out[:100], threads)


def test_contenders_take_turns_and_a_slow_peer_stops(bench: Any, monkeypatch: Any) -> None:
    timing = bench("timing")
    now, turns = [0.0], []
    for clock in ((timing, "clock"), (timing.time, "perf_counter")):
        monkeypatch.setattr(*clock, lambda: now[0])

    def contender(name: str, seconds: float, **options: Any) -> Any:
        def run(repeats: int) -> None:
            turns.append(name)
            now[0] += seconds * repeats

        return timing.Contender(run, **options)

    timed = {
        "a": contender("a", 1e-4),
        "slow": contender("slow", 0.02, limited=True),
        "timed before": contender("timed before", 9, limited=True, known=0.03),
    }
    found = timing.measure(timed, 1000, 0.1)
    times = {"a": pytest.approx(100.0), "slow": pytest.approx(20000.0), "timed before": pytest.approx(30000.0)}
    assert found == {"minimum": times, "median": times}
    assert turns.count("slow") == 2  # a warm call and one sample
    assert "timed before" not in turns
    assert turns.count("a") > 100


def test_the_bits_of_a_peer_are_compared(bench: Any) -> None:
    rows = bench("rows")
    arrays = rows.Arrays(rows.BY_NAME["quantize float32 → int4 packed, tensor"], 1024)
    right, codes = arrays.expected_packed, arrays.expected
    assert arrays.has_bits(right)
    assert arrays.has_bits(codes | 0xF0)  # upper bits of a storage dtype
    assert not arrays.has_bits(right ^ 1)
    assert not arrays.has_bits(codes ^ 8)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float4_e2m1fn"])
@pytest.mark.parametrize("library", ["Torch", "Jax"])
def test_rounding_by_arithmetic_is_ours(bench: Any, library: str, name: str) -> None:
    """So these peers are timed at the same work; subnormal numbers apart, which XLA takes for 0."""
    pytest.importorskip(library.lower())
    peers, fmt = bench("peers"), lp.formats[name]
    ops = getattr(peers, f"{library}Arithmetic")()
    x = sweep_float32(fmt, count=1000)[::31]
    x = x[(np.abs(x) >= np.finfo(np.float32).smallest_normal) | ((fmt.nan_code is not None) & np.isnan(x))]
    for mode in peers.WHICH_GROWS:
        theirs = peers.encode_by_arithmetic(ops, ops.xp.asarray(x.copy()), fmt, mode)
        ours = lp.encode(x, fmt, rounding=mode)
        assert np.array_equal(np.asarray(theirs), ours), mode
    drawn = np.asarray(peers.encode_by_arithmetic(ops, ops.xp.asarray(x.copy()), fmt, "stochastic", random_bits=16))
    below, above = (lp.encode(x, fmt, rounding=mode) for mode in ("toward_zero", "away_from_zero"))
    assert ((drawn == below) | (drawn == above)).all()
