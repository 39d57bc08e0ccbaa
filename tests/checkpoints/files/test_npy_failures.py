"""Writing an array that fails or is killed at any step: the old file is there, or all of the new."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import leftovers
from support.npy_files import UINT8, codes_of
from support.paths import with_support

import lowprec as lp
from lowprec.checkpoints import read_array, write_array
from lowprec.checkpoints.files import atomic_output
from lowprec.checkpoints.files.errors import FileError

NEW = {"x.npz": "float8_e4m3fn", "x.npy": "int8"}
STEPS = ["fsync 1", "fsync 2", "fsync 3", "replace 1", "mkdtemp 1", "_renameat2 1", "open 1", "open 2"]
OLD = codes_of(UINT8, (7,))


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "Ctrl-C"])
@pytest.mark.parametrize("step", STEPS)
def test_a_failed_write_leaves_the_old_file(
    overwrite: bool, name: str, error: BaseException, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fmt = tmp_path / name, lp.formats[NEW[name]]
    if overwrite:
        write_array(path, OLD, UINT8)
    before, codes = content(tmp_path), codes_of(fmt, (9,))
    function, _, number = step.partition(" ")
    home: Any = {"mkdtemp": sys.modules["tempfile"], "_renameat2": atomic_output, "open": Path}.get(function, os)
    original, calls = getattr(home, function), []

    def fails(*arguments: Any, **options: Any) -> Any:  # the new file is opened to be made, and to be written
        calls.append(arguments)
        if len(calls) == int(number):
            raise error
        return original(*arguments, **options)

    monkeypatch.setattr(home, function, fails)
    message = None
    try:
        write_array(path, codes, fmt, overwrite=overwrite)
    except (FileError, KeyboardInterrupt) as raised:
        message = str(raised)
    monkeypatch.undo()
    reached = len(calls) >= int(number)
    assert reached != (function == ("_renameat2" if overwrite else "replace"))  # each of the two renames in one way
    assert message == ((f"{path}: cannot be written; {error.strerror}" if isinstance(error, OSError) else "")
                       if reached else None)  # fmt: skip
    if reached and step != "fsync 3":  # of the folder, after the rename
        assert content(tmp_path) == before
    else:
        assert read_array(path)[0].view(np.uint8).tolist() == codes.tolist()
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("name", NEW)
def test_ctrl_c_after_the_rename(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, fmt = tmp_path / name, lp.formats[NEW[name]]
    write_array(path, OLD, UINT8)
    original = os.replace

    def interrupted(*arguments: Any) -> None:
        original(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_array(path, codes_of(fmt, (9,)), fmt)
    assert read_array(path)[1] is fmt
    assert os.listdir(tmp_path) == [name]


KILLED = """
import os, signal, sys
from pathlib import Path
import test_npy_failures as t
import lowprec as lp
for name, new in t.NEW.items():
    for step in range(6):
        folder = Path(sys.argv[1], f"{name}-{step}")
        folder.mkdir()
        t.write_array(folder / name, t.OLD, t.UINT8)
        child = os.fork()
        if child == 0:
            left = step
            def counted(original):
                def call(*a, **k):
                    global left
                    if left == 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    left -= 1
                    return original(*a, **k)
                return call
            os.fsync, os.replace, os.unlink = map(counted, (os.fsync, os.replace, os.unlink))
            t.write_array(folder / name, t.codes_of(lp.formats[new], (9,)), lp.formats[new])
            os._exit(0)
        print(os.waitpid(child, 0)[1])
"""


def test_a_kill_leaves_the_old_file_or_the_new(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path)],
        env=with_support(Path(__file__).parent), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert list(map(int, run.stdout.split())).count(signal.SIGKILL) >= 8
    outcomes = []
    for name, new in NEW.items():
        for step in range(6):
            array, fmt = read_array(tmp_path / f"{name}-{step}" / name)
            expected = OLD if fmt is UINT8 else codes_of(lp.formats[new], (9,))
            assert fmt.name in ("uint8", new)
            assert np.array_equal(array.view(np.uint8), expected)
            outcomes.append((step, fmt is UINT8))
    assert {old for step, old in outcomes if step < 2} == {True}
    assert {old for _, old in outcomes} == {True, False}
