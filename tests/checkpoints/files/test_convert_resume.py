"""A conversion that failed or was killed is resumed: its finished files are kept, the result is the same."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.checkpoint_files import call_fails, convert_fails, everything, leftovers
from support.command_line import call
from support.containers import SOURCES, contents
from support.forked_programs import Program
from support.resumed_conversions import LAST, SHARDS, fail, fails_in_last, records, start_blocked, three_shards, untimed

from lowprec.checkpoints import convert
from lowprec.checkpoints.containers.container import TensorReader
from lowprec.checkpoints.containers.folder import Folder
from lowprec.checkpoints.execution.worker import Task, TaskResult, Worker
from lowprec.checkpoints.files import resume
from lowprec.checkpoints.files.errors import FileError
from lowprec.checkpoints.files.resume import LockedFolder, ResumableStaging, staging_name

JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "cast": ("", {"to": "float16"}),
    "scales of tensors": ("", {"to": "float8_e4m3fn", "scale": "tensor", "exclude": "*norm*"}),
    "recipe": ("", {"recipe": "fp8-block"}),
    "shared scales": ("", {"recipe": "nvfp4a16"}),
    "dequantize": ("fp8-dynamic", {"to": "bfloat16"}),
    "fnuz": ("fp8-dynamic", {"recipe": "fnuz"}),
    "relabel": ("nvfp4a16", {"layout": "modelopt"}),
}
"""A recipe that makes the source, and what is done with it."""

RESUMED = "the conversion is resumed: 2 of 3 files were finished"


@pytest.fixture
def source() -> Path:
    return three_shards(Path("in"))


def watched(monkeypatch: pytest.MonkeyPatch) -> tuple[set[str], set[str]]:
    """Return sets that fill with the names of the files that tensors are read from, at all and to be converted."""
    read, converted = set(), set()
    read_into, convert_task = TensorReader.read_into, Worker.convert

    def note_read(self: TensorReader, buffer: Any, location: Any, at: int) -> None:
        read.add(location.path.name)
        read_into(self, buffer, location, at)

    def note_task(self: Worker, task: Task) -> TaskResult:
        converted.add(task.operation.tensor.location.path.name)
        return convert_task(self, task)

    monkeypatch.setattr(TensorReader, "read_into", note_read)
    monkeypatch.setattr(Worker, "convert", note_task)
    return read, converted


@pytest.mark.one_in(7)
@pytest.mark.parametrize("job", JOBS)
def test_a_killed_conversion_is_resumed(job: str, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (made_by, options), target = JOBS[job], Path("out")
    if made_by:
        convert(source, "quantized", recipe=made_by)
        source = Path("quantized")
    whole = convert(source, "whole", **options)
    start_blocked(source, target, 2, **options).kill()
    assert not target.exists()
    assert leftovers(Path()) == [staging_name(target)]
    read, converted = watched(monkeypatch)
    report = convert(source, target, resume=True, **options)
    assert converted == {LAST}
    assert read == {"shared scales": {SHARDS[0], LAST}, "relabel": set(SHARDS)}.get(job, {LAST})  # where scales are
    assert everything(target) == everything(Path("whole"))
    assert report.remarks == [*whole.remarks, RESUMED]
    assert untimed(report) == untimed(whole)
    assert leftovers(Path()) == []


def test_a_resumed_conversion_is_verified_as_a_whole(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = Path("out")
    fail(source, target, recipe="nvfp4a16")
    read, converted = watched(monkeypatch)
    convert(source, target, recipe="nvfp4a16", resume=True, verify=True)
    assert converted == {LAST}
    assert read == set(SHARDS)


@pytest.mark.parametrize("kind", SOURCES)
def test_every_container_can_be_resumed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build, name = SOURCES[kind]
    Path("whole").mkdir()
    source, target = build(Path()), Path(name)
    convert(source, Path("whole", name), to="float16")
    monkeypatch.setattr(ResumableStaging, "publish", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        convert(source, target, to="float16", resume=True)
    monkeypatch.undo()
    assert leftovers(Path()) == ([] if kind in ("npy", "npz") else [staging_name(target)])  # archives end last
    convert(source, target, to="float16", resume=True)
    assert contents(kind, target) == contents(kind, Path("whole", name))
    assert leftovers(Path()) == []


@pytest.mark.parametrize(
    "error", [FileError("no room"), KeyboardInterrupt(), OSError(errno.ENOSPC, "no room")], ids=repr
)
def test_what_fails_leaves_finished_files_alone(
    error: BaseException, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Path("out")
    convert(source, target, to="float64")
    before = everything(target)
    fails_in_last(monkeypatch, error)
    with pytest.raises(type(error)):
        convert(source, target, to="float16", resume=True, overwrite=True, threads=1)
    monkeypatch.undo()
    assert everything(target) == before
    kept = [path for path in Path(staging_name(target)).rglob("*.safetensors") if path.is_file()]
    assert sorted(path.name for path in kept) == SHARDS[:2]
    assert RESUMED in convert(source, target, to="float16", resume=True, overwrite=True).remarks
    convert(source, "whole", to="float16")
    assert everything(target) == everything(Path("whole"))


def test_a_full_disk_has_room_for_records_when_the_rest_is_removed(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, write = Path("out"), resume.write_json

    def refuse(path: Path, value: Any) -> None:
        if path.name == "1.json" and any(target.with_name(staging_name(target)).rglob(LAST)):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, value)

    monkeypatch.setattr(resume, "write_json", refuse)
    fails_in_last(monkeypatch, FileError("no room"))
    call_fails(r"no room|No space left on device", convert, source, target, to="float16", resume=True, threads=1)
    monkeypatch.undo()
    assert [path.name for path in records(target)] == ["0.json", "1.json"]
    assert convert(source, target, to="float16", resume=True).remarks == [RESUMED]


@pytest.mark.parametrize("resume", [False, True])
def test_nothing_stays(resume: bool, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is finished, or it is not to be resumed."""
    if resume:
        monkeypatch.setattr(Worker, "_write", lambda *_: (_ for _ in ()).throw(FileError("no room")))
    else:
        fails_in_last(monkeypatch, FileError("no room"))
    call_fails("no room", convert, source, "out", to="float16", resume=resume)
    assert os.listdir() == ["in"]


