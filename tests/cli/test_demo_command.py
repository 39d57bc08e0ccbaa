"""`lowprec demo`: its figures against NumPy and the file system, what it takes, and that it leaves nothing behind."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support import gguf_files
from support.checkpoint_files import opened
from support.command_line import LIMITED, call, fail, listing, run, usage_error
from support.containers import write_onnx
from support.safetensors_writer import save_file

import lowprec as lp
from lowprec.cli import demo

RECIPES = ["fp8-dynamic", "mxfp4a16", "nvfp4a16", "w4a16-g32"]
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
LINEAR = [f"model.layers.{i}.{'mlp' if j > 3 else 'self_attn'}.{name}.weight"
          for i in range(2) for j, name in enumerate(PROJECTIONS)]  # fmt: skip
MIB = 1 << 20

pytestmark = pytest.mark.usefixtures("temporary")


def nbytes_in(path: Path) -> int:
    files = [path] if path.is_file() else [Path(at, name) for at, _, names in os.walk(path) for name in names]
    return sum(os.stat(file).st_size for file in files)


def float64_of(path: Path, name: str) -> Any:
    return opened(path, name, to="float32").astype(np.float64)


def sqnr_of(original: Path, output: Path, names: list[str]) -> float:
    """Return the SQNR of some tensors as NumPy computes it from their values."""
    signal = noise = 0.0
    for name in names:
        x = float64_of(original, name)
        signal += float((x**2).sum())
        noise += float(((float64_of(output, name) - x) ** 2).sum())
    return 10 * float(np.log10(signal / noise))


def row_of(text: str, name: str) -> list[str]:
    """Return the words of a row: of a conversion bits, size, unit, multiple, SQNR, time, unit, multiple."""
    return next(line for line in text.splitlines() if line.startswith(f"{name} ")).split()[-8:]


def test_the_figures_are_those_of_the_files(temporary: Path) -> None:
    """As text, and as JSON."""
    text = run("demo", "--size", "1M", "--keep", "kept")
    original = Path("kept/original")
    assert sorted(os.listdir("kept")) == sorted([*RECIPES, "original"])
    assert f"kept has original, {', '.join(RECIPES)}." in text
    assert "converted   14 of 21 tensors; embedding, norms and lm_head are copied, as engines expect" in text
    copy = row_of(text, "plain copy")
    assert copy[-7:-4] == ["16.00", f"{nbytes_in(original) / MIB:.1f}", "MiB"]
    elements = sum(float64_of(original, name).size for name in LINEAR)
    stored = {one.name: one.nbytes for one in lp.checkpoints.inspect(original)}
    result = json.loads(run("demo", "--size", "1M", "--json", "--keep", "again"))
    assert (result["source"], result["rounds"], result["bytes"]) == (None, 3, nbytes_in(original))
    assert [one["name"] for one in result["conversions"]] == RECIPES
    for one in result["conversions"]:
        bits, size, unit, ratio, sqnr, *_, times = row_of(text, one["name"])
        output = Path("kept", one["name"])
        nbytes, exact = nbytes_in(output), sqnr_of(original, output, LINEAR)
        assert (size, unit, one["bytes"]) == (f"{nbytes / 1024:.1f}", "KiB", nbytes)
        assert ratio == f"{nbytes / nbytes_in(original):.2f}"
        assert float(sqnr) == pytest.approx(exact, abs=0.011)
        assert one["sqnr_db"] == pytest.approx(exact, abs=0.01)
        made = sum(one.nbytes for one in lp.checkpoints.inspect(output) if one.name not in stored.keys() - {*LINEAR})
        assert bits == f"{8 * made / elements:.2f}"
        assert float(times) > 0
        assert one["seconds_ratio"] == one["seconds"] / result["copy_seconds"]
        assert (one["converted"], one["tensors"], one["options"]) == (14, 21, {"recipe": one["name"]})
    assert all(len(line) <= 100 or str(temporary.parent)[:20] in line for line in text.splitlines())
    assert text.isascii()


def test_medians_of_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls take as long as a clock says that is set by hand: 1, 9, 2 s for copies, for conversions 4 s and more."""
    clock, calls = [0.0], list[str]()
    copying, converting = demo.Comparison._copy, demo.convert

    def copy(self: Any, folder: Path) -> None:
        copying(self, folder)
        clock[0] += [1.0, 9.0, 2.0][calls.count("copy")]
        calls.append("copy")

    def convert(*paths: Any, **options: Any) -> Any:
        if not options.get("dry_run"):
            clock[0] += 4 + calls.count(options["recipe"])
            calls.append(options["recipe"])
        return converting(*paths, **options)

    monkeypatch.setattr(demo.Comparison, "_copy", copy)
    monkeypatch.setattr(demo, "convert", convert)
    monkeypatch.setattr(demo.time, "perf_counter", lambda: clock[0])
    result = json.loads(run("demo", "--size", "1M", "--json"))
    assert calls == ["copy", *RECIPES] * 3
    assert result["copy_seconds"] == 2
    assert [one["seconds"] for one in result["conversions"]] == [5] * 4
    assert [one["seconds_ratio"] for one in result["conversions"]] == [2.5] * 4


