"""The report as text, HTML and JSON: by kind of layer or tensor; what a dry run shows; the progress of all passes.

By a function of the caller too: what it is told, where it is called, and what an error of it does.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import everything, raising, save
from support.command_line import run
from support.paths import table
from support.resumed_conversions import SHARDS, three_shards

from lowprec._notebook_display import and_so_text, count_text
from lowprec.checkpoints import check, convert
from lowprec.checkpoints import save as save_arrays
from lowprec.checkpoints.containers.container import TensorReader
from lowprec.checkpoints.containers.folder import Folder
from lowprec.checkpoints.containers.model_config import Description, description_changes
from lowprec.checkpoints.conversion_report import layer_kind
from lowprec.checkpoints.progress import Progress, make_progress

KINDS: dict[str, str] = table(__file__)["kinds"]


def test_kinds_of_layers() -> None:
    assert {name: layer_kind(name) for name in KINDS} == KINDS


LONG = "model.layers.3.mlp.experts.3.a_name_that_is_longer_than_all_the_others_in_this_file_together.weight"


def model(path: Path) -> Path:
    """Write float32 tensors the errors of which, as float8_e4m3fn, are known.

    Between 1 and 2 its step is 1/8: 17/16 is a tie and becomes 1, 33/32 becomes 1; 1000 saturates, 1/2048 is flushed.
    """
    tensors: dict[str, Any] = {}
    for layer in range(4):
        tensors[f"model.layers.{layer}.self_attn.q_proj.weight"] = [[1, 17 / 16]]
        tensors[f"model.layers.{layer}.self_attn.k_proj.weight"] = [[1, 33 / 32]]
        tensors[f"model.layers.{layer}.mlp.experts.{layer}.up_proj.weight"] = [[1, 0.5, 2]]
        tensors[f"model.layers.{layer}.input_layernorm.weight"] = [1]
    tensors[LONG] = [[1000, 2**-11]]
    tensors = {name: np.array(x, np.float32) for name, x in tensors.items()}
    tensors["model.layers.0.ids"] = np.arange(3)
    return save(path, tensors)


def decibels(signal: float, noise: float) -> str:
    return f"{10 * math.log10(signal / noise):.2f}"


Q, K = decibels(1 + (17 / 16) ** 2, (1 / 16) ** 2), decibels(1 + (33 / 32) ** 2, (1 / 32) ** 2)
EXPERTS = decibels(4 * 5.25 + 1000**2, 552**2 + 2**-22)
TOTAL = decibels(4 * (1 + (17 / 16) ** 2 + 1 + (33 / 32) ** 2 + 5.25) + 1000**2, 4 * (2**-8 + 2**-10) + 552**2 + 2**-22)
SAID = f"""\
kept: 4 tensors, 16 B; excluded
kept: 1 tensor, 24 B; no floats
kind     count  from     elements  SQNR dB  max error  saturated  flushed  NaN  Inf
experts      5  float32        14     {EXPERTS}        552          1        1    0    0
k_proj       4  float32         8    {K}    0.03125          0        0    0    0
q_proj       4  float32         8    {Q}     0.0625          0        0    0    0
total       13                 30     {TOTAL}        552          1        1    0    0
"""


def test_many_tensors_are_shown_by_kind() -> None:
    source = model(Path("x.safetensors"))
    arguments = ("--to", "float8_e4m3fn", "--exclude", "*norm*", "--progress", "none")
    report = Path("r.json")
    out = run("convert", str(source), "y.safetensors", *arguments, "--report", str(report))
    assert out.startswith(SAID + "lowest SQNR:\n")
    header, *lines, last = out.removeprefix(SAID).splitlines()[1:]
    assert [line.split()[0] for line in lines] == [
        LONG, *(f"model.layers.{layer}.self_attn.q_proj.weight" for layer in range(4)),
        *(f"model.layers.{layer}.self_attn.k_proj.weight" for layer in range(4)),
    ]  # fmt: skip
    assert {line.index("float32") for line in lines} == {header.index("from")} == {len(LONG) + 2}
    assert len({len(line) for line in [header, *lines]}) == 1
    assert "13 tensors converted to float8_e4m3fn, 5 kept" in last
    kinds = json.loads(report.read_text())["kinds"]
    assert [(one["name"], one["count"], one["elements"], one["saturated"], one["flushed"]) for one in kinds] == [
        ("experts", 5, 14, 1, 1), ("k_proj", 4, 8, 0, 0), ("q_proj", 4, 8, 0, 0),
    ]  # fmt: skip
    assert f"{kinds[2]['sqnr_db']:.2f}" == Q
    tensors = json.loads(report.read_text())["tensors"]
    assert {one["name"]: one["kind"] for one in tensors}[LONG] == "experts"


def test_the_worst_tensors_are_ten() -> None:
    """What became NaN comes first, and what lost nothing is not named."""
    tensors = {f"a.{n}.w": np.array([1, 1 + n / 64], np.float32) for n in range(16)}  # 8/64 and 0 are exact
    tensors["a.nan.w"] = np.array([1e6, 1], np.float32)
    tensors["a.zero.w"] = np.zeros(3, np.float32)
    source = save(Path("x.safetensors"), tensors)
    text = convert(source, "y.safetensors", to="float8_e4m3fn", saturate=False).as_text()
    worst = [line.split() for line in text.partition("lowest SQNR:\n")[2].splitlines()[1:-1]]
    assert len(worst) == 10
    assert worst[0][0] == "a.nan.w"
    assert [float(row[3]) for row in worst[1:]] == sorted(float(row[3]) for row in worst[1:])
    assert worst[1][0] == "a.4.w"  # 17/16: half a step from both neighbours of the smallest step
    assert not {"a.0.w", "a.8.w", "a.zero.w"} & {row[0] for row in worst}


def test_names_are_escaped() -> None:
    source = save(Path("x.safetensors"), {"a<b>\x1b[31m": np.ones(3, np.float32), "i": np.arange(2)})
    report = convert(source, "y.safetensors", to="float16")
    assert "'a<b>\\x1b[31m'  float32" in report.as_text()
    page = report._repr_html_()
    assert "&lt;b&gt;\\x1b[31m" in page
    assert "<b>" not in page
    assert "\x1b" not in page
    assert "<div>&#x27;i&#x27;: kept, int64; no floats</div>" in page


def test_a_dry_run_shows_scales_and_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TensorReader, "read_into", raising(AssertionError("a tensor was read")))
    source, target = three_shards(Path("in")), Path("out")
    before = everything(Path())
    out = run("convert", str(source), str(target), "--recipe", "w4a16-g32", "--dry-run")
    assert out.splitlines() == [
        "kept: 3 tensors, 384 B; no .weight of two axes in bfloat16, float16, float32",
        "kind       count  shape  from      to         scale     scale shape    before     after",
        "down_proj      3  32x64  bfloat16  int4       bfloat16  32x2         12.0 KiB   3.4 KiB",
        "gate_proj      3  32x64  bfloat16  int4       bfloat16  32x2         12.0 KiB   3.4 KiB",
        "up_proj        3  32x64  bfloat16  int4       bfloat16  32x2         12.0 KiB   3.4 KiB",
        "q_proj         1  32x64  bfloat16  int4       bfloat16  32x2          4.0 KiB   1.1 KiB",
        "o_proj         1  32x64  bfloat16  int4       bfloat16  32x2          4.0 KiB   1.1 KiB",
        "k_proj         1  32x64  bfloat16  int4       bfloat16  32x2          4.0 KiB   1.1 KiB",
        "kept           3                                                        384 B     384 B",
        "total         12                   w4a16-g32                         48.4 KiB  14.1 KiB",
        "config.json: quantization_config added",
        f"{target}: 12 tensors would be converted to w4a16-g32, 3 kept; 48.4 KiB -> 14.1 KiB",
    ]
    assert everything(Path()) == before
    out = run("convert", str(source), str(target), "--to", "int8", "--scale", "axis:0", "-n", "-v")
    row = "model.layers.0.mlp.down_proj.weight     32x64  bfloat16  int8  float32  32            4.0 KiB   2.1 KiB"
    assert row in out.splitlines()
    assert "config.json: unchanged" in out.splitlines()


def test_what_becomes_of_descriptions() -> None:
    folder = three_shards(Path("in"))
    (folder / "params.json").write_text("{}")
    (folder / "quant_config.json").write_text("{}")
    (folder / "config.json").write_text('{"a": 1, "b": {"c": 1}, "text_config": {"d": "x"}, "e\\u0007": 2, "f": null}')
    container = Folder(folder)
    assert description_changes(container, []) == ["config.json: unchanged", "params.json: unchanged"]
    container.replace("quant_config.json", None)
    container.add("config.json", b'{"a": 2, "b": {"c": 2}, "text_config": {"d": "y"}, "g": 3}')
    container.add("hf_quant_config.json", b"{}")
    misfits = [Description(folder / SHARDS[0], ("_quantization_metadata",)), Description(folder / "quant_config.json")]
    assert description_changes(container, misfits) == [
        'config.json: a 1 -> 2, b changed, text_config.d "x" -> "y", e\\x07 removed, f removed, g added',
        "params.json: unchanged", "hf_quant_config.json: new", "quant_config.json: left out",
        f"{SHARDS[0]}: _quantization_metadata left out",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "phases"),
    [({"to": "float16"}, ["converting"]),
     ({"to": "int8", "scale": "tensor"}, ["measuring", "converting"]),
     ({"to": "int8", "scale": "block:32"}, ["converting"]),
     ({"recipe": "nvfp4a16"}, ["measuring", "converting"])],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("verify", [False, True])
def test_the_progress_is_of_all_passes(
    options: dict[str, Any], phases: list[str], verify: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every phase has a name."""
    said: list[str] = []

    class Recorded(Progress):
        def phase(self, name: str) -> None:
            said.append(name)

    monkeypatch.setattr("lowprec.checkpoints.conversion.make_progress", lambda _, total: Recorded(total))
    convert(three_shards(Path("in")), Path("out"), verify=verify, **options)
    checks = ["verifying, measuring"] * ("measuring" in phases) + ["verifying"] if verify else []
    assert said == [*phases, "writing to the disk", *checks]