def test_files_are_finished_one_after_another(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the container has their tensors in another order."""
    begun: list[str] = []
    finished: list[int] = []
    convert_task, open_folder = Worker.convert, Folder.__init__

    def note(self: Worker, task: Task) -> TaskResult:
        begun.append(task.positions[0].path.name)
        return convert_task(self, task)

    def interleave(self: Folder, *arguments: Any, **options: Any) -> None:
        open_folder(self, *arguments, **options)
        self.tensors = self.tensors[::2] + self.tensors[1::2]

    monkeypatch.setattr(Worker, "convert", note)
    monkeypatch.setattr(Folder, "__init__", interleave)
    monkeypatch.setattr(ResumableStaging, "finish", lambda self, number, state: finished.append(number))
    convert(source, "out", to="float16", resume=True, threads=1)
    assert begun == sorted(begun)
    assert finished == [0, 1, 2]


@pytest.mark.parametrize("room", ["for the rest", "for less"])
def test_the_disk_needs_room_for_what_is_not_finished(room: str, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = Path("out")
    whole = everything(Path("whole")) if convert(source, "whole", to="float16") else {}
    needed = sum(len(content) for name, content in whole.items() if name not in SHARDS[:2])
    free = [sum(map(len, whole.values())), 0]
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free[0]))
    fail(source, target, to="float16")
    free[0] = needed - (room == "for less")
    if room == "for less":
        with pytest.raises(FileError, match=rf"out: needs {needed} bytes, and the disk has {needed - 1} left"):
            convert(source, target, to="float16", resume=True)
        free[0] = needed
    assert convert(source, target, to="float16", resume=True).remarks == [RESUMED]
    call_fails("and the disk has", convert, source, "other", to="float16", resume=True)
    assert leftovers(Path()) == []


@pytest.mark.parametrize(
    ("change", "why"),
    [("option", "`to` was 'float16', and is 'bfloat16'"), ("version", "lowprec {version} began it, this is 99.0"),
     ("time", "safetensors' is not what it was"), ("size", "config.json' is not what it was"),
     ("manifest", "its manifest cannot be read"), ("list", "its manifest cannot be read"),
     ("fields", "its manifest cannot be read"), ("folder", "its files are gone")],
)  # fmt: skip
def test_a_conversion_that_differs_starts_over(
    change: str, why: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Path("out")
    fail(source, target, to="float16")
    folder = Path(staging_name(target))
    manifest = json.loads((folder / "manifest.json").read_text())
    to = "bfloat16" if change == "option" else "float16"
    if change == "version":
        monkeypatch.setattr("lowprec.checkpoints.convert_arguments.version", lambda _: "99.0")
    elif change == "time":
        os.utime(source / SHARDS[1], ns=(1, 1))
    elif change == "size":
        (source / "config.json").write_text('{"model_type": "other"}')
    elif change == "folder":
        manifest["folder"] = "../in"
        (folder / "manifest.json").write_text(json.dumps(manifest))
    elif change in ("manifest", "list", "fields"):
        text = {"manifest": "{", "list": "[]", "fields": '{"version": "1", "options": []}'}[change]
        (folder / "manifest.json").write_text(text)
    _, converted = watched(monkeypatch)
    report = convert(source, target, to=to, resume=True)
    assert len(report.remarks) == 1
    assert report.remarks[0].startswith("the conversion starts over: ")
    assert report.remarks[0].endswith(why.format(version=manifest["version"]))
    assert converted == set(SHARDS)
    convert(source, "whole", to=to)
    assert everything(target) == everything(Path("whole"))
    assert leftovers(Path()) == []


def test_options_that_change_no_byte_do_not_matter(source: Path) -> None:
    target = Path("out")
    fail(source, target, to="float16", exclude=("*norm*",))
    options = {"threads": 1, "max_memory": "1G", "verify": True, "exclude": "*norm*"}
    assert convert(source, target, to=10, resume=True, **options).remarks == [RESUMED]


@pytest.mark.parametrize("change", ["byte", "size", "gone", "link", "record", "state"])
def test_a_finished_file_that_was_changed_is_converted_again(
    change: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Path("out")
    fail(source, target, to="float16")
    (file,) = Path(staging_name(target)).rglob(SHARDS[0])
    content = bytearray(file.read_bytes())
    if change == "byte":
        content[-1] ^= 1
        file.write_bytes(content)
    elif change == "size":
        file.write_bytes(content + b"\0")
    elif change in ("gone", "link"):
        file.rename(Path("elsewhere"))
        if change == "link":
            file.symlink_to(Path("elsewhere"))
    elif change == "record":
        records(target)[0].write_text('{"size": 1}')
    else:
        record = json.loads(records(target)[0].read_text())
        record["state"]["0"]["stats"]["elements"] = "many"
        records(target)[0].write_text(json.dumps(record))
    _, converted = watched(monkeypatch)
    whole = convert(source, "whole", to="float16")
    converted.clear()
    report = convert(source, target, to="float16", resume=True)
    assert converted == {SHARDS[0], LAST}
    assert untimed(report) == untimed(whole)
    assert everything(target) == everything(Path("whole"))
    said = [f"{SHARDS[0]} is converted again: it is not what the earlier run wrote"]
    assert report.remarks[:-1] == ([] if change in ("record", "state") else said)


def test_the_command_says_what_stays_and_what_it_resumes(source: Path) -> None:
    target = Path("out")
    arguments = ["convert", str(source), str(target), "--to", "float16", "--resume", "--progress", "plain"]
    with pytest.MonkeyPatch.context() as patch:
        fails_in_last(patch, FileError("no room"))
        status, _, err = call(*arguments, "--threads", "1")
    stays = f"finished files stay in {Path(staging_name(target)).resolve()}, to be resumed: 2"
    assert (status, err.splitlines()) == (1, [stays, "lowprec: no room"])
    status, out, err = call(*arguments)
    assert (status, err.splitlines()) == (0, ["finished files are compared with their digests: 2", RESUMED])
    assert f"note: {RESUMED}" in out.splitlines()


def test_two_that_resume_are_refused(source: Path) -> None:
    target = Path("out")
    child = start_blocked(source, target, 2, to="float16")
    try:
        why = r"out\.tmp-resume: another process that can be resumed writes to it"
        convert_fails(why, source, target, to="float16", resume=True)
        convert_fails(why, source, target, to="bfloat16", resume=True)
        convert(source, "other", to="float16", resume=True)
    finally:
        child.kill()
    assert convert(source, target, to="float16", resume=True).remarks == [RESUMED]


def test_a_folder_that_is_removed_while_another_process_opens_it(monkeypatch: pytest.MonkeyPatch) -> None:
    first, opened = LockedFolder(Path("f")), os.open

    def open_late(path: Any, *arguments: Any) -> int:
        handle = opened(path, *arguments)
        monkeypatch.undo()
        first.remove()  # between opening and locking
        return handle

    monkeypatch.setattr("os.open", open_late)
    second = LockedFolder(Path("f"))
    assert os.listdir("f") == ["lock"]
    call_fails("another process", LockedFolder, Path("f"))
    second.remove()
    assert os.listdir() == []


def test_what_has_the_name_of_the_folder_is_not_touched(source: Path) -> None:
    place = Path(staging_name(Path("out")))
    Path("mine").mkdir()
    Path("mine/thesis").write_text("years")
    for make in (lambda: place.write_text("mine"), lambda: place.symlink_to("mine"),
                 lambda: Path("mine").rename(place)):  # fmt: skip
        make()
        why = r"out\.tmp-resume: must be a folder of a conversion that can be resumed"
        convert_fails(why, source, "out", to="float16", resume=True)
        if not place.is_dir() or place.is_symlink():
            place.unlink()
    assert (place / "thesis").read_text() == "years"


def test_names_that_are_long_differ() -> None:
    assert staging_name(Path("in", "x" * 200)) == "x" * 200 + ".tmp-resume"
    names = {staging_name(Path("x" * 240 + end)) for end in "ab"} | {staging_name(Path("x" * 200))}
    assert len(names) == 3
    assert all(len(name) < 230 and name.endswith(".tmp-resume") for name in names)


KILLED = """
import os, signal, sys
from lowprec.checkpoints.files import atomic_output
from lowprec.cli import main
left = int(sys.argv[1])
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
sys.exit(main(["convert", *sys.argv[2:]]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("overwrite", [False, True], ids=["new", "old"])
def test_sigkill_at_steps_that_change_the_disk(overwrite: bool, source: Path) -> None:
    """Each run is killed somewhat later than the one before, and resumes what that left."""
    target = Path("out")
    convert(source, "whole", to="float16")
    wanted, old = everything(Path("whole")), {}
    if overwrite:
        convert(source, target, to="float64")
        old = everything(target)
    killed, step = 0, 1
    while True:
        arguments = [str(source), str(target), "--to", "float16", *["--overwrite"] * overwrite]
        child = Program(KILLED, str(step), *arguments, "--resume", "--progress", "none")
        status = child.wait()
        assert all(name == staging_name(target) or name.startswith(f"{staging_name(target)}-")
                   for name in leftovers(Path()))  # fmt: skip
        found = everything(target) if target.exists() else {}
        if status == 0 or found == wanted:
            break
        assert (status, child.said()) == (-9, "")
        assert found == old
        killed, step = killed + 1, step + 3
    assert killed > 5
    assert found == wanted
