"""Faults of the system that once gave a wrong file, or left something: found by tests/proof/check_faults.py."""

from __future__ import annotations

import ast
import errno
import io
import mmap
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import leftovers, values
from support.sharded_checkpoint import checkpoint

from lowprec.checkpoints import read_array
from lowprec.checkpoints.containers.npz_archive import _Records
from lowprec.checkpoints.files.resume import LockedFolder
from lowprec.cli import main


class Narrow(io.BytesIO):
    """A file of which each write takes three bytes at most."""

    def write(self, content: Any, /) -> int:
        return super().write(memoryview(content)[:3])


def test_a_write_that_takes_a_part() -> None:
    stream = Narrow()
    assert _Records(stream).write(b"0123456789") == 10
    assert stream.getvalue() == b"0123456789"


def _no_memory(*_: object) -> None:
    raise MemoryError


def test_a_header_for_which_there_is_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "x.npz", w=values((8, 8)))
    np.save(tmp_path / "x.npy", values((8, 8)))
    monkeypatch.setattr(ast, "literal_eval", _no_memory)
    for name in ("x.npz", "x.npy"):
        arguments = [str(tmp_path / name), str(tmp_path / f"y{name[1:]}"), "--to", "float16"]
        assert main(["convert", *arguments]) == 1
        assert capsys.readouterr() == ("", "lowprec: not enough memory\n")
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "x.npz"]


def test_a_header_with_brackets_that_are_too_deep(tmp_path: Path) -> None:
    """Python's parser, too, says MemoryError."""
    text = b"[-" * 199 + b"1" + b"]" * 199
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    with pytest.raises(Exception, match="its header is not that of an array"):
        read_array(tmp_path / "x.npy")


def test_a_lock_s_folder_that_cannot_be_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    locked = LockedFolder(tmp_path / "out.tmp-resume")
    monkeypatch.setattr(os, "rename", refuse)
    locked.remove()
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["out.tmp-resume"]
    LockedFolder(tmp_path / "out.tmp-resume").remove()
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    ("home", "name", "error"),
    [(threading.Thread, "start", RuntimeError("can't start new thread")), (mmap, "mmap", OSError(errno.ENOMEM, "no"))],
)
def test_threads_for_which_there_is_no_memory(
    home: Any, name: str, error: Exception, resume: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    source, target = checkpoint(tmp_path / "in"), tmp_path / "out"

    def refuse(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(home, name, refuse)
        options = ["--threads", "1", *["--resume"] * resume]
        assert main(["convert", str(source), str(target), "--to", "float16", *options]) == 1
    assert capsys.readouterr() == ("", "lowprec: not enough memory\n")
    assert os.listdir(tmp_path) == ["in"]
    assert main(["convert", str(source), str(target), "--to", "float16", *["--resume"] * resume]) == 0
