"""What protects published speeds: the check of a run, the stored runs, and what the README quotes of them."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT


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
    row = bench("rows").conversion_row(bench("rows").BY_NAME[case], 65536)
    now = check.multiple(row, timing.Roof(str(tmp_path)), 0.05)
    run = {"elements": 65536, **runs.circumstances()}
    run["rows"] = [{"case": case, "minimum": {"roofline": 1.0, "lowprec": now * share}}]
    runs.store(run, tmp_path)
    here = runs.of_this_machine(tmp_path)
    monkeypatch.setattr(runs, "of_this_machine", lambda folder: here)
    assert check.main(["check", "--only", case, "--seconds", "0.05"]) == status
    assert ("slower" in capsys.readouterr().out) == (status == 1)


def test_what_is_not_stored_is_printed_and_not_judged(bench: Any, monkeypatch: Any, tmp_path: Path) -> None:
    runs, check = bench("stored_runs"), bench("check")
    assert not check.is_slower("a", None, lambda: 1e9)
    run = {"elements": 65536, **runs.circumstances(), "rows": []}
    run["machine"] = {**run["machine"], "generation": "another"}
    runs.store(run, tmp_path)
    assert runs.of_this_machine(tmp_path) == {}


def test_a_slower_conversion_is_timed_three_times_again(bench: Any) -> None:
    check = bench("check")
    times = iter([1.6, 1.7, 1.6, 1.49, 0.0])
    assert not check.is_slower("a", 1.0, lambda: next(times))
    assert next(times) == 0.0
    assert check.is_slower("a", 1.0, lambda: 1.51)


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