def test_commands_to_type_next() -> None:
    """Those for a path are run as they stand, with a name that a shell must have quoted."""
    np.savez("my x.npz", w=np.linspace(-1, 1, 4096, dtype=np.float32).reshape(64, 64))
    lines = run("demo", "my x.npz").splitlines()
    commands = [shlex.split(line.partition("  write one")[0]) for line in lines if line.startswith("  lowprec convert")]
    assert len(commands) == 4
    for number, (_, *arguments) in enumerate(commands):
        run(*[f"{number}.npz" if one == "OUT.npz" else one for one in arguments])
        table = lines[6 + number].split()
        assert float(table[6]) == pytest.approx(sqnr_of(Path("my x.npz"), Path(f"{number}.npz"), ["w"]), abs=0.011)


OF_ARRAYS, OF_MODELS = ["bf16", "fp8", "int8-g32", "mxfp8-g32"], ["fp8", "int8-rows", "mxfp4-g32", "int4-g32"]
PATHS = {
    "x.npy": (np.save, OF_ARRAYS, "npz"),
    "x.npz": (lambda path, x: np.savez(path, w=x), OF_ARRAYS, "npz"),
    "x.safetensors": (lambda path, x: save_file({"w": x}, path), OF_MODELS, "safetensors"),
    "x.onnx": (lambda path, x: write_onnx(Path(path), w=x), OF_MODELS, "onnx"),
    "x.gguf": (lambda path, x: gguf_files.write(Path(path), {"blk.0.up.weight": x}), ["q8_0", "mxfp4", "q4_0"], "gguf"),
}


@pytest.mark.parametrize("name", PATHS)
def test_a_file_of_any_kind(name: str) -> None:
    save, names, suffix = PATHS[name]
    save(name, np.random.RandomState(1).standard_normal((64, 96)).astype(np.float32))
    before = listing()
    result = json.loads(run("demo", name, "--json"))
    assert [one["name"] for one in result["conversions"]] == names
    assert all(one["sqnr_db"] > 15 and one["bytes"] < result["bytes"] for one in result["conversions"])
    assert listing() == before
    run("demo", name, "--keep", "kept")
    assert sorted(os.listdir("kept")) == sorted(f"{one}.{suffix}" for one in names)


def test_no_folder_for_temporary_files(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(temporary / "none")])
    np.savez("x.npz", w=np.ones((64, 64), np.float32))
    assert fail("demo", "x.npz").startswith("no folder for temporary files: No usable temporary")


