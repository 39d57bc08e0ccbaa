"""Conversions that fail or are killed at any step leave the old target or the whole new one, which is on the disk."""

from __future__ import annotations

import ast
import errno
import io
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import at_call, call_fails, convert_fails, everything, leftovers, raising, save, values
from support.command_line import LIMITED, call
from support.containers import SOURCES, X, checkpoint

from lowprec.checkpoints import convert
from lowprec.checkpoints.containers.npz_archive import _Records
from lowprec.checkpoints.execution.worker import Worker
from lowprec.checkpoints.files import atomic_output
from lowprec.checkpoints.files.errors import FileError
from lowprec.checkpoints.files.resume import LockedFolder
from lowprec.checkpoints.operations.operation import Workspace

HOMES = {"Worker": Worker, "Workspace": Workspace, "os": os, "shutil": shutil, "tempfile": tempfile}


def _fails(name: str, error: BaseException, number: int, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    home, _, function = name.rpartition(".")
    return at_call(monkeypatch, HOMES[home], function, raising(error), number)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize(
    "step", ["Worker._write 1", "Workspace.read 1", "os.fsync 1", "os.fsync 2", "os.replace 1", "os.replace 2",
             "os.rename 1", "tempfile.mkdtemp 1", "shutil.copyfile 1", "os.mkdir 1", "os.mkdir 2"],
)  # fmt: skip
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=str)
def test_a_step_that_fails(kind: str, step: str, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    build, name = SOURCES[kind]
    source, target = build(Path()), Path(name)
    convert(source, target, to="float64")
    before = everything(Path())
    function, _, number = step.partition(" ")
    calls = _fails(function, error, int(number), monkeypatch)
    said = None
    try:
        convert(source, target, to="float16", overwrite=True, threads=2)
    except (FileError, OSError, KeyboardInterrupt) as raised:
        said = repr(raised)
    monkeypatch.undo()
    failed = len(calls) >= int(number)
    assert (said is not None) == failed
    assert said is None or ("No space left on device" if isinstance(error, OSError) else "KeyboardInterrupt") in said
    assert leftovers(Path()) == []
    if failed:
        assert everything(Path()) == before
    else:
        assert everything(Path()) != before


@pytest.mark.parametrize("kind", SOURCES)
def test_ctrl_c_where_leftovers_are_removed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build, name = SOURCES[kind]
    calls = _fails("shutil.rmtree", KeyboardInterrupt(), 1, monkeypatch)
    _fails("Worker._write", OSError(errno.ENOSPC, "No space left on device"), 1, monkeypatch)
    with pytest.raises((FileError, KeyboardInterrupt)):
        convert(build(Path()), Path(name), to="float8_e4m3fn")
    assert calls
    assert leftovers(Path()) == []


def test_a_disk_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    source = save(Path("x.safetensors"), X)
    monkeypatch.setattr("shutil.disk_usage", lambda path: os.terminal_size((0, 0)) and type("U", (), {"free": 99}))
    convert_fails(r"y\.safetensors: needs \d+ bytes, and the disk has 99 left", source, "y.safetensors", to="float64")


def test_a_file_that_may_not_grow() -> None:
    source = save(Path("x.safetensors"), X)
    before = everything(Path())
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "2048", "convert", str(source), "y.safetensors", "--to", "float64"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"lowprec: {Path.cwd() / 'y.safetensors'}: cannot be written; File too large\n"
    assert everything(Path()) == before


def test_what_may_not_be_written_over() -> None:
    source = save(Path("x.safetensors"), X)
    Path("soft.safetensors").symlink_to("x.safetensors")
    Path("hard.safetensors").hardlink_to(source)
    os.mkfifo(Path("pipe.safetensors"))
    Path("dir.safetensors").mkdir()
    Path("null.safetensors").symlink_to("/dev/null")
    for name, why in {
        "x.safetensors": "must not be the input itself", "soft.safetensors": "must not be the input itself",
        "hard.safetensors": "must not be the input itself", "pipe.safetensors": "must be a regular file",
        "dir.safetensors": "must be a regular file", "null.safetensors": "must be a regular file",
        "y.npz": r"must be a \.safetensors file", "no/y.safetensors": "in an existing folder",
    }.items():  # fmt: skip
        convert_fails(why, source, Path(name), to="float64", overwrite=True)


def test_a_link_to_the_target_stays_one() -> None:
    source = save(Path("x.safetensors"), X)
    Path("far").mkdir()
    Path("y.safetensors").symlink_to("far/real.safetensors")
    convert(source, "y.safetensors", to="float64")
    assert Path("y.safetensors").is_symlink()
    Path("far/real.safetensors").chmod(0o640)
    convert(source, "y.safetensors", to="float4_e2m1fn", overwrite=True)
    assert Path("far/real.safetensors").stat().st_mode & 0o777 == 0o640
    assert Path("y.safetensors").is_symlink()


@pytest.mark.parametrize("resume", [False, True])
def test_verify_finds_a_changed_byte(resume: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    source = checkpoint(Path("in"))
    original = Worker._write

    def flip(self: Worker, spot: Any, at: int, content: Any) -> None:
        original(self, spot, at, content ^ 1)

    monkeypatch.setattr(Worker, "_write", flip)
    why = "what was written is not what a fresh conversion gives"
    convert_fails(why, source, "out", to="float64", verify=True, resume=resume)


def test_a_source_that_shrinks_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    source = save(Path("x.safetensors"), X)
    monkeypatch.setattr("lowprec.checkpoints.conversion.check_space", lambda *_: os.truncate(source, 200))
    call_fails(r"x\.safetensors: cannot be read; it ended early", convert, source, "y.safetensors", to="float64")


class Narrow(io.BytesIO):
    """A file of which each write takes three bytes at most."""

    def write(self, content: Any, /) -> int:
        return super().write(memoryview(content)[:3])


def test_a_write_that_takes_a_part() -> None:
    stream = Narrow()
    assert _Records(stream).write(b"0123456789") == 10
    assert stream.getvalue() == b"0123456789"


def test_a_header_for_which_there_is_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez("x.npz", w=values((8, 8)))
    np.save("x.npy", values((8, 8)))
    monkeypatch.setattr(ast, "literal_eval", raising(MemoryError()))
    for suffix in (".npz", ".npy"):
        arguments = (f"x{suffix}", f"y{suffix}", "--to", "float16")
        assert call("convert", *arguments) == (1, "", "lowprec: not enough memory\n")
    assert sorted(os.listdir()) == ["x.npy", "x.npz"]


def test_a_lock_s_folder_that_cannot_be_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    locked = LockedFolder(Path("out.tmp-resume"))
    monkeypatch.setattr(os, "rename", raising(OSError(errno.EXDEV, "Invalid cross-device link")))
    locked.remove()
    monkeypatch.undo()
    assert os.listdir() == ["out.tmp-resume"]
    LockedFolder(Path("out.tmp-resume")).remove()
    assert leftovers(Path()) == []


def test_a_lock_for_which_the_disk_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "open", raising(OSError(errno.ENOSPC, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        LockedFolder(Path("out.tmp-resume"))
    assert os.listdir() == []


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    ("home", "name", "error"),
    [(threading.Thread, "start", RuntimeError("can't start new thread")), (mmap, "mmap", OSError(errno.ENOMEM, "no"))],
)
def test_threads_for_which_there_is_no_memory(
    home: Any, name: str, error: Exception, resume: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = checkpoint(Path("in")), Path("out")
    with monkeypatch.context() as patch:
        patch.setattr(home, name, raising(error))
        command = ["convert", str(source), str(target), "--to", "float16", *["--resume"] * resume]
        assert call(*command, "--threads", "1") == (1, "", "lowprec: not enough memory\n")
    assert os.listdir() == ["in"]
    assert call(*command)[0] == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc which file a descriptor is")
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("kind", SOURCES)
def test_everything_is_on_the_disk_before_it_has_its_name(
    kind: str, overwrite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, name = SOURCES[kind]
    home = Path.cwd() / "y"
    home.mkdir()
    source, target = build(Path()), home / name
    if overwrite:
        convert(source, target, to="int8", raw=True)
    steps: list[tuple[str, str]] = []

    def recorded(module: Any, function: str, word: str, which: int) -> None:
        original = getattr(module, function)

        def call(*arguments: Any) -> Any:
            what = os.readlink(f"/proc/self/fd/{arguments[0]}") if word == "sync" else str(arguments[which])
            steps.append((word, what))
            return original(*arguments)

        monkeypatch.setattr(module, function, call)

    recorded(os, "fsync", "sync", 0)
    recorded(os, "replace", "name", 0)
    recorded(atomic_output, "_renameat2", "name", 0)
    convert(source, target, to="int4", raw=True, overwrite=overwrite)
    monkeypatch.undo()
    first = next(index for index, (word, _) in enumerate(steps) if word == "name")
    last = max(index for index, (word, _) in enumerate(steps) if word == "name")
    before, after = steps[:first], steps[last + 1 :]
    staging = {what.split("/new")[0] for _, what in before if ".tmp-" in what}
    assert len(staging) == 1
    new = Path(staging.pop(), "new")
    assert new.parent.parent == home
    synced = {what for _, what in before}
    assert str(new) in synced
    if kind == "folder":
        wanted = {str(new / path) for path in everything(target)} | {str(new / "sub")}
    else:
        wanted = {str(new / path) for path in os.listdir(home)}
    assert wanted <= synced
    assert ("sync", str(home)) in after
    assert {what for word, what in steps if word == "name"} <= wanted | {str(new)}
