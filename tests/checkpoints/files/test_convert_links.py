"""Symbolic links in a checkpoint's folder: which targets are allowed, and how deep folders may be."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import call_fails, convert_fails, everything, leftovers, save, stored_bytes, values
from support.command_line import call, run
from support.containers import INDEX, SHARD, SHARDS, checkpoint, write_onnx
from support.optional import optional

import lowprec as lp
from lowprec.checkpoints import convert, inspect
from lowprec.checkpoints.files import symbolic_links
from lowprec.checkpoints.files.errors import FileError

onnx: Any = optional("onnx")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("TOKEN=1")
    return checkpoint(tmp_path / "in")


def refused(source: Path, name: str, why: str, *, follow_links: bool = False) -> None:
    said = convert_fails(why, source, source.parent / "out", to="int8", raw=True, follow_links=follow_links)
    assert said.startswith(f"{source / name}: ")


OUTSIDE = r"is a link to .*, outside of the folder; say `follow_links`"


@pytest.mark.parametrize("place", ["leak.txt", "sub/leak.txt"])
@pytest.mark.parametrize("to", ["../secret", "/proc/self/environ", "absolute", "chain"])
def test_a_link_that_leads_out(place: str, to: str, source: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    if to == "chain":  # from link to link, the first of which stays inside
        (source / "sub" / "first").symlink_to(secret)
        (source / place).symlink_to(source / "sub" / "first")
        place = min(place, "sub/first", key=lambda name: (name.count("/"), name))
    elif to == "absolute":
        (source / place).symlink_to(secret)
    else:
        (source / place).symlink_to(os.path.join("..", to) if to[0] == "." and "/" in place else to)
    refused(source, place, OUTSIDE)
    convert(source, tmp_path / "out", to="int8", raw=True, follow_links=True)
    wanted = Path("/proc/self/environ") if to.startswith("/proc") else secret
    assert (tmp_path / "out" / place).read_bytes() == wanted.read_bytes()
    assert not (tmp_path / "out" / place).is_symlink()


@pytest.mark.parametrize("name", [SHARD, INDEX])
def test_what_inspect_reads(name: str, source: Path, tmp_path: Path) -> None:
    (source / "leak.txt").symlink_to("../secret")  # which nobody reads here
    names = [one.name for one in inspect(source)]
    shutil.move(source / name, tmp_path / "moved")
    (source / name).symlink_to("../moved")
    refused(source, name, OUTSIDE)
    call_fails(OUTSIDE, inspect, source)
    assert [one.name for one in inspect(source, follow_links=True)] == names
    assert run("inspect", str(source), "--follow-links").count("\n") == len(names) + 3


def test_links_that_stay_inside(source: Path, tmp_path: Path) -> None:
    (source / "config.copy").symlink_to("config.json")
    (source / "sub" / "up").symlink_to(os.path.join("..", "config.copy"))  # to a link
    (source / "absolute").symlink_to(source / "sub" / "tokenizer.model")
    (source / "latest").symlink_to("sub", target_is_directory=True)
    (tmp_path / "hop").symlink_to(source / "config.json")  # only what a link leads to in the end counts
    (source / "hops").symlink_to("../hop")
    convert(source, tmp_path / "out", to="int8", raw=True)
    after = everything(tmp_path / "out")
    config, tokenizer = after["config.json"], after["sub/tokenizer.model"]
    assert tokenizer == bytes(range(256))
    assert {name: after[name] for name in ("config.copy", "sub/up", "latest/up", "hops")} == dict.fromkeys(
        ("config.copy", "sub/up", "latest/up", "hops"), config
    )
    assert after["absolute"] == after["latest/tokenizer.model"] == tokenizer
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))


@pytest.mark.parametrize("follow_links", [False, True])
def test_what_no_link_may_be(follow_links: bool, source: Path, tmp_path: Path) -> None:
    def attempt(name: str, why: str) -> None:
        refused(source, name, why, follow_links=follow_links)
        (source / name).unlink()

    (source / "gone").symlink_to("nowhere")
    attempt("gone", "is a link to nothing")
    (source / "self").symlink_to("self")
    attempt("self", "is a link to nothing")
    (source / "sub" / "loop").symlink_to("..")
    attempt("sub/loop", "is a link to a folder that it lies in")
    os.mkfifo(source / "pipe")
    attempt("pipe", "must be a regular file")
    (source / "null").symlink_to("/dev/null")
    attempt("null", "must be a regular file" if follow_links else OUTSIDE)
    (source / "sub" / "out").symlink_to(tmp_path / "far")
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "back").symlink_to(source / "sub")
    refused(
        source, "sub/out/back" if follow_links else "sub/out", "that it lies in" if follow_links else OUTSIDE,
        follow_links=follow_links,
    )  # fmt: skip


def test_a_folder_of_links_to_folders_ends(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of twenty folders leads to the next one twice: a million names for one file."""
    monkeypatch.setattr(symbolic_links, "MOST_FILES", 500)
    for number in range(20):
        (source / f"d{number}").mkdir()
        for name in "ab":
            (source / f"d{number}" / name).symlink_to(f"../d{number + 1}")
    (source / "d20").write_text("end")
    convert_fails("in: has more than 500 files and folders", source, source.parent / "out", to="int8", raw=True)


