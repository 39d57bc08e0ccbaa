"""Two conversions to one target, interleaved in one process: neither loses anything."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import at_call, call_fails, everything, leftovers, raising, stored_bytes, values
from support.command_line import call
from support.containers import SOURCES, contents

from lowprec.checkpoints import convert
from lowprec.checkpoints.files import atomic_output
from lowprec.checkpoints.files.atomic_output import Staging
from lowprec.checkpoints.files.errors import FileError


def states(kind: str, source: Path, folder: Path, *formats: str) -> list[Any]:
    """Return what each conversion alone makes."""
    found = []
    for to in formats:
        (folder / to).mkdir(parents=True)
        target = folder / to / SOURCES[kind][1]
        convert(source, target, to=to, raw=True)
        found.append(contents(kind, target))
    return found


def places(kind: str, folder: Path) -> tuple[Path, Path]:
    """Make a source in one folder; return it, and a target in another one."""
    (folder / "x").mkdir()
    (folder / "y").mkdir()
    return SOURCES[kind][0](folder / "x"), folder / "y" / SOURCES[kind][1]


@pytest.mark.parametrize("kind", SOURCES)
def test_a_target_that_appears_meanwhile_is_not_replaced(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = places(kind, Path())
    first, _ = states(kind, source, Path("alone"), "int8", "float16")
    at_call(monkeypatch, Staging, "seal", lambda: convert(source, target, to="int8", raw=True))
    call_fails("was written by another process meanwhile", convert, source, target, to="float16")
    assert contents(kind, target) == first
    assert leftovers(Path("y")) == []
    wanted = everything(Path("alone/int8"))
    assert everything(Path("y")) == wanted


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("old", [False, True], ids=["nothing there", "an old one"])
def test_two_that_overwrite(kind: str, old: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = places(kind, Path())
    _, last = states(kind, source, Path("alone"), "int8", "float16")
    if old:
        convert(source, target, to="bfloat16")
    at_call(monkeypatch, Staging, "seal", lambda: convert(source, target, to="int8", raw=True, overwrite=True))
    convert(source, target, to="float16", overwrite=True)
    assert contents(kind, target) == last
    assert len(everything(Path("y"))) == len(everything(Path("alone/float16")))
    assert leftovers(Path("y")) == []


STEPS = {"renameat2": (atomic_output, "_renameat2"), "replace": (os, "replace"), "rename": (os, "rename")}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("overwrite", [False, True])
def test_one_between_the_renames_of_another(
    kind: str, step: str, number: int, overwrite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target is one of the two, whole, and nothing that belongs to none of them is left."""
    source, target = places(kind, Path())
    both = states(kind, source, Path("alone"), "int8", "float16")
    said = []

    def other() -> None:
        try:
            convert(source, target, to="int8", raw=True, overwrite=overwrite)
        except FileError as error:
            said.append(str(error))

    at_call(monkeypatch, *STEPS[step], other, number)
    try:
        convert(source, target, to="float16", overwrite=overwrite)
    except FileError as error:
        said.append(str(error))
    assert contents(kind, target) in both
    assert len(everything(Path("y"))) == len(everything(Path("alone/int8")))
    assert leftovers(Path("y")) == []
    assert all("another process" in one or "exists; say --overwrite" in one for one in said)
    assert len(said) <= (0 if overwrite else 1)


def test_the_names_of_data_are_those_of_one_run() -> None:
    source, target = SOURCES["onnx"][0](Path()), Path("y.onnx")
    names = set()
    for _ in range(5):
        convert(source, target, to="int8", raw=True, overwrite=True)
        (data,) = [name for name in os.listdir() if name.endswith(".data")]
        names.add(data)
    assert len(names) == 5


def test_cast_does_not_replace_what_appears_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    np.save("x.npy", values((9,)))
    path = Path("y.npy")
    at_call(monkeypatch, Staging, "seal", lambda: path.write_bytes(b"mine"))
    assert call("cast", "x.npy", str(path), "--to", "int8")[0] == 1
    assert path.read_bytes() == b"mine"
    assert leftovers(Path()) == []