def test_what_does_not_apply_is_listed() -> None:
    """Rows of 80 columns have no groups of 32."""
    x = np.random.RandomState(1).standard_normal((8, 80)).astype(ml_dtypes.bfloat16)
    Path("model").mkdir()
    save_file({"m.0.up_proj.weight": x}, Path("model/model.safetensors"))
    Path("model/config.json").write_text('{"model_type": "llama"}')
    lines = run("demo", "model").splitlines()
    assert [line.split()[0] for line in lines[6:8]] == ["fp8-dynamic", "nvfp4a16"]
    printed = " ".join(" ".join(lines).split())
    for one in RECIPES[1::2]:
        why = "'m.0.up_proj.weight', BF16 (8, 80): its rows are not divided into groups of 32"
        assert f"left out {one}: has no weight that the recipe {one} quantizes; {why}" in printed
    assert printed.count("left out ") == 2


def test_values_that_a_recipe_refuses() -> None:
    run("demo", "--size", "1M", "--keep", "kept")
    path = Path("kept/original/model.safetensors")
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    at = len(content) - max(one["data_offsets"][1] for one in header.values() if "data_offsets" in one)
    at += header[LINEAR[3]]["data_offsets"][0]
    path.write_bytes(content[:at] + b"\xc0\x7f" + content[at + 2 :])  # a NaN
    status, _, error = call("demo", str(path))
    assert status == 1
    assert error.startswith(f"lowprec: {path}: no conversion of the demo applies; w4a16-g32: '{LINEAR[3]}': has a NaN")
    assert error.count("\n") == 1


def test_bad_arguments() -> None:
    np.savez("n.npz", n=np.arange(3))
    Path("text.txt").write_text("text")
    Path("taken").mkdir()
    assert fail("demo", "nothing") == "nothing: No such file or directory"
    assert fail("demo", "text.txt").startswith("text.txt: must be .npy, .npz, .safetensors, .gguf")
    assert fail("demo", "taken") == "taken: holds no safetensors file"
    assert fail("demo", "n.npz") == (
        "n.npz: no conversion of the demo applies; mxfp8-g32: has no tensor that it converts"
    )
    assert fail("demo", "--keep", "taken") == "taken: exists; --keep must name a new folder"
    assert fail("demo", "--keep", "no/such") == "no/such: must be a new folder in an existing one"
    assert fail("demo", "--size", "1023") == "the size must be from 1M to 1024M; got 1023 bytes"
    run("demo", "--size", "1M", "--keep", "kept")
    message = "kept/original/new: must lie outside of kept/original"
    assert fail("demo", "kept/original", "--keep", "kept/original/new") == message
    for arguments in (["n.npz", "--size", "1M"], ["--size", "many"]):
        usage_error("demo", *arguments)


