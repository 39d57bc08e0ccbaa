"""Codes and their scales are converted together, in every layout and with all patterns, or it is an error."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import call_fails, convert_fails, parse, stored_bytes
from support.command_line import fail, run
from support.paths import table
from support.quantized_checkpoints import (
    LAYOUTS,
    ORDINARY,
    READ,
    REFUSED,
    SHARDS,
    TOOLS,
    Checkpoint,
    Tensors,
    config_of,
    name_of_values,
    tensors_of,
    typed,
    write,
    write_folder,
)

import lowprec as lp
from lowprec.checkpoints import convert
from lowprec.checkpoints.containers.safetensors_file import SafetensorsFile
from lowprec.checkpoints.files.errors import FileError
from lowprec.checkpoints.weights.companion_tensors import TABLE, find_companions

QUIET = ("--progress", "none")
FLOATS = {"F8_E4M3", "F8_E8M0", "F4", "BF16", "F16", "F32"}
BY_LAYOUT = pytest.mark.parametrize("checkpoint", LAYOUTS.values(), ids=LAYOUTS)


def tensors_in(folder: Path) -> dict[str, bytes]:
    return {name: stored_bytes(folder / shard, name) for shard in SHARDS for name in parse(folder / shard)[0]}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *itertools.product(REFUSED, ["--to bfloat16", "--to float32 --dry-run", "--to float16 --overwrite"]),
        *((name, "--to int8 --scale tensor") for name in LAYOUTS),
    ],
)
def test_codes_are_not_converted_without_their_scales(name: str, options: str) -> None:
    checkpoint = LAYOUTS[name]
    write_folder(Path("in"), checkpoint)
    text = fail("convert", "in", "out", *options.split(), *QUIET)
    if name in TOOLS:
        assert text.startswith(f"in: is quantized by {TOOLS[name]}, which lowprec does not read; ")
    else:
        assert text.startswith(f"in: '{checkpoint.codes}' (")
        assert any(f" with '{one}', " in text for one in checkpoint.quantized if one != checkpoint.codes)
    assert "--raw" in text


def is_dequantized(checkpoint: Checkpoint, folder: Path) -> bool:
    """Whether a folder has the values of the weight and nothing else of what is quantized, and says so."""
    values, names = name_of_values(checkpoint), set(tensors_in(folder))
    fields = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return checkpoint.quantized.keys() & names <= {values} <= names and checkpoint.key not in fields


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", LAYOUTS)
def test_no_pattern_parts_them(name: str) -> None:
    """Every one and every two alone: an error, or all that is quantized stays as it was, or is dequantized."""
    checkpoint = LAYOUTS[name]
    source = write_folder(Path("in"), checkpoint)
    before = tensors_in(source)
    names = [*checkpoint.quantized, *checkpoint.ordinary[:1], ORDINARY[0]]
    refused = set()
    for chosen in [*itertools.combinations(names, 1), *itertools.combinations(names, 2)]:
        try:
            convert(source, "out", to="float32", include=chosen, overwrite=True)
        except FileError:
            assert not Path("out").exists()
            refused |= set(chosen) if len(chosen) == 1 else set()
            continue
        after = tensors_in(Path("out"))
        if name in READ and checkpoint.codes in chosen:
            assert is_dequantized(checkpoint, Path("out"))
        else:
            assert {name: after[name] for name in checkpoint.quantized} == {n: before[n] for n in checkpoint.quantized}
            assert Path("out", "config.json").read_bytes() == (source / "config.json").read_bytes()
        shutil.rmtree("out")
    floats = {name for name, (type_name, _) in checkpoint.quantized.items() if type_name in FLOATS}
    assert refused == floats - ({checkpoint.codes} if name in READ else set())


@pytest.mark.parametrize("name", READ)
def test_layouts_are_dequantized(name: str) -> None:
    checkpoint = LAYOUTS[name]
    before = tensors_in(write_folder(Path("in"), checkpoint))
    run("convert", "in", "out", "--to", "bfloat16", "--verify", *QUIET)
    assert is_dequantized(checkpoint, Path("out"))
    after = tensors_in(Path("out"))
    assert set(after) == {name_of_values(checkpoint), *checkpoint.ordinary, *ORDINARY}
    assert {one: after[one] for one in ORDINARY} == {one: before[one] for one in ORDINARY}
    with lp.checkpoints.open("in") as found:
        assert set(found) == set(after)
        assert found[name_of_values(checkpoint)].dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("name", REFUSED)
def test_layouts_that_are_not_read(name: str) -> None:
    """`open` returns codes only if they are asked for; `inspect` and `check` say why, and that is no error."""
    checkpoint, tool = LAYOUTS[name], TOOLS.get(name)
    with lp.checkpoints.open(write_folder(Path("in"), checkpoint)) as found:
        expected = rf"quantized by {tool}, .* \(raw=True" if tool else r"not be applied \(raw=True"
        call_fails(expected, found.__getitem__, checkpoint.codes)
        assert found.read(checkpoint.codes, raw=True).shape == checkpoint.quantized[checkpoint.codes][1]
        assert found["lm_head.weight"].shape == (4, 8)
    if not name.startswith(("unknown", "comfyui")):
        why = f"it is quantized by {tool}, which lowprec does not read; " if tool else "its layout is not known"
        assert f"; cannot be dequantized: {why}" in run("inspect", "in").splitlines()[0]
        findings = lp.checkpoints.check("in")
        assert not [one for one in findings if one.misread]
        assert any(re.search("(that|which) lowprec does not read", one.text) for one in findings)


@pytest.mark.parametrize("name", READ)
def test_excluded_scales_are_not_applied(name: str) -> None:
    """It is an error, or, where the codes are integers, they are kept too."""
    checkpoint = LAYOUTS[name]
    before = tensors_in(write_folder(Path("in"), checkpoint))
    *_, scales = checkpoint.quantized
    if checkpoint.quantized[checkpoint.codes][0] in FLOATS:
        text = fail("convert", "in", "out", "--to", "float32", f"--exclude={scales}", *QUIET)
        assert text.startswith(f"in: '{checkpoint.codes}' (")
        return
    excluded = [f"--exclude={one}" for one in checkpoint.quantized if one != checkpoint.codes]
    run("convert", "in", "out", "--to", "float32", *excluded, *QUIET)
    after = tensors_in(Path("out"))
    assert {one: after[one] for one in checkpoint.quantized} == {one: before[one] for one in checkpoint.quantized}


@BY_LAYOUT
def test_what_is_quantized_can_be_kept(checkpoint: Checkpoint) -> None:
    source = write_folder(Path("in"), checkpoint)
    excluded = [f"--exclude={name}" for name in checkpoint.quantized]
    out = run("convert", "in", "out", "--to", "float32", *excluded, *QUIET)
    assert "raw" not in out
    before, after = tensors_in(source), tensors_in(Path("out"))
    for name in checkpoint.quantized:
        assert after[name] == before[name]
    for name in (*checkpoint.ordinary, *ORDINARY):
        x = np.frombuffer(before[name], ml_dtypes.bfloat16)
        assert after[name] == x.astype(np.float32).tobytes()
    assert Path("out", "config.json").read_bytes() == (source / "config.json").read_bytes()


@BY_LAYOUT
def test_raw_converts_all_the_same_and_says_so(checkpoint: Checkpoint) -> None:
    source = write_folder(Path("in"), checkpoint)
    out = run("convert", "in", "out", "--to", "bfloat16", "--raw", "--report", "r.json", *QUIET)
    before, after = tensors_in(source), tensors_in(Path("out"))
    for name, (type_name, _) in tensors_of(checkpoint).items():
        if type_name == "F8_E4M3":
            codes = np.frombuffer(before[name], ml_dtypes.float8_e4m3fn)
            assert after[name] == codes.astype(ml_dtypes.bfloat16).tobytes()
        elif type_name not in FLOATS:
            assert after[name] == before[name]
    notes = json.loads(Path("r.json").read_text())["notes"]
    assert [line[5:] for line in out.splitlines() if line.startswith("raw: ")] == notes
    fields = config_of(checkpoint)
    assert notes[0].startswith(f"'{checkpoint.codes}' (")
    assert "not applied" in notes[0]
    types = {type_name for type_name, _ in checkpoint.quantized.values()}
    if checkpoint.quantization is None or not FLOATS & types:  # codes and scales are integers, and kept
        assert Path("out", "config.json").read_bytes() == (source / "config.json").read_bytes()
    else:
        fields.pop(checkpoint.key)
        text = json.dumps(fields, indent=2, ensure_ascii=False) + "\n"
        assert Path("out", "config.json").read_text(encoding="utf-8") == text
        assert notes[-1] == f"config.json: {checkpoint.key} left out"


def test_raw_has_nothing_to_say_where_all_fits() -> None:
    checkpoint = LAYOUTS["deepseek v3"]
    source = write_folder(Path("in"), checkpoint)
    out = run("convert", "in", "out", "--to", "float32", "--raw", "--include", "*norm*", *QUIET)
    assert "raw" not in out
    assert Path("out", "config.json").read_bytes() == (source / "config.json").read_bytes()
    assert convert("in", "dry", to="bfloat16", raw=True, dry_run=True).notes == [
        "'model.layers.0.mlp.up_proj.weight' (float8_e4m3fn) belongs with "
        "'model.layers.0.mlp.up_proj.weight_scale_inv', their scales, not applied",
        "config.json: quantization_config left out",
    ]


def test_what_applies_the_scales_is_said() -> None:
    write_folder(Path("in"), LAYOUTS["deepseek v3"])
    command = ("convert", "in", "out", "--to", "float8_e5m2", *QUIET)
    assert fail(*command) == (
        "in: 'model.layers.0.mlp.up_proj.weight' (float8_e4m3fn) belongs with "
        "'model.layers.0.mlp.up_proj.weight_scale_inv', their scales; it would not be applied; --to bfloat16 or a "
        "--recipe applies it (--exclude keeps tensors as they are, --raw converts all the same)"
    )


def test_raw_counts_the_tensors_that_are_not_scaled() -> None:
    """One weight is named, the others are counted, a weight each."""
    weights = [typed("weight F8_E4M3 4x8, weight_scale_inv F32 1x1", name) for name in "abc"]
    write(Path("x.safetensors"), {**weights[0], **weights[1], **weights[2]})
    (note,) = convert("x.safetensors", "y.safetensors", to="bfloat16", raw=True, dry_run=True).notes
    assert note.endswith("not applied, and so are 2 other tensors")


def test_inspect_names_the_codes() -> None:
    write_folder(Path("in"), LAYOUTS["modelopt nvfp4"])
    found = {one["name"]: one["belongs_to"] for one in json.loads(run("inspect", "in", "--json"))}
    weight = "model.layers.0.mlp.up_proj.weight"
    scales = {f"{weight}_scale", f"{weight}_scale_2", "model.layers.0.mlp.up_proj.input_scale"}
    assert {name for name, codes in found.items() if codes == weight} == scales
    assert {name for name, codes in found.items() if codes is None} == set(found) - scales
    out = run("inspect", "in")
    assert f"4x1, belongs to '{weight}'\n" in out
    assert out.count("belongs to") == 3


ORDINARY_FILES: dict[str, str] = table(__file__)["ordinary"]


@pytest.mark.parametrize("name", ORDINARY_FILES)
def test_ordinary_parameters_are_no_companions(name: str) -> None:
    ordinary = typed(ORDINARY_FILES[name])
    write(Path("x.safetensors"), ordinary)
    report = convert("x.safetensors", "y.safetensors", to="float64")
    floats = {one for one, (type_name, _) in ordinary.items() if type_name in FLOATS}
    assert {one.name for one in report.tensors if one.action == "converted"} == floats
    for one in (one for one in floats if ordinary[one][0] == "F8_E4M3"):
        codes = np.frombuffer(stored_bytes(Path("x.safetensors"), one), ml_dtypes.float8_e4m3fn)
        assert stored_bytes(Path("y.safetensors"), one) == codes.astype(np.float64).tobytes()


def test_a_scale_word_makes_a_name_extraordinary() -> None:
    for stranger in ("out_scale_weight", "scale_bias", "weight_absmax", "b", "weight_mask_2"):
        write(Path("x.safetensors"), {"a.weight": ("F8_E4M3", (4, 4)), f"a.{stranger}": ("F32", (4,))})
        why = f"'a.weight' .*'a.{stranger}', which is no known kind of tensor"
        convert_fails(why, "x.safetensors", "y.safetensors", to="bfloat16")


def test_every_row_is_of_use() -> None:
    """Each row, made a file, is found, and by this row or one that says the same."""
    for row in TABLE:
        last = row.companion.replace("*", "w", 1).replace("*", "x")
        names = {"..": "m.n", "**": "m.n.o", "_data**": "m.n._data._data"}
        codes = names.get(row.codes[0], "m.n." + row.codes[0].replace("*", "w"))
        write(Path("x.safetensors"), {codes: ("F8_E4M3", (4, 4)), f"m.n.{last}": ("F32", (4,))})
        (found,) = find_companions(SafetensorsFile(Path("x.safetensors")).tensors)
        assert (found.codes.name, found.tensor.name) == (codes, f"m.n.{last}")
        assert found.row is not None
        assert found.row.role == row.role
        assert row.layout


@pytest.mark.slow
def test_many_tensors_take_no_time() -> None:
    """Nothing is quadratic: a hundred million pairs would be."""
    tensors: Tensors = {f"m.weight_{i}": ("F8_E4M3", (1, 1)) for i in range(10_000)}
    tensors |= {f"m.x_{i}": ("BF16", (1,)) for i in range(10_000)}
    write(Path("x.safetensors"), tensors)
    found = find_companions(SafetensorsFile(Path("x.safetensors")).tensors)
    assert len(found) == 20_000
    assert {one.codes.name for one in found} | {one.tensor.name for one in found} == set(tensors)