def test_the_bar_and_the_lines_go_on_where_an_earlier_run_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lowprec.checkpoints import progress

    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    times = iter([0.0, 1.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    lines = progress.make_progress("plain", 100 << 20)
    lines.phase("converting")
    lines.skip(60 << 20)
    lines.say("resumed")
    lines.advance(10 << 20)
    assert capsys.readouterr().err == "resumed\nconverting: 70 % of 100.0 MiB, 10.0 MiB/s, 3 s left\n"
    monkeypatch.undo()
    pytest.importorskip("tqdm")
    bar = progress.make_progress("bar", 100 << 20)
    bar.phase("converting")
    bar.skip(60 << 20)
    bar.say("resumed")
    bar.advance(10 << 20)
    fields = bar._bar.format_dict  # type: ignore[attr-defined]
    bar.close()
    assert (fields["n"], fields["initial"], fields["total"]) == (70 << 20, 60 << 20, 100 << 20)
    assert "resumed" in capsys.readouterr().err


SIZES = {"a": 400_000, "b": 3, "c": 70_000}


class StoppedError(Exception):
    pass


def _stop(done: int, total: int, name: str) -> None:
    raise StoppedError


@pytest.fixture
def source() -> Path:
    save_arrays("x.safetensors", {name: np.ones((n, 2), np.float32) for name, n in SIZES.items()})
    return Path("x.safetensors")


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize(("options", "passes"), [({"to": "float16"}, 1), ({"to": "int8", "scale": "tensor"}, 2)])
def test_it_is_told_bytes_and_names(source: Path, options: dict[str, Any], passes: int, verify: bool) -> None:
    told: list[tuple[int, int, str]] = []
    places: set[int] = set()

    def note(done: int, total: int, name: str) -> None:
        told.append((done, total, name))
        places.add(threading.get_ident())

    convert(source, "y.safetensors", progress=note, verify=verify, max_memory="128M", threads=2, **options)
    nbytes = {name: 8 * n * passes * (1 + verify) for name, n in SIZES.items()}
    assert {total for _, total, _ in told} == {sum(nbytes.values())}
    assert places == {threading.get_ident()}
    done = [0, *(one for one, _, _ in told)]
    assert done[-1] == sum(nbytes.values())
    of: dict[str, int] = {}
    for before, after, (_, _, name) in zip(done, done[1:], told, strict=False):
        assert after > before
        of[name] = of.get(name, 0) + after - before
    assert of == nbytes


@pytest.mark.parametrize("call", [1, 2, 4])
@pytest.mark.parametrize("error", [StoppedError, KeyboardInterrupt])
@pytest.mark.parametrize("before", [None, b"old"])
def test_an_error_of_it_ends_the_conversion(
    source: Path, call: int, error: type[BaseException], before: bytes | None
) -> None:
    if before is not None:
        Path("y.safetensors").write_bytes(before)
    listed = sorted(os.listdir())
    calls = 0

    def stop(done: int, total: int, name: str) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise error("enough")

    with pytest.raises(error, match="enough"):
        convert(source, "y.safetensors", to="int8", scale="tensor", progress=stop, threads=2, overwrite=True)
    assert sorted(os.listdir()) == listed
    assert before is None or Path("y.safetensors").read_bytes() == before
    assert calls == call
    assert not [one for one in threading.enumerate() if one.name.startswith("lowprec")]


def test_what_an_earlier_run_finished_is_told_without_a_name() -> None:
    folder = Path("in")
    folder.mkdir()
    for name in "ab":
        save_arrays(folder / f"{name}.safetensors", {name: np.ones((1000, 2), np.float32)})

    with pytest.raises(StoppedError):
        convert(folder, "out", to="float16", resume=True, threads=1, progress=_stop)
    told: list[tuple[int, int, str]] = []
    convert(folder, "out", to="float16", resume=True, threads=1, progress=lambda *one: told.append(one))
    assert told[-1][:2] == (16_000, 16_000)
    assert told[0] in [(8_000, 16_000, ""), (8_000, 16_000, "a")]
    assert len(told) == 2


def test_true_and_false(source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowprec.checkpoints.progress.INTERVAL", 0.0)
    convert(source, "y.safetensors", to="float16", progress=False)
    assert capsys.readouterr().err == ""
    convert(source, "z.safetensors", to="float16", progress=True)
    assert capsys.readouterr().err.startswith("converting: ")


def test_of_a_check() -> None:
    scale = np.ones(64, np.float32)
    save_arrays("x.npz", {"w": np.ones((64, 4), np.int8), "w_scale": scale})
    told: list[tuple[int, int, str]] = []
    check("x.npz", progress=lambda *one: told.append(one))
    assert told == [(256, 256, "w_scale")]
    with pytest.raises(StoppedError):
        check("x.npz", progress=_stop)


def test_what_is_missing_is_an_import_error(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"^`progress` bar needs tqdm, which is not installed: pip install"):
        convert(source, "y.safetensors", to="float16", progress="bar")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert type(make_progress("auto", 1)).__name__ == "_Lines"
    with pytest.raises(ImportError, match=r"^`dask` needs Dask, which is not installed: pip install"):
        convert(source, "y.safetensors", to="float16", dask="local")
    assert os.listdir() == ["x.safetensors"]


def test_numbers_of_tensors_in_words() -> None:
    assert [count_text(n, "tensor") for n in range(3)] == ["0 tensors", "1 tensor", "2 tensors"]
    assert [and_so_text(n, "was", "were") for n in range(3)] == [
        "", ", and so was 1 other tensor", ", and so were 2 other tensors",
    ]  # fmt: skip