def test_as_many_files_as_there_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic_links, "MOST_FILES", 3)
    (tmp_path / "sub").mkdir()
    for name in ("a", "sub/b"):
        (tmp_path / name).touch()
    assert [one.name for one in symbolic_links.files_in(tmp_path)] == ["a", "sub/b"]
    (tmp_path / "sub" / "c").touch()
    with pytest.raises(FileError, match="has more than 3 files and folders"):
        list(symbolic_links.files_in(tmp_path))
    assert len(list(symbolic_links.files_in(tmp_path, most=4))) == 3
    with pytest.raises(FileError, match="has more than 2 files and folders"):
        list(symbolic_links.files_in(tmp_path, most=2))


def cache(tmp_path: Path, repository: str = "models--org--name") -> Path:
    """Return a snapshot as Hugging Face's caches have it."""
    folder = tmp_path / "hub" / repository
    snapshot = folder / "snapshots" / "0123abcd"
    (folder / "blobs").mkdir(parents=True)
    (snapshot / "sub").mkdir(parents=True)
    made = checkpoint(tmp_path / "made")
    for number, name in enumerate(everything(made)):
        shutil.move(made / name, folder / "blobs" / f"{number:064x}")
        up = os.path.join(*[".."] * (2 + name.count(os.sep)))
        (snapshot / name).symlink_to(os.path.join(up, "blobs", f"{number:064x}"))
    shutil.rmtree(made)
    return snapshot


@pytest.mark.parametrize("repository", ["models--org--name", "datasets--org--name"])
@pytest.mark.parametrize("through", ["directly", "a link to the snapshot", "a link to the cache"])
def test_a_cache_of_hugging_face(repository: str, through: str, tmp_path: Path) -> None:
    source = cache(tmp_path, repository)
    if through == "a link to the snapshot":
        (tmp_path / "here").symlink_to(source)
        source = tmp_path / "here"
    elif through == "a link to the cache":
        (tmp_path / "other").symlink_to("hub")
        source = tmp_path / "other" / source.relative_to(tmp_path / "hub")
    assert len(inspect(source)) == 4
    convert(source, tmp_path / "out", to="int8", raw=True)
    first = next(iter(SHARDS))
    assert stored_bytes(tmp_path / "out" / first, "a") == lp.encode(SHARDS[first]["a"], "int8").tobytes()
    assert (tmp_path / "out" / "sub" / "tokenizer.model").read_bytes() == bytes(range(256))
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))


