"""`lowprec convert` and `lowprec inspect`: output, progress, exit codes, one-line errors."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.checkpoint_files import TENSORS, everything, leftovers, save, stored_bytes
from support.command_line import fail, run, usage_error
from support.paths import printed, table

import lowprec as lp
from lowprec.checkpoints.memory_limit import parse_size
from lowprec.checkpoints.planning.plan_for_layout import LAYOUTS
from lowprec.checkpoints.progress import make_progress, size_text
from lowprec.checkpoints.recipes import RECIPES
from lowprec.cli import main

QUIET = ("--progress", "none")


@pytest.fixture(autouse=True)
def _source(working_folder: Path) -> None:
    save(Path("x.safetensors"))


def test_convert_says_what_it_did() -> None:
    x = np.array([1.0, 1.1, 1000.0, 0.0009, np.nan, np.inf], np.float32)
    save(Path("v.safetensors"), {"w": x, "i": np.arange(3), "b": x[:2]})
    out = run("convert", "v.safetensors", "y.safetensors", "--to", "17", "--report", "r.json", *QUIET)
    kept, header, *lines, last = out.splitlines()
    assert kept == "'i': kept, int64; no floats"
    assert header.split()[:3] == ["tensor", "from", "elements"]
    assert {line.split()[0]: line.split()[-5:] for line in lines} == {
        "w": ["552", "1", "1", "1", "1"], "b": ["0.025", "0", "0", "0", "0"], "total": ["552", "1", "1", "1", "1"],
    }  # fmt: skip
    assert re.fullmatch(
        r"y\.safetensors: 2 tensors converted to float8_e4m3fn, 1 kept; 56 B -> 32 B in \d+\.\d s, .*/s", last
    )
    report = json.loads(Path("r.json").read_text(), parse_constant=pytest.fail)
    tensors, total = {one["name"]: one for one in report["tensors"]}, report["total"]
    for one in (tensors["w"], total):
        assert (one["nan"], one["inf"], one["saturated"], one["flushed"], one["max_abs_error"]) == (1, 1, 1, 1, 552.0)
        assert one["sqnr_db"] == pytest.approx(20 * np.log10(1000 / 552), abs=1e-3)
    assert [tensors["w"][name] for name in ("bytes_before", "bytes_after", "source")] == [24, 6, "float32"]
    assert (tensors["i"]["action"], tensors["i"]["nan"], tensors["i"]["bytes_after"]) == ("kept", None, 24)
    assert (total["elements"], total["bytes_before"], total["bytes_after"]) == (11, 56, 32)
    assert report["bytes_per_second"] > 0
    exact = lp.convert("v.safetensors", "z.safetensors", to="float64", progress=False).as_dict()
    assert {one["name"]: one["sqnr_db"] for one in exact["tensors"]}["w"] == "inf"
    assert stored_bytes(Path("y.safetensors"), "w") == lp.encode(x, 17).tobytes()


def test_every_option_reaches_the_conversion() -> None:
    run(
        "convert", "x.safetensors", "y.safetensors", "--to", "float8_e4m3fn", "--no-saturate", "--include", "layer.*",
        "--exclude", "*.bias", "--threads", "2", "--max-memory", "1GiB", "--verify", "--overwrite", *QUIET,
    )  # fmt: skip
    name = "layer.0.weight"
    assert stored_bytes(Path("y.safetensors"), name) == lp.encode(TENSORS[name], 17, saturate=False).tobytes()
    name = "layer.0.bias"
    assert stored_bytes(Path("y.safetensors"), name) == TENSORS[name].tobytes()
    out = run("convert", "x.safetensors", "y.safetensors", "--to", "int8", "--scale", "block:16", "--scale-format",
              "FLOAT8E8M0", "--overwrite", "--verify", *QUIET)  # fmt: skip
    assert out.endswith(", verified\n")


@pytest.mark.parametrize(("command", "text"), table(__file__)["refused"])
def test_errors(command: str, text: str) -> None:
    assert text in fail(*command.split())


@pytest.mark.parametrize(("command", "text"), table(__file__)["usage"])
def test_usage(command: str, text: str) -> None:
    error = usage_error(*command.split())
    assert error.startswith("usage: lowprec")
    assert text in error.splitlines()[-1]


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("inspect", "convert"):
        with pytest.raises(SystemExit, match="0"):
            main([command, "--help"])
    out = capsys.readouterr().out
    for option in ("--to", "--scale", "--include", "--dry-run", "--overwrite", "--verify", "--max-memory", "examples:"):
        assert option in out
    for line in out.splitlines():
        if line.startswith("  lowprec convert"):  # the examples name formats and options that there are
            words = line.split()
            known = {"--to": lp.formats, "--recipe": {one.name for one in RECIPES}, "--layout": LAYOUTS}
            (what,) = known.keys() & set(words)
            assert words[words.index(what) + 1] in known[what]


@pytest.mark.parametrize("style", ["auto", "bar", "plain", "none"])
@pytest.mark.parametrize("is_terminal", [False, True])
def test_progress(style: str, is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if style == "bar" or (style == "auto" and is_terminal):
        pytest.importorskip("tqdm")
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("lowprec.checkpoints.progress.INTERVAL", 0.0)
    shown = make_progress(style, 1 << 20)
    shown.phase("convert")
    for _ in range(4):
        shown.advance(1 << 18)
    shown.close()
    text = stream.getvalue()
    assert shown.done == 1 << 20
    if style == "none":
        assert text == ""
    elif style == "plain" or (style == "auto" and not is_terminal):
        assert re.match(r"convert: 25 % of 1\.0 MiB, .*/s, \d+ s left\n", text)
        assert text.count("\n") == 4
    else:
        assert "convert:" in text
        assert "1.00M" in text


def test_onnx_models_without_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("x.onnx").write_bytes(b"\x08\x01")
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert fail("inspect", "x.onnx") == "ONNX models need the onnx package: pip install 'lowprec[onnx]'"


def test_sizes() -> None:
    assert [parse_size(text) for text in (5, "5", "1K", "256M", "2GiB", "1TB")] == [
        5, 5, 1024, 256 << 20, 2 << 30, 1 << 40,
    ]  # fmt: skip
    sizes = {0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 3 << 29: "1.5 GiB", 5 << 40: "5.0 TiB"}
    assert {n: size_text(n) for n in sizes} == sizes
    for text in ("", "M", "1.5G", "-1", "1E", True):
        with pytest.raises(ValueError, match="`max_memory` must be a number of bytes such as 256M"):
            parse_size(text)


INTERRUPTED = """
import os, signal, sys
from lowprec.checkpoints.execution.worker import Worker
from lowprec.cli import main
write = Worker._write
def stop(*arguments):
    Worker._write = write
    os.kill(os.getpid(), signal.SIGINT)
    write(*arguments)
