"""The report's file replaces nothing but a report."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.checkpoint_files import leftovers, save, values
from support.command_line import call, fail, run
from support.containers import write_onnx
from support.quantized_checkpoints import LAYOUTS, SHARDS, write_folder

CONVERT = ("convert", "x.safetensors", "y.safetensors", "--to", "float16", "--progress", "none")


@pytest.fixture(autouse=True)
def _source(working_folder: Path) -> None:
    save(Path("x.safetensors"), {"w": values((4, 8))})


def refused(source: str, target: str, report: str, *options: str) -> str:
    arguments = ("convert", source, target, "--to", "float16", "--report", report, *options)
    text = fail(*arguments)
    assert fail(*arguments, "--dry-run") == text
    return text


def test_the_source_and_the_target_are_no_reports() -> None:
    Path("soft.json").symlink_to("x.safetensors")
    Path("hard.json").hardlink_to("x.safetensors")
    Path("sub").mkdir()
    Path("up").symlink_to("sub")
    for report, why in {
        "x.safetensors": "must not be x.safetensors", "./x.safetensors": "must not be x.safetensors",
        "sub/../x.safetensors": "must not be x.safetensors", "up/../x.safetensors": "must not be x.safetensors",
        str(Path("x.safetensors").resolve()): "must not be x.safetensors", "soft.json": "must not be x.safetensors",
        "hard.json": "exists and is no report of a conversion", "y.safetensors": "must not be y.safetensors",
        "sub/../y.safetensors": "must not be y.safetensors",
    }.items():  # fmt: skip
        assert why in refused("x.safetensors", "y.safetensors", report)
    Path("y.safetensors").write_bytes(Path("x.safetensors").read_bytes())
    Path("old.json").hardlink_to("y.safetensors")
    assert "is no report" in refused("x.safetensors", "y.safetensors", "old.json", "--overwrite")


def test_nothing_in_a_folder_is_a_report() -> None:
    write_folder(Path("in"), LAYOUTS["deepseek v3"])
    Path("out").mkdir()
    Path("link").symlink_to("in")
    raw = ("--raw", "--overwrite")
    for report in ("in", f"in/{SHARDS[1]}", "in/config.json", "in/new.json", "link/new.json", "out/new.json", "out"):
        assert "nor a file in it" in refused("in", "out", report, *raw)
    assert "a report must not be link, nor a file in it" in refused("link", "out", "in/new.json", *raw)
    assert "in an existing folder" in refused("in", "new", "new/r.json", *raw)


def test_files_next_to_the_source_and_the_target_are_no_reports() -> None:
    np.save("x.npy", values((4, 8)))
    for report in ("x.npy.json", "y.npy.json"):
        assert "is the name of the file with the format" in refused("x.npy", "y.npy", report)
    write_onnx(Path("x.onnx"), "w.json", w=values((4, 8)))
    assert "is no report" in refused("x.onnx", "y.onnx", "w.json")
    for report in ("y.onnx.data", "y.onnx.7.data", "y.onnx.a1b2.data"):
        assert "is a name for the external data" in refused("x.onnx", "y.onnx", report)


def test_what_is_no_report_is_not_replaced() -> None:
    Path("thesis.txt").write_text("years")
    Path("other.json").write_text('{"source": "else"}')
    Path("folder").mkdir()
    os.mkfifo("pipe")
    for report, why in {
        "thesis.txt": "is no report", "other.json": "is no report", "folder": "must be a regular file",
        "pipe": "No such device", "no/r.json": "in an existing folder", "a\0b": "null",
    }.items():  # fmt: skip
        assert why in refused("x.safetensors", "y.safetensors", report)


def test_a_report_replaces_a_report() -> None:
    Path("empty.json").touch()
    for report in ("r.json", "r.json", "empty.json", "y.safetensors.json"):
        run(*CONVERT, "--overwrite", "--report", report)
        assert json.loads(Path(report).read_text())["target"] == "y.safetensors"
    Path("r.json").chmod(0o640)
    Path("link.json").symlink_to("r.json")
    run(*CONVERT, "--overwrite", "--verify", "--report", "link.json")
    assert Path("link.json").is_symlink()
    assert json.loads(Path("r.json").read_text())["verified"] is True
    assert stat.S_IMODE(Path("r.json").stat().st_mode) == 0o640
    assert leftovers(Path()) == []


def test_an_old_report_stays_where_the_conversion_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    run(*CONVERT, "--report", "r.json")
    fail(*CONVERT, "--report", "r.json")  # y.safetensors exists
    replace = os.replace

    def refuse(old: Path, new: Path) -> None:
        if Path(new).name == "r.json":
            raise OSError(28, "No space left on device")
        replace(old, new)

    monkeypatch.setattr("os.replace", refuse)
    old = Path("r.json").read_bytes()
    status, _, err = call(*CONVERT, "--overwrite", "--report", "r.json")
    assert (status, err) == (1, "lowprec: r.json: cannot be written; No space left on device\n")
    assert Path("r.json").read_bytes() == old
    assert leftovers(Path()) == []


def test_what_comes_meanwhile_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    from lowprec.checkpoints.conversion_report import Report

    text = Report.as_text

    def as_text(self: Report, *, verbose: bool) -> str:
        Path("r.json").write_text("mine")
        return text(self, verbose=verbose)

    monkeypatch.setattr(Report, "as_text", as_text)
    assert "is no report of a conversion" in call(*CONVERT, "--report", "r.json")[2]
    assert Path("r.json").read_text() == "mine"


def test_a_pipe_is_written_to() -> None:
    command = [sys.executable, "-m", "lowprec", *CONVERT, "--report", "/dev/stdout"]
    out = subprocess.check_output(command, text=True)
    assert json.loads(out[out.index("{\n") :])["to"] == "float16"
    assert leftovers(Path()) == []