def test_links_out_of_a_repository(tmp_path: Path) -> None:
    """Into another one of the cache, and from a folder that is only called snapshots."""
    source = cache(tmp_path)
    other = tmp_path / "hub" / "models--org--private" / "blobs" / "00"
    other.parent.mkdir(parents=True)
    other.write_text("private")
    (source / "leak.txt").symlink_to(other)
    refused(source, "leak.txt", OUTSIDE)
    (tmp_path / "name" / "snapshots").mkdir(parents=True)
    source = checkpoint(tmp_path / "name" / "snapshots" / "1")
    (tmp_path / "name" / "secret").write_text("x")
    (source / "leak.txt").symlink_to("../../secret")
    refused(source, "leak.txt", OUTSIDE)


def test_models_in_a_cache(tmp_path: Path) -> None:
    snapshot = tmp_path / "models--org--name" / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    blobs = snapshot.parent.parent / "blobs"
    blobs.mkdir()
    write_onnx(snapshot / "x.onnx", "w.bin", w=values((8, 16), 1))
    shutil.move(snapshot / "x.onnx", blobs / "0")
    shutil.move(snapshot / "w.bin", blobs / "1")
    (snapshot / "x.onnx").symlink_to("../../blobs/0")
    (snapshot / "w.bin").symlink_to("../../blobs/1")
    convert(snapshot / "x.onnx", tmp_path / "y.onnx", to="int8", raw=True)
    (found,) = onnx.load(tmp_path / "y.onnx").graph.initializer
    assert found.raw_data == lp.encode(values((8, 16), 1), "int8").tobytes()
    shutil.move(blobs / "1", tmp_path / "far")
    (snapshot / "w.bin").unlink()
    (snapshot / "w.bin").symlink_to(tmp_path / "far")
    call_fails("outside the model's folder", inspect, snapshot / "x.onnx")
    assert [one.name for one in inspect(snapshot / "x.onnx", follow_links=True)] == ["w"]
    made = onnx.load(snapshot / "x.onnx", load_external_data=False)
    for away in ("../../../far", "a/../../../../far", str(tmp_path / "far")):  # a location that leads out is no link
        made.graph.initializer[0].external_data[0].value = away
        (blobs / "0").write_bytes(made.SerializeToString())
        call_fails("outside the model's folder", inspect, snapshot / "x.onnx", follow_links=True)


def _deep(folder: Path, levels: int) -> None:
    """Make folders inside each other, from inside: their path is longer than a path may be."""
    home = os.getcwd()
    os.chdir(folder)
    try:
        for _ in range(levels):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(home)


def _flatten(folder: Path) -> None:
    """Remove what `_deep` made; what removes trees fails with trees so deep."""
    while (folder / "d").exists():
        (folder / "d").rename(folder / "e")
        if (folder / "e" / "d").exists():
            (folder / "e" / "d").rename(folder / "d")
        (folder / "e").rmdir()


def test_a_folder_that_is_deep(source: Path, tmp_path: Path) -> None:
    _deep(source, 1200)
    command = ["convert", str(source), str(tmp_path / "out"), "--to", "float8_e4m3fn", "--progress", "none"]
    why = f"lowprec: {source}: has more than 100 folders inside each other\n"
    try:
        assert call(*command) == call("inspect", str(source)) == (1, "", why)
    finally:
        _flatten(source)
    _deep(source, 99)
    run(*command)
    assert leftovers(tmp_path) == []


def test_a_target_that_is_deep(source: Path, tmp_path: Path) -> None:
    """It could not be removed afterwards."""
    (tmp_path / "out").mkdir()
    save(tmp_path / "out" / "x.safetensors", {"x": np.zeros(3, np.float32)})
    _deep(tmp_path / "out", 1200)
    try:
        with pytest.raises(FileError, match="out: has more than 100 folders inside each other"):
            convert(source, tmp_path / "out", to="int8", raw=True, overwrite=True)
        assert (tmp_path / "out" / "d" / "d").is_dir()
        assert leftovers(tmp_path) == []
    finally:
        _flatten(tmp_path / "out")