Worker._write = stop
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
sys.exit(main(sys.argv[1:]))
"""


def test_ctrl_c_leaves_the_old_target() -> None:
    run("convert", "x.safetensors", "y.safetensors", "--to", "float4_e2m1fn", *QUIET)
    before = everything(Path())
    command = [sys.executable, "-c", INTERRUPTED, "convert", "x.safetensors", "y.safetensors", "--to", "float16"]
    done = subprocess.run([*command, "--overwrite", "--threads", "2"], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"lowprec: interrupted\n")
    assert everything(Path()) == before
    assert leftovers(Path()) == []


def test_import_stays_light() -> None:
    code = "import sys, lowprec.cli; print([m for m in ('onnx', 'tqdm', 'dask', 'distributed') if m in sys.modules])"
    assert printed(code) == "[]\n"


PEAK = """
import sys
from lowprec.checkpoints import convert
convert(sys.argv[1], sys.argv[2], to="float8_e4m3fn", threads=2)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("RssAnon")))
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="asks Linux")
def test_memory_does_not_grow_with_the_file() -> None:
    peaks = []
    for name, n in {"small": 1 << 20, "large": 1 << 24}.items():
        save(Path(f"{name}.safetensors"), {"w": np.ones(n, np.float32)})
        peaks.append(int(printed(PEAK, f"{name}.safetensors", "y.safetensors")) << 10)
        Path("y.safetensors").unlink()
    assert peaks[1] < 200 << 20
    assert peaks[1] - peaks[0] < 32 << 20
