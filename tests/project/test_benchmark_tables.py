"""The benchmark: the tables of the documentation are those of its stored runs; targets, rooflines, contenders."""

from __future__ import annotations

import ctypes
import importlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import ROOT

from lowprec import _kernels


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports a module of benchmarks/."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or ".").parent == ROOT / "benchmarks":
            del sys.modules[name]


def test_pages_have_the_tables_of_the_stored_runs(bench: Any) -> None:
    tables = bench("result_tables").tables()
    assert {"readme", "intel", "amd"} <= set(tables)
    for name, (page, table) in tables.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        assert table in text, f"{page} differs from benchmarks/results ({name}): benchmarks/speed.py --write-pages"
        assert f"<!-- speed: {name} -->" in text


def test_a_table_is_put_between_its_marks(bench: Any) -> None:
    inserted = bench("result_tables").inserted
    page = "a\n<!-- speed: x -->\n\n<!-- end -->\n<!-- speed: y -->\n\n<!-- end -->\nb\n"
    once = inserted(page, "x", "| 1 |")
    assert once == page.replace("x -->\n\n<", "x -->\n\n| 1 |\n\n<")
    assert inserted(inserted(once, "x", "| 2 |\n| 3 |"), "x", "| 1 |") == once
    with pytest.raises(SystemExit, match="one place"):
        inserted(page, "z", "| 1 |")


def test_stored_runs_say_where_they_come_from(bench: Any) -> None:
    names = {row.name for row in bench("conversions").CONVERSIONS}
    for path in (ROOT / "benchmarks" / "results").glob("*.json"):
        for elements, run in json.loads(path.read_text(encoding="utf-8")).items():
            assert run["elements"] == int(elements)
            assert path.stem.split("-")[0] == run["machine"]["vendor"]
            assert all((run["date"], run["compiler"], run["machine"]["model"]))
            assert {row["case"] for row in run["rows"]} <= names
            assert all({"roofline", "lowprec"} <= set(row["minimum"]) for row in run["rows"])


@pytest.mark.parametrize(
    ("case", "elements", "limit", "peers"),
    [  # typed from the numbers of the goal: multiples of a copy in L2, and out of the cache
        ("float32 → float8_e5m2", 65536, 2.2, ()),
        ("bfloat16 → float8_e4m3fn", 65536, 2.2, ()),
        ("float8_e4m3fnuz → float32", 65536, 2.0, ()),
        ("float32 → float16", 65536, None, ("torch",)),
        ("quantize float32 → int8, tensor", 65536, 2.3, ("torch", "ONNX Runtime")),
        ("quantize float32 → int8, short last axis", 65536, 2.3, ()),
        ("quantize float32 → int4 packed, block 32", 65536, 2.8, ()),
        ("quantize float32 → float8_e4m3fn, axis 0", 65536, 3.2, ()),
        ("dequantize int8 → float32, last axis", 65536, 1.6, ()),
        ("dequantize float8_e4m3fn → float32, block 32", 65536, 2.4, ()),
        ("dequantize int4 packed → float32, tensor", 65536, 1.5, ()),
        ("float32 → int64", 65536, None, ()),
        ("float32 → float8_e5m2", 1 << 26, 1.1, ("torch", "ONNX Runtime")),
        ("quantize float32 → float8_e4m3fn, last axis", 1 << 26, 1.2, ("torch", "ONNX Runtime")),
        ("quantize float32 → int8, last axis, zero points", 1 << 26, 1.15 * 2, ("torch", "ONNX Runtime")),
    ],
)
def test_targets(bench: Any, case: str, elements: int, limit: float | None, peers: tuple[str, ...]) -> None:
    targets = bench("targets")
    ratios = {"lowprec": 2.0, "torch": 1.0, "ONNX Runtime": 3.0}
    known = {case: ratios, case.removesuffix(", zero points"): ratios}
    target = targets.target(targets.row_of(case), elements, known, "v4")
    assert target.limit == (pytest.approx(limit) if limit else None)
    assert target.peers == peers
    wanted = ["target"] * (limit is not None and limit < 2) + ["torch"] * ("torch" in peers)
    assert targets.missed(target, ratios) == wanted


