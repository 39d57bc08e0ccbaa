"""Folders with an index: it is updated, files are copied or refused; parts of a model without the others."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import call_fails, convert_fails, everything, leftovers, save, stored_bytes, values
from support.command_line import call, fail, run
from support.containers import INDEX, SHARD, SHARDS, checkpoint
from support.typed_tensors import BF16, F8, converted, read_tensors, write_model, write_tensors

import lowprec as lp
from lowprec.checkpoints import check, convert, inspect
from lowprec.checkpoints.containers.no_checkpoint import missing_parts, part_name
from lowprec.checkpoints.files.errors import FileError


@pytest.mark.parametrize("scale", ["none", "tensor", "block:32"])
def test_a_sharded_checkpoint(scale: str) -> None:
    source = checkpoint(Path("in"))
    before = everything(source)
    report = convert(source, "out", to="float8_e4m3fn", scale=scale, exclude="norm", verify=True)
    assert everything(source) == before
    after = everything(Path("out"))
    assert after.keys() == before.keys()
    for name in ("config.json", os.path.join("sub", "tokenizer.model"), "other.safetensors"):
        assert after[name] == before[name]
    index = json.loads(after[INDEX])
    sizes, places = 0, {}
    for shard in SHARDS:
        with Path("out", shard).open("rb") as stream:
            header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
        assert header.pop("__metadata__") == {"format": "pt"}
        places.update(dict.fromkeys(header, shard))
        sizes += sum(one["data_offsets"][1] - one["data_offsets"][0] for one in header.values())
    assert index["weight_map"] == places
    assert index["metadata"] == {"total_size": sizes, "note": 1}
    assert report.total.bytes_after == sizes
    names = {"a", "b", "norm", "ids"} | ({"a_scale", "b_scale"} if scale != "none" else set())
    assert set(places) == names
    if scale == "none":
        for shard, tensors in SHARDS.items():
            for name, x in tensors.items():
                codes = lp.encode(x, "float8_e4m3fn") if name in "ab" else x
                assert stored_bytes(Path("out", shard), name) == codes.tobytes()


def test_an_old_folder_is_replaced_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    source = checkpoint(Path("in"))
    convert(source, "out", to="float16")
    Path("out/stale.txt").write_text("old")
    convert_fails("exists; say `overwrite`", source, "out", to="float16")
    for can_exchange in (True, False):
        if not can_exchange:
            monkeypatch.setattr("lowprec.checkpoints.containers.folder._exchange", lambda one, other: False)
        convert(source, "out", to="float16", overwrite=True)
        assert "stale.txt" not in everything(Path("out"))
        assert leftovers(Path()) == []


def test_what_a_folder_may_not_replace() -> None:
    source = checkpoint(Path("in"))
    Path("home").mkdir()
    Path("home/thesis.txt").write_text("years")
    Path("link").symlink_to("in")
    for target, why in {
        "home": "must be a folder with a checkpoint to be replaced", "in": "must not be the input itself",
        "link": "must not be the input itself", "in/sub/new": "must lie outside of", ".": "must lie outside of",
        "home/thesis.txt": "must be a folder with a checkpoint", "no/out": "must be a new folder in an existing one",
    }.items():  # fmt: skip
        convert_fails(why, source, Path(target), to="float16", overwrite=True)


def _index(folder: Path, change: Any) -> None:
    fields = json.loads((folder / INDEX).read_text())
    change(fields)
    (folder / INDEX).write_text(json.dumps(fields))


def _renamed(folder: Path, name: str) -> None:
    """Give a shard a name that would lead into another folder on another system."""
    (folder / SHARD).rename(folder / name)
    _index(folder, lambda x: x["weight_map"].update(dict.fromkeys(SHARDS[SHARD], name)))


def placed(**places: Any) -> Any:
    """Return what says in the index of a folder where tensors are."""
    return lambda folder: _index(folder, lambda x: x["weight_map"].update(places))


BACKSLASHES = () if os.sep == "\\" else ("sub\\model.safetensors", "..\\model.safetensors", "\\model.safetensors")
BROKEN: dict[str, tuple[Any, str]] = {
    "missing shard": (lambda f: (f / SHARD).unlink(), "which is missing"),
    "outside": (placed(b="../in/" + SHARD), "which is no file name in this"),
    "absolute": (placed(b="/etc/passwd"), "which is no file name"), "nothing": (placed(b=""), "which is no file name"),
    "parent": (placed(b=".."), "which is no file name"), "null byte": (placed(b="a\0b"), "which is missing"),
    "wrong shard": (placed(b=next(iter(SHARDS))), "which does not hold it"),
    "no such tensor": (placed(c=SHARD), "which does not hold it"),
    "number": (placed(b=3), "must be JSON with a weight_map"),
    "not in the index": (
        lambda f: _index(f, lambda x: x["weight_map"].pop("b")), "which the index does not place there"
    ),
    "no map": (lambda f: _index(f, lambda x: x.pop("weight_map")), "must be JSON with a weight_map"),
    "list": (lambda f: (f / INDEX).write_text("[]"), "must be JSON with a weight_map"),
    "deep": (lambda f: (f / INDEX).write_text("[" * 100_000), "must be JSON with a weight_map"),
    "not JSON": (lambda f: (f / INDEX).write_text("{"), "must be JSON with a weight_map"),
    "not text": (lambda f: (f / INDEX).write_bytes(b"\xff\xfe\xfd"), "must be JSON with a weight_map"),
    "metadata": (lambda f: _index(f, lambda x: x.update(metadata=3)), "must be JSON with a weight_map"),
    "broken shard": (lambda f: os.truncate(f / SHARD, 100), "must be a readable .safetensors file"),
    **{f"backslash {name}": (lambda f, name=name: _renamed(f, name), "which is no file name") for name in BACKSLASHES},
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_checkpoints(name: str) -> None:
    source = checkpoint(Path("in"))
    build, why = BROKEN[name]
    build(source)
    convert_fails(why, source, "out", to="float16")
    call_fails(why, inspect, source)


def test_names_of_scales_that_are_taken() -> None:
    tensors = {"w": values((4, 4)), "w_scale": values((4,))}
    save(Path("x.safetensors"), tensors)
    why = r"next to a tensor's scales, another tensor named 'w_scale'"
    convert_fails(why, "x.safetensors", "y.safetensors", to="int8", scale="tensor")
    convert("x.safetensors", "y.safetensors", to="int8", scale="tensor", exclude="w")
    source = checkpoint(Path("in"))
    shutil.copy(source / SHARD, source / "x")
    save(source / SHARD, {"a_scale": values((4,)), "b": values((3,))})
    places = dict.fromkeys(("a", "norm"), next(iter(SHARDS))) | dict.fromkeys(("b", "a_scale"), SHARD)
    _index(source, lambda x: x.update(weight_map=places))
    convert_fails("'a_scale'", source, "out", to="int8", scale="tensor")


FIRST, SECOND, THIRD = (f"model-0000{n}-of-00003.safetensors" for n in (1, 2, 3))
P = "model.layers.{}.mlp.up_proj.weight"


def model(*left_out: str, index: bool = True) -> Path:
    shards = {name: {P.format(n): np.ones((64, 128), BF16)} for n, name in enumerate((FIRST, SECOND, THIRD))}
    folder = write_model(Path("m"), shards, {"model_type": "llama"})
    for name in (*left_out, *([] if index else [INDEX])):
        (folder / name).unlink()
    return folder


def commands(path: str, *options: str) -> list[list[str]]:
    return [
        ["convert", path, "out", "--to", "float16", *options],
        ["inspect", path, *options],
        ["check", path, *options],
    ]


ARE_MISSING = f"{FIRST} and {THIRD} are missing"
NAMED = f"m/{INDEX}: places '{P.format(0)}' in '{FIRST}', which is missing; {ARE_MISSING} (--part takes the shards"


@pytest.mark.parametrize(
    ("left_out", "index", "text"),
    [((SECOND,), False, f"m: {SECOND} is missing; --part takes the shards that are there"),
     ((FIRST, THIRD), False, f"m: {ARE_MISSING}; --part takes the shards that are there"),
     ((FIRST, THIRD), True, f"{NAMED} that are there)")],
    ids=["one", "two", "in the index"],
)  # fmt: skip
def test_missing_shards_are_named(left_out: tuple[str, ...], index: bool, text: str) -> None:
    model(*left_out, index=index)
    for command in commands("m")[:2]:
        assert fail(*command) == text
    call_fails(re.escape(text.partition(" --part")[0].partition(" (--part")[0]), lp.checkpoints.open, "m")
    assert [str(one) for one in check("m")] == [f"error: {text.replace('--part', '`part`')}"]
    status, out, _ = call("check", "m")
    assert (status, out.splitlines()[0]) == (1, f"error: {text}")


def test_a_shard_that_is_given_alone() -> None:
    model()
    path = f"m/{SECOND}"
    rest = "give the whole folder, or --part to take it alone"
    for command in commands(path):
        assert fail(*command) == f"{path}: is part 2 of 3 of a model; {rest}"
    Path("m", THIRD).unlink()
    for command in commands(path):
        said = f"{path}: is part 2 of 3 of a model, and {THIRD} is missing; {rest}"
        assert fail(*command) == said
    call_fails(f"is part 2 of 3 of a model, and {THIRD} is missing", lp.checkpoints.open, path)


def test_a_shard_is_taken_alone() -> None:
    model()
    report = convert(f"m/{SECOND}", SECOND, to="float16", part=True)
    assert report.remarks == ["part 2 of 3 of a model was taken alone"]
    assert list(read_tensors(Path(SECOND))) == [P.format(1)]
    assert run("inspect", SECOND, "--part").startswith(f"{SECOND}: float16, 1 layer, part 2 of 3: 16 KiB\n")
    with lp.checkpoints.open(SECOND, part=True) as checkpoint:
        assert list(checkpoint) == [P.format(1)]
    assert [str(one) for one in check(SECOND, part=True)][-1] == (
        "note: part 2 of 3 of a model: the others are not checked"
    )
    assert run("check", SECOND, "--part").splitlines()[-1] == f"{SECOND}: 0 errors; not all was checked"


@pytest.mark.parametrize("resume", [False, True])
def test_some_shards_are_taken(resume: bool) -> None:
    """The result has no index, so that it is a part again for whoever reads it; the report says what it is."""
    model(SECOND)
    report = convert("m", "out", to="float16", part=True, resume=resume, verify=True)
    assert report.remarks[-1] == (
        f"2 of 3 shards of a model were taken without the others; {INDEX} is left out, since it names all shards"
    )
    assert sorted(path.name for path in Path("out").iterdir()) == ["config.json", FIRST, THIRD]
    assert sorted(read_tensors(Path("out"))) == [P.format(0), P.format(2)]
    call_fails(f"out: {SECOND} is missing; `part` takes", inspect, "out")
    assert run("inspect", "m", "--part").splitlines()[0].endswith("2 layers, 2 of 3 shards: 32 KiB")
    notes = [str(one) for one in check("m", part=True)]
    assert notes[-1] == "note: 2 of 3 shards of a model: the others are not checked"
    assert not any(one.startswith("error") for one in notes)
    convert("m", "out", to="bfloat16", part=True, overwrite=True)
    assert leftovers(Path()) == []


def test_a_recipe_describes_the_part_alone() -> None:
    model(SECOND)
    report = convert("m", "out", recipe="fp8-dynamic", part=True)
    assert "what config.json says of modules that are not quantized is true of this part alone" in report.remarks
    assert (
        json.loads(Path("out/config.json").read_text())["quantization_config"]["quant_method"] == "compressed-tensors"
    )
    shutil.rmtree("m")
    report = convert(model(), "whole", recipe="fp8-dynamic", part=True)
    assert not any("part" in one for one in report.remarks)
    assert Path("whole", INDEX).exists()


@pytest.mark.parametrize(
    "options",
    [{"to": "bfloat16"}, {"to": "float16"}, {"to": "float8_e5m2"}, {"recipe": "int8"}, {"recipe": "fp8-block"}],
    ids=str,
)  # fmt: skip
def test_codes_whose_scales_are_in_another_part(options: dict[str, Any]) -> None:
    """Never taken for values, with the shard alone and with the folder that lacks the other one."""
    shards = {
        "model-00001-of-00002.safetensors": {P.format(0): np.ones((128, 128), F8)},
        "model-00002-of-00002.safetensors": {f"{P.format(0)}_scale_inv": np.ones((1, 1), np.float32)},
    }
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    folder = write_model(Path("m"), shards, config)
    shard, other = map(folder.joinpath, shards)
    other.unlink()
    for path, target in ((shard, "out.safetensors"), (folder, "out")):
        why = "no scales in this part; take the whole model|is quantized already"
        convert_fails(why, path, target, part=True, **options)
    with lp.checkpoints.open(shard, part=True) as checkpoint:
        with pytest.raises(FileError, match=r"has codes \(float8_e4m3fn\) and no scales in this part; .* \(raw=True"):
            checkpoint.read(P.format(0))
        assert checkpoint.read(P.format(0), raw=True).dtype == F8
    if "to" in options:
        convert(shard, "raw.safetensors", part=True, raw=True, **options)
    assert converted(shard, "kept.safetensors", part=True, to="bfloat16", exclude=P.format(0))[P.format(0)].dtype == F8


def test_another_layout_needs_the_scales_too() -> None:
    """NVFP4 of ModelOpt: one weight whole, of another only the codes."""
    tensors = {
        "a.weight": np.zeros((4, 16), np.uint8), "a.weight_scale": np.ones((4, 2), F8),
        "a.weight_scale_2": np.ones((), np.float32), "a.input_scale": np.ones((), np.float32),
        "b.weight": np.zeros((4, 16), np.uint8),
    }  # fmt: skip
    path = write_tensors(Path("model-00001-of-00002.safetensors"), tensors)
    why = r"'b.weight': has codes \(uint8\) and no scales in this part"
    convert_fails(why, path, "out.safetensors", layout="compressed-tensors", part=True)


NAMES = {
    "model-00001-of-00003.safetensors": (1, 3), "model-00163-of-000163.safetensors": (163, 163),
    "a-00002-of-00002-00001-of-00004.gguf": (1, 4), "00001-of-00002.gguf": None, "model-00001-of-00001.gguf": None,
    "model-00004-of-00003.safetensors": None, "model-1-of-3.safetensors": None, "model-00001-of-00003.bin": None,
    "model-00000-of-00003.safetensors": (0, 3), "model-0000001-of-0000003.gguf": None, "é-00001-of-00002.gguf": (1, 2),
    "model-٠٠٠٠١-of-00002.gguf": None, "a\nb-00001-of-00002.gguf": (1, 2), "model.safetensors": None,
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_of_parts(name: str) -> None:
    found = part_name(name)
    assert (found and (found.number, found.count)) == NAMES[name]


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        ("1", ([2, 3], 2)), ("13", ([2], 1)), ("123", ([], 0)), ("0", ([1, 2], 2)), ("02", ([1], 1)), ("012", ([], 0)),
        ("0123", ([], 0)), ("3", ([1, 2], 2)),
    ],
)  # fmt: skip
def test_which_parts_are_missing(present: str, missing: tuple[list[int], int]) -> None:
    """Some tools count from 0."""
    names = {f"x-0000{n}-of-00003.gguf" for n in present} | {"x-00002-of-00004.gguf", "y-00002-of-00003.gguf"}
    for n in present:
        part = part_name(f"x-0000{n}-of-00003.gguf")
        assert part is not None
        wanted = [f"x-0000{one}-of-00003.gguf" for one in missing[0]]
        assert missing_parts([part], names) == (wanted, missing[1])
