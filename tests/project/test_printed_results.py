"""What `print` shows of results: tables and lines for people, not the fields of a class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lowprec as lp
from lowprec.checkpoints import Entries, Entry, Finding, Findings
from lowprec.loss import BlockLoss, BlockLosses


@pytest.mark.parametrize("count", [1, 16])
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_report_is_its_tables(count: int, dry_run: bool, tmp_path: Path) -> None:
    lp.checkpoints.save(tmp_path / "x.npz", {f"w{n}": np.ones((4, 8), np.float32) for n in range(count)})
    report = lp.convert(tmp_path / "x.npz", tmp_path / "y.npz", to="float16", dry_run=dry_run)
    assert str(report) == report.as_text()
    assert len(str(report)) < 2000
    assert repr(report).startswith("Report(")


def test_findings_are_lines_and_a_total() -> None:
    findings = Findings(
        [Finding("layout", False, "", "two\nlines"), Finding("scales", True, "w", "has 1 NaN among 2 scales", 3)]
    )
    lines = ["note: two lines", "error: 'w' and 2 more like it: has 1 NaN among 2 scales", "1 error"]
    assert str(findings) == "\n".join(lines)
    assert str(Findings()) == "0 errors"
    unchecked = Findings([Finding("unchecked", False, "", "some of it")])
    assert str(unchecked) == "note: some of it\n0 errors; not all was checked"


def test_entries_are_a_table_and_a_total() -> None:
    entries = Entries([Entry("w", "int8", (2, 3), 6, 0, 0, -128, 127), Entry("s", "float32", (), 4, 1, 0)])
    assert str(entries) == (
        "tensor  format   bytes  NaN  Inf   min  max  shape\n"
        "w       int8         6    0    0  -128  127  2x3\n"
        "s       float32      4    1    0     -    -  scalar\n"
        "2 tensors, 10 B; float32, int8"
    )
    assert str(Entries([Entry("w", "int8", (2, 3), 6)])) == (
        "tensor  format  bytes  shape\nw       int8        6  2x3\n1 tensor, 6 B; int8"
    )
    assert str(Entries()) == "tensor  format  bytes  shape\n0 tensors, 0 B; "


def test_losses_of_blocks_are_a_table() -> None:
    losses = BlockLosses(
        [BlockLoss("mxfp4", "float4_e2m1fn", 16, "floor", 18.125, 4.5),
         BlockLoss("nvfp4", "float4_e2m1fn", 32, None, 20.5, 4.25)]
    )  # fmt: skip
    assert str(losses) == (
        "blocks  scale rule         16     32\n"
        "mxfp4   floor           18.12\n"
        "nvfp4   its own                20.50\n"
        "mxfp4   bits per value    4.5\n"
        "nvfp4   bits per value          4.25"
    )
    assert str(BlockLosses()) == "blocks  scale rule"