@pytest.mark.parametrize("keep", [[], ["--keep", "kept"]], ids=["removed", "kept"])
@pytest.mark.parametrize("path", [[], ["x.npz"]], ids=["synthetic", "path"])
def test_ctrl_c_leaves_nothing(keep: list[str], path: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez("x.npz", w=np.ones((64, 64), np.float32))
    before, calls = listing(), list[Path]()
    converting = demo.convert

    def convert(source: Path, target: Path, **options: Any) -> Any:
        report = converting(source, target, **options)
        calls.extend([] if options.get("dry_run") else [target])
        if len(calls) == 10:  # in the last round, whose outputs would stay
            raise KeyboardInterrupt
        return report

    monkeypatch.setattr(demo, "convert", convert)
    assert call("demo", *(path or ["--size", "1M"]), *keep)[::2] == (130, "lowprec: interrupted\n")
    assert len(calls) == 10
    assert listing() == before


def shutil_usage(free: int, first: int | None = None) -> Any:
    said = [free if first is None else first]

    def usage(path: Any) -> Any:
        return type("usage", (), {"free": said.pop() if said else free})

    return usage


@pytest.mark.parametrize("free", [MIB, 2 * MIB + 100_000], ids=["synthetic", "outputs"])
def test_too_little_room(free: int, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint and a copy need 2 MiB; kept outputs, after the checkpoint was written, 1.9 MiB together."""
    monkeypatch.setattr("shutil.disk_usage", shutil_usage(free))
    before = listing()
    if free > 2 * MIB:
        run("demo", "--size", "1M")
        monkeypatch.setattr("shutil.disk_usage", shutil_usage(int(1.2 * MIB), 2 * MIB + 100_000))
    error = fail("demo", "--size", "1M", "--keep", "kept")
    assert error.startswith(f"{temporary.parent}: the demo needs ")
    assert error.endswith("left; --keep, or TMPDIR, names a folder on another one")
    assert listing() == before


GOLDEN = Path(__file__).parents[1] / "checkpoints" / "golden" / "MXFP4A16"


@pytest.mark.parametrize(
    ("limit", "arguments", "what"),
    [(MIB // 2, ["--size", "1M"], "new/original: cannot be written"), (4096, ["x.npz"], "new/copy"),
     (60_000, [str(GOLDEN)], "new/fp8-dynamic: cannot be written"),
     (60_000, [str(GOLDEN), "--keep", "kept"], "new/fp8-dynamic: cannot be written")],
    ids=["synthetic", "copy", "output", "kept output"],
)  # fmt: skip
def test_a_full_disk(limit: int, arguments: list[str], what: str, temporary: Path) -> None:
    np.savez("x.npz", w=np.ones((64, 64), np.float32))
    before = listing()
    command, environment = [sys.executable, "-c", LIMITED, str(limit), "demo"], {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("lowprec: ")
    assert what in done.stderr
    assert done.stderr.endswith("; File too large\n")
    assert done.stderr.count("\n") == 1
    assert listing() == before


def test_the_synthetic_checkpoint_is_a_llama() -> None:
    for name in ("one", "two"):
        Path(name).mkdir()
        demo.write_model(Path(name), 256)
    one, two = (Path(name, "model.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two
    entries = {entry.name: entry for entry in lp.checkpoints.inspect("one")}
    assert {entry.format for entry in entries.values()} == {"bfloat16"}
    assert sum(entry.nbytes for entry in entries.values()) == demo.nbytes_of(256)
    norms = [f"model.layers.{i}.{name}_layernorm.weight" for i in range(2) for name in ("input", "post_attention")]
    ends = ["model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"]
    assert entries.keys() == {*LINEAR, *norms, *ends}
    config = json.loads(Path("one/config.json").read_text())
    width, inner = config["hidden_size"], config["intermediate_size"]
    keys = config["num_key_value_heads"] * config["head_dim"]
    assert config["num_attention_heads"] * config["head_dim"] == width
    shapes = [(width, width), (keys, width), (keys, width), (width, width), (inner, width), (inner, width)]
    assert [entries[name].shape for name in LINEAR] == [*shapes, (width, inner)] * 2
    assert [demo.width_of(size << 20) for size in (1, 4, 64, 1024)] == [128, 256, 1024, 4096]
    assert entries["lm_head.weight"].shape == entries[ends[0]].shape == (config["vocab_size"], width)


def test_weights_have_heavy_tails_and_outlier_channels() -> None:
    """Quantiles of Student's t with 4 degrees of freedom, as tables print them; its deviation is the root of 2."""
    table = demo._quantiles()
    for p, t in ((0.5, 0.0), (0.9, 1.533), (0.975, 2.776), (0.995, 4.604), (0.9995, 8.610)):
        assert float(table[int(p * 65536)]) * 2**0.5 == pytest.approx(t, rel=0.003, abs=1e-4)
    demo.write_model(Path(), 512)
    for name, axis in (("self_attn.q_proj", 0), ("mlp.down_proj", 1)):
        x = float64_of(Path(), f"model.layers.1.{name}.weight")
        spread = np.abs(x).mean(axis)  # rows differ by up to 4 anyway; columns do not
        outliers = spread[[32, 288]]
        if axis == 0:
            assert np.flatnonzero(spread > 2.5 * np.median(spread)).tolist() == [32, 288]
        assert outliers.min() > 1.9 * np.median(spread)
        assert np.abs(x).max() > 15 * x.std()
