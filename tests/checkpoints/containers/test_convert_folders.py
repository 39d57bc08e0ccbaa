"""Folders with an index: the index is updated, other files are copied, broken folders are refused."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.checkpoint_files import everything, leftovers, save, stored_bytes, values
from support.sharded_checkpoint import INDEX, SHARD, SHARDS, checkpoint

import lowprec as lp
from lowprec.checkpoints import convert, inspect
from lowprec.checkpoints.files.errors import FileError


@pytest.mark.parametrize("scale", ["none", "tensor", "block:32"])
def test_a_sharded_checkpoint(scale: str, tmp_path: Path) -> None:
    source = checkpoint(tmp_path / "in")
    before = everything(source)
    report = convert(source, tmp_path / "out", to="float8_e4m3fn", scale=scale, exclude="norm", verify=True)
    assert everything(source) == before
    after = everything(tmp_path / "out")
    assert after.keys() == before.keys()
    for name in ("config.json", os.path.join("sub", "tokenizer.model"), "other.safetensors"):
        assert after[name] == before[name]
    index = json.loads(after[INDEX])
    sizes, places = 0, {}
    for shard in SHARDS:
        with (tmp_path / "out" / shard).open("rb") as stream:
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
                assert stored_bytes(tmp_path / "out" / shard, name) == codes.tobytes()


def test_a_folder_without_an_index(tmp_path: Path) -> None:
    source = checkpoint(tmp_path / "in")
    (source / INDEX).unlink()
    convert(source, tmp_path / "out", to="float16")
    assert stored_bytes(tmp_path / "out" / "other.safetensors", "a") == lp.encode(values((2,)), "float16").tobytes()
    (tmp_path / "none").mkdir()
    with pytest.raises(FileError, match="holds no safetensors file"):
        convert(tmp_path / "none", tmp_path / "new", to="float16")


def test_an_old_folder_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = checkpoint(tmp_path / "in")
    convert(source, tmp_path / "out", to="float16")
    (tmp_path / "out" / "stale.txt").write_text("old")
    with pytest.raises(FileError, match="exists; say `overwrite`"):
        convert(source, tmp_path / "out", to="float16")
    for can_exchange in (True, False):
        if not can_exchange:
            monkeypatch.setattr("lowprec.checkpoints.containers.folder._exchange", lambda one, other: False)
        convert(source, tmp_path / "out", to="float16", overwrite=True)
        assert "stale.txt" not in everything(tmp_path / "out")
        assert leftovers(tmp_path) == []


def test_what_a_folder_may_not_replace(tmp_path: Path) -> None:
    source = checkpoint(tmp_path / "in")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years")
    before = everything(tmp_path)
    (tmp_path / "link").symlink_to("in")
    for target, why in {
        "home": "must be a folder with a checkpoint to be replaced", "in": "must not be the input itself",
        "link": "must not be the input itself", "in/sub/new": "must lie outside of", ".": "must lie outside of",
        "home/thesis.txt": "must be a folder with a checkpoint", "no/out": "must be a new folder in an existing one",
    }.items():  # fmt: skip
        with pytest.raises(FileError, match=why):
            convert(source, tmp_path / target, to="float16", overwrite=True)
    assert everything(tmp_path) == before


def _index(folder: Path, change: Any) -> None:
    fields = json.loads((folder / INDEX).read_text())
    change(fields)
    (folder / INDEX).write_text(json.dumps(fields))


def _renamed(folder: Path, name: str) -> None:
    """Give a shard a name that would lead into another folder on another system."""
    (folder / SHARD).rename(folder / name)
    _index(folder, lambda x: x["weight_map"].update(dict.fromkeys(SHARDS[SHARD], name)))


BACKSLASHES = () if os.sep == "\\" else ("sub\\model.safetensors", "..\\model.safetensors", "\\model.safetensors")
BROKEN: dict[str, tuple[Any, str]] = {
    "missing shard": (lambda f: (f / SHARD).unlink(), "which is missing"),
    "outside": (
        lambda f: _index(f, lambda x: x["weight_map"].update(b="../in/" + SHARD)), "which is no file name in this"
    ),
    "absolute": (lambda f: _index(f, lambda x: x["weight_map"].update(b="/etc/passwd")), "which is no file name"),
    "nothing": (lambda f: _index(f, lambda x: x["weight_map"].update(b="")), "which is no file name"),
    "parent": (lambda f: _index(f, lambda x: x["weight_map"].update(b="..")), "which is no file name"),
    "null byte": (lambda f: _index(f, lambda x: x["weight_map"].update(b="a\0b")), "which is missing"),
    "wrong shard": (
        lambda f: _index(f, lambda x: x["weight_map"].update(b=next(iter(SHARDS)))), "which does not hold it"
    ),
    "no such tensor": (lambda f: _index(f, lambda x: x["weight_map"].update(c=SHARD)), "which does not hold it"),
    "not in the index": (
        lambda f: _index(f, lambda x: x["weight_map"].pop("b")), "which the index does not place there"
    ),
    "no map": (lambda f: _index(f, lambda x: x.pop("weight_map")), "must be JSON with a weight_map"),
    "number": (lambda f: _index(f, lambda x: x["weight_map"].update(b=3)), "must be JSON with a weight_map"),
    "list": (lambda f: (f / INDEX).write_text("[]"), "must be JSON with a weight_map"),
    "deep": (lambda f: (f / INDEX).write_text("[" * 100_000), "must be JSON with a weight_map"),
    "not JSON": (lambda f: (f / INDEX).write_text("{"), "must be JSON with a weight_map"),
    "not text": (lambda f: (f / INDEX).write_bytes(b"\xff\xfe\xfd"), "must be JSON with a weight_map"),
    "metadata": (lambda f: _index(f, lambda x: x.update(metadata=3)), "must be JSON with a weight_map"),
    "broken shard": (lambda f: os.truncate(f / SHARD, 100), "must be a readable .safetensors file"),
    **{f"backslash {name}": (lambda f, name=name: _renamed(f, name), "which is no file name") for name in BACKSLASHES},
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_checkpoints(name: str, tmp_path: Path) -> None:
    source = checkpoint(tmp_path / "in")
    build, why = BROKEN[name]
    build(source)
    with pytest.raises(FileError, match=why) as caught:
        convert(source, tmp_path / "out", to="float16")
    with pytest.raises(FileError, match=why):
        inspect(source)
    assert len(str(caught.value).splitlines()) == 1
    assert os.listdir(tmp_path) == ["in"]


def test_names_of_scales_that_are_taken(tmp_path: Path) -> None:
    tensors = {"w": values((4, 4)), "w_scale": values((4,))}
    save(tmp_path / "x.safetensors", tensors)
    with pytest.raises(FileError, match=r"next to a tensor's scales, another tensor named 'w_scale'"):
        convert(tmp_path / "x.safetensors", tmp_path / "y.safetensors", to="int8", scale="tensor")
    convert(tmp_path / "x.safetensors", tmp_path / "y.safetensors", to="int8", scale="tensor", exclude="w")
    source = checkpoint(tmp_path / "in")
    shutil.copy(source / SHARD, source / "x")
    save(source / SHARD, {"a_scale": values((4,)), "b": values((3,))})
    _index(
        source,
        lambda x: x.update(
            weight_map={"a": next(iter(SHARDS)), "norm": next(iter(SHARDS)), "b": SHARD, "a_scale": SHARD}
        ),
    )
    with pytest.raises(FileError, match="'a_scale'"):
        convert(source, tmp_path / "out", to="int8", scale="tensor")