def test_a_folder_of_another_kind_that_appears_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    build, name = SOURCES["folder"]
    source, target = build(Path()), Path(name)
    convert(source, target, to="int8", raw=True)

    def appear() -> None:
        target.rename(Path("moved"))
        target.mkdir()
        (target / "thesis.txt").write_text("years")

    for can_exchange in (True, False):
        with monkeypatch.context() as patch:
            if not can_exchange:
                patch.setattr("lowprec.checkpoints.containers.folder._exchange", lambda one, other: False)
            at_call(patch, Staging, "seal", appear)
            with pytest.raises(FileError, match="must be a folder with a checkpoint to be replaced by one"):
                convert(source, target, to="float16", overwrite=True)
        assert everything(target) == {"thesis.txt": b"years"}
        assert leftovers(Path()) == []
        (target / "thesis.txt").unlink()  # an empty folder may be replaced
        convert(source, target, to="int8", raw=True, overwrite=True)
        assert stored_bytes(target / "other.safetensors", "a") == values((2,)).tobytes()
        os.rename(Path("moved"), Path(f"moved {can_exchange}"))


def test_a_folder_in_a_model_s_place(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = SOURCES["onnx"][0](Path()), Path("y.onnx")
    target.write_bytes(b"old")

    def appear() -> None:
        target.unlink()
        target.mkdir()
        (target / "thesis.txt").write_text("years")

    at_call(monkeypatch, Staging, "seal", appear)
    call_fails("cannot be written; Is a directory", convert, source, target, to="float16", overwrite=True)
    assert everything(target) == {"thesis.txt": b"years"}
    assert sorted(os.listdir()) == ["in", "y.onnx"]


@pytest.fixture(params=["renameat2", "link", "neither"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param != "renameat2":
        monkeypatch.setattr(atomic_output, "_renameat2", lambda one, other, flag: False)
    if request.param == "neither":
        monkeypatch.setattr(os, "link", raising(OSError(errno.EPERM, "Operation not permitted")))
    return str(request.param)


def test_a_new_file(system: str) -> None:
    Path("a").write_text("a")
    Path("b").write_text("b")
    with pytest.raises(FileExistsError):
        atomic_output.rename_new(Path("a"), Path("b"))
    assert everything(Path()) == {"a": b"a", "b": b"b"}
    before = atomic_output.file_identity(Path("a"))
    atomic_output.rename_new(Path("a"), Path("c"))
    assert everything(Path()) == {"b": b"b", "c": b"a"}
    assert atomic_output.file_identity(Path("c")) == before
    Path("d").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        atomic_output.rename_new(Path("c"), Path("d"))


def test_a_new_folder(system: str) -> None:
    for name in "ab":
        Path(name).mkdir()
        Path(name, name).write_text(name)
    Path("empty").mkdir()
    for taken in ("b", "empty"):
        with pytest.raises(FileExistsError):
            atomic_output.rename_new(Path("a"), Path(taken))
    atomic_output.rename_new(Path("a"), Path("c"))
    assert everything(Path()) == {"b/b": b"b", "c/a": b"a"}


def test_taking_a_place(system: str) -> None:
    Path("in").mkdir()
    new, target = Path("in/new"), Path("target")
    new.write_text("1")
    assert atomic_output.replace_existing(new, target) is None
    new.write_text("2")
    old = atomic_output.replace_existing(new, target)
    assert old is not None
    assert (old.parent, old.read_text(), target.read_text()) == (Path("in"), "1", "2")
    old.unlink()
    new.write_text("3")
    target.unlink()
    target.mkdir()
    with pytest.raises(OSError, match=r"directory|not permitted"):
        atomic_output.replace_existing(new, target)
    assert target.is_dir()
    assert new.read_text() == "3"
