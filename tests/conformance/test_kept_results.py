"""The kept results of `lowprec conformance` are what the command finds: a part of them is found again here, quickly."""

from __future__ import annotations

import datetime
import json

import pytest

import lowprec as lp
from lowprec.cli import conformance as command
from lowprec.cli import main
from lowprec.conformance.cast_cases import bitcast_cases, scale_cases, text_cases
from lowprec.conformance.comparison import RULES, Cell, Report, compare
from lowprec.conformance.libraries import Lowprec
from lowprec.conformance.report import kept_results, summary


def test_a_part_is_found_again() -> None:
    cases = [*bitcast_cases(), *text_cases(), *scale_cases()]
    found = compare(cases, [Lowprec()], [])
    tried = {rule: row["lowprec"] for rule, row in found.cells.items() if row}
    assert len(tried) == 10
    kept = kept_results()
    for rule, cell in tried.items():
        count = kept.counts[rule]["lowprec"]
        assert (count.tried, count.differ) == (cell.tried, cell.differ) == (cell.tried, 0), rule


def test_they_are_of_this_version_and_of_every_rule() -> None:
    kept = kept_results()
    assert list(kept.counts) == list(RULES)
    assert kept.versions["lowprec"] == lp.__version__
    assert datetime.date.fromisoformat(kept.date) >= datetime.date(2026, 11, 23)
    assert {"ml_dtypes", "onnx.reference", "gfloat", "pychop", "APyTypes", "torchao"} <= set(kept.versions)
    assert kept.counts["float8 once"]["ml_dtypes"].differ == 4916


def test_the_command_prints_a_summary(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    cells = {"same": {"lowprec": Cell(7, 0), "torch": Cell(5, 2)}, "bool": {"lowprec": Cell(3, 0)}}
    report = Report({"lowprec": "1.2", "torch": "3.4"}, {}, [], cells)
    monkeypatch.setattr(command, "report", lambda: report)
    assert main(["conformance", "--summary"]) in (0, None)
    printed = json.loads(capsys.readouterr().out)
    assert printed == summary(report)
    assert printed["rules"] == {"same": {"lowprec": [7, 0], "torch": [5, 2]}, "bool": {"lowprec": [3, 0]}}