def test_targets_of_other_loops(bench: Any) -> None:
    targets = bench("targets")
    limits = {
        (case, elements, loops): targets.target(targets.row_of(case), elements, {}, loops).limit
        for case in ("float32 → float8_e5m2", "dequantize int8 → float32, last axis")
        for elements in (65536, 1 << 26)
        for loops in ("v3", "base")
    }
    assert {key: limit for key, limit in limits.items() if limit} == {
        ("float32 → float8_e5m2", 1 << 26, "v3"): 1.3,
        ("dequantize int8 → float32, last axis", 1 << 26, "v3"): 1.35,
    }


def test_a_store_replaces_one_size_and_keeps_the_others(bench: Any, tmp_path: Path) -> None:
    results = bench("results")
    run = {"elements": 1024, **results.circumstances(), "rows": [{"case": "a", "minimum": {"roofline": 1.0}}]}
    vendor = run["machine"]["vendor"]
    results.store({**run, "elements": 2048}, tmp_path)
    results.store(run, tmp_path)
    results.store({**run, "note": "later"}, tmp_path)
    assert results.load(vendor, tmp_path) == {"1024": {**run, "note": "later"}, "2048": {**run, "elements": 2048}}
    assert results.load("none", tmp_path) == {}
    assert {"date", "commit", "machine", "compiler", "loops", "versions"} <= set(run)
    assert run["loops"] == _kernels.isa()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rooflines_read_and_write_every_byte(bench: Any, tmp_path: Path, threads: int) -> None:
    roofline = bench("roofline")
    roof = roofline.Roof(str(tmp_path))
    width = roof.library.vector_bytes()
    rng = np.random.default_rng(0)
    for reads, writes in ((8, 1), (4, 1), (2, 1), (1, 1), (1, 2), (1, 4), (1, 8)):
        x, out = roofline.aligned(1024 * reads), roofline.aligned(1024 * writes)
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


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_a_call_of_a_roofline_makes_no_array_address(bench: Any, tmp_path: Path, monkeypatch: Any) -> None:
    roofline = bench("roofline")
    x, out = roofline.aligned(4096), roofline.aligned(1024)
    contender = roofline.Roof(str(tmp_path)).copy(x, out, 1)

    def refuse(_: object) -> None:
        raise AssertionError("an address is made in the timed call")

    monkeypatch.setattr(ctypes, "c_void_p", refuse)
    contender.run(3)
    assert isinstance(contender.run.args[0], ctypes._SimpleCData)


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


def test_minimum_and_median_of_samples(bench: Any, monkeypatch: Any) -> None:
    timing = bench("timing")
    now, steps = [0.0], iter([0.01, 0.01, 0.04, 0.01, 0.02, 0.01, 0.03])  # every other one is a warm call
    for clock in ((timing, "clock"), (timing.time, "perf_counter")):
        monkeypatch.setattr(*clock, lambda: now[0])

    def run(_: int) -> None:
        now[0] += next(steps)

    found = timing.measure({"a": timing.Contender(run)}, 1000, 0.0)
    assert found == {"minimum": {"a": 10000.0}, "median": {"a": 15000.0}}


def test_the_bits_of_a_peer_are_compared(bench: Any) -> None:
    conversions, peers = bench("conversions"), bench("peers")
    arrays = conversions.Arrays(conversions.BY_NAME["quantize float32 → int4 packed, tensor"], 1024)
    right, codes = arrays.expected_packed, arrays.expected
    assert peers._equal(right, arrays)
    assert peers._equal(codes | 0xF0, arrays)  # upper bits of a storage dtype
    assert not peers._equal(right ^ 1, arrays)
    assert not peers._equal(codes ^ 8, arrays)
