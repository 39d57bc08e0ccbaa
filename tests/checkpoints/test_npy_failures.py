"""Writes of .npy files that fail or are killed at any step leave the old file or the whole new one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.npy_files import INT4, UINT8, codes_of
from support.paths import with_support

import lowprec as lp
from lowprec.checkpoints.npy import FileError, read, sidecar, write

OLD = {
    "nothing": lambda path: None,
    "our int4": lambda path: write(path, codes_of(INT4, (7,)), INT4),
    "a plain uint8": lambda path: write(path, codes_of(UINT8, (7,)), UINT8),
    "uint4 named by hand": lambda path: (
        np.save(path, codes_of(INT4, (7,))), sidecar(path).write_text('{"format": "uint4"}')
    ),
}  # fmt: skip
NEW = {"float8_e4m3fn": codes_of(lp.formats["float8_e4m3fn"], (9,)), "uint8": codes_of(UINT8, (9,))}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def stood(path: Path) -> tuple[list[int], str] | None:
    """Return what is read, None where nothing is there; a refusal raises FileError."""
    if not path.exists():
        return None
    array, fmt = read(path)
    return array.tolist(), fmt.name


@pytest.mark.parametrize("old", OLD)
@pytest.mark.parametrize("new", NEW)
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "Ctrl-C"])
@pytest.mark.parametrize("step", ["fsync 1", "fsync 2", "replace 1", "replace 2", "mkdtemp 1", "copy2 1"])
def test_a_failed_write_leaves_what_was_there(
    old: str, new: str, error: BaseException, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.npy"
    OLD[old](path)
    before = contents(tmp_path)
    function, _, number = step.partition(" ")
    home = {"mkdtemp": "tempfile", "copy2": "shutil"}.get(function, "os")
    original, calls = getattr(sys.modules[home], function), []

    def fails(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == int(number):
            raise error
        return original(*arguments, **options)

    monkeypatch.setattr(f"{home}.{function}", fails)
    said = None
    try:
        write(path, NEW[new], lp.formats[new])
    except (FileError, KeyboardInterrupt) as raised:
        said = str(raised)
    failed = len(calls) >= int(number)  # a plain file without a sidecar takes fewer steps
    text = f"{path}: cannot be written; No space left on device" if isinstance(error, OSError) else ""
    assert said == (text if failed else None)
    if failed:
        assert contents(tmp_path) == before
    else:
        assert stood(path) == (NEW[new].tolist(), new)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".lowprec-")]


@pytest.mark.parametrize("after", ["replace", "unlink"])
def test_ctrl_c_after_the_data_is_in_place(after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, new = tmp_path / "x.npy", "float8_e4m3fn" if after == "replace" else "uint8"
    write(path, codes_of(INT4), INT4)
    original = getattr(os, after)

    def interrupted(*arguments: Any, **options: Any) -> None:
        original(*arguments, **options)
        if path in map(Path, arguments[-1:]) or (after == "unlink" and not sidecar(path).exists()):
            monkeypatch.undo()
            raise KeyboardInterrupt

    monkeypatch.setattr(os, after, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(path, NEW[new], lp.formats[new])
    assert stood(path) == (NEW[new].tolist(), new)


KILLED = """
import os, signal, sys
from pathlib import Path
import test_npy_failures as t
import lowprec as lp
for old in t.OLD:
    for new in t.NEW:
        for step in range(6):
            folder = Path(sys.argv[1], f"{old}-{new}-{step}")
            folder.mkdir()
            path = folder / "x.npy"
            t.OLD[old](path)
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
                t.write(path, t.NEW[new], lp.formats[new])
                os._exit(0)
            print(os.waitpid(child, 0)[1])
"""


def test_a_kill_never_leaves_data_that_reads_as_another_format(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path)],
        env=with_support(Path(__file__).parent), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    statuses = list(map(int, run.stdout.split()))
    assert len(statuses) == 48
    assert statuses.count(signal.SIGKILL) >= 30
    outcomes = set()
    for old in OLD:
        reference = tmp_path / "before" / f"{old}.npy"
        OLD[old](reference)
        for new in NEW:
            for step in range(6):
                path = tmp_path / f"{old}-{new}-{step}" / "x.npy"
                try:
                    found = stood(path)
                except FileError as refused:
                    outcomes.add(str(refused).partition(": ")[2].partition(" than")[0])
                    continue
                assert found in (stood(reference), (NEW[new].tolist(), new)), (old, new, step)
                outcomes.add("old" if found == stood(reference) else "new")
                if step < 2:
                    assert found == stood(reference)
    assert outcomes == {"old", "new", "was written for other data"}  # else the steps are not where this test thinks
