"""Conversions that can be resumed: one process at a time has the folder, and may be killed at any moment."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from support.checkpoint_files import everything, leftovers
from support.forked_programs import Program
from support.resumed_conversions import start_blocked, three_shards

from lowprec.checkpoints import convert
from lowprec.checkpoints.files.errors import FileError
from lowprec.checkpoints.files.resume import LockedFolder, staging_name

RESUMED = "the conversion is resumed: 2 of 3 files were finished"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return three_shards(tmp_path / "in")


# --- one process at a time ---


def test_two_that_resume_are_refused(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    child = start_blocked(source, target, 2, to="float16")
    try:
        before = everything(tmp_path / staging_name(target))
        with pytest.raises(FileError, match=r"out\.tmp-resume: another process that can be resumed writes to it"):
            convert(source, target, to="float16", resume=True)
        with pytest.raises(FileError, match="another process"):
            convert(source, target, to="bfloat16", resume=True)
        assert everything(tmp_path / staging_name(target)) == before
        convert(source, tmp_path / "other", to="float16", resume=True)
    finally:
        child.kill()
    assert convert(source, target, to="float16", resume=True).remarks == [RESUMED]


def test_a_folder_that_is_removed_while_another_process_opens_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, opened = LockedFolder(tmp_path / "f"), os.open

    def open_late(path: Any, *arguments: Any) -> int:
        handle = opened(path, *arguments)
        monkeypatch.undo()
        first.remove()  # between opening and locking
        return handle

    monkeypatch.setattr("os.open", open_late)
    second = LockedFolder(tmp_path / "f")
    assert os.listdir(tmp_path / "f") == ["lock"]
    with pytest.raises(FileError, match="another process"):
        LockedFolder(tmp_path / "f")
    second.remove()
    assert os.listdir(tmp_path) == []


def test_what_has_the_name_of_the_folder_is_not_touched(source: Path, tmp_path: Path) -> None:
    place = tmp_path / staging_name(tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis").write_text("years")
    for make in (lambda: place.write_text("mine"), lambda: place.symlink_to("mine"),
                 lambda: (tmp_path / "mine").rename(place)):  # fmt: skip
        make()
        with pytest.raises(FileError, match=r"out\.tmp-resume: must be a folder of a conversion that can be resumed"):
            convert(source, tmp_path / "out", to="float16", resume=True)
        if not place.is_dir() or place.is_symlink():
            place.unlink()
    assert (place / "thesis").read_text() == "years"


def test_names_that_are_long_differ() -> None:
    assert staging_name(Path("in", "x" * 200)) == "x" * 200 + ".tmp-resume"
    names = {staging_name(Path("x" * 240 + end)) for end in "ab"} | {staging_name(Path("x" * 200))}
    assert len(names) == 3
    assert all(len(name) < 230 and name.endswith(".tmp-resume") for name in names)


# --- killed at any moment ---


SLOW = """
import json, os, signal, sys, time
from lowprec.checkpoints.execution.worker import Worker
from lowprec.checkpoints.files import atomic_output
from lowprec.cli import main
left, delay = int(sys.argv[1]), float(sys.argv[2])
def counted(home, name):
    original = getattr(home, name)
    def call(*arguments, **options):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **options)
    setattr(home, name, call)
for home, name in [(os, "fsync"), (os, "replace"), (os, "rename"), (os, "mkdir"), (os, "unlink"), (os, "rmdir"),
                   (atomic_output, "_renameat2")]:
    counted(home, name)
original = Worker.convert
def slow(worker, task):
    time.sleep(delay)
    return original(worker, task)
Worker.convert = slow
sys.exit(main(["convert", *sys.argv[3:]]))
"""


def run_slowly(step: int, delay: float, *arguments: str) -> Program:
    """Start a conversion that kills itself at a step that changes the disk, and waits before each task."""
    return Program(SLOW, str(step), str(delay), *arguments, "--resume", "--progress", "none")


@pytest.mark.slow
@pytest.mark.parametrize("overwrite", [False, True], ids=["new", "old"])
def test_sigkill_at_steps_that_change_the_disk(overwrite: bool, source: Path, tmp_path: Path) -> None:
    """Each run is killed somewhat later than the one before, and resumes what that left."""
    target = tmp_path / "out"
    convert(source, tmp_path / "whole", to="float16")
    wanted, old = everything(tmp_path / "whole"), {}
    if overwrite:
        convert(source, target, to="float64")
        old = everything(target)
    killed, step = 0, 1
    while True:
        child = run_slowly(step, 0, str(source), str(target), "--to", "float16", *["--overwrite"] * overwrite)
        status = child.wait()
        assert all(name == staging_name(target) or name.startswith(f"{staging_name(target)}-")
                   for name in leftovers(tmp_path))  # fmt: skip
        found = everything(target) if target.exists() else {}
        if status == 0 or found == wanted:
            break
        assert (status, child.said()) == (-9, "")
        assert found == old
        killed, step = killed + 1, step + 3
    assert killed > 5
    assert found == wanted


JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "cast": ("", {"to": "float16"}),
    "recipe": ("", {"recipe": "nvfp4a16"}),
    "dequantize": ("fp8-dynamic", {"to": "bfloat16"}),
    "fnuz": ("fp8-dynamic", {"recipe": "fnuz"}),
    "relabel": ("nvfp4a16", {"layout": "modelopt"}),
}
"""A recipe that makes the source, and what is done with it."""


@pytest.mark.one_in(5)
@pytest.mark.parametrize("job", JOBS)
def test_sigkill_at_random_times(job: str, source: Path, tmp_path: Path) -> None:
    """Recipes that measure all shards first, changes of codes, and changes of names and scales, as casts."""
    made_by, options = JOBS[job]
    if made_by:
        convert(source, tmp_path / "quantized", recipe=made_by)
        source = tmp_path / "quantized"
    target, rng = tmp_path / "out", random.Random(20261122)
    convert(source, tmp_path / "whole", **options)
    ((name, value),) = options.items()
    for _ in range(3):
        child = run_slowly(0, 0.05, str(source), str(target), f"--{name}", value, "--overwrite", "--threads", "1")
        time.sleep(rng.uniform(0, 0.9))
        child.kill()
        assert not target.exists() or everything(target) == everything(tmp_path / "whole")
    convert(source, target, **options, resume=True, overwrite=True)
    assert everything(target) == everything(tmp_path / "whole")
    assert staging_name(target) not in leftovers(tmp_path)
