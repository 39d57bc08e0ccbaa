"""`resume`: finished shards that are kept, their manifest and digests, one process at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .atomic_output import OutputFiles, Rename, Staging, check_space, sync
from .errors import FileError, reason
from .thread_start import submit

__all__ = ["Job", "LockedFolder", "ResumableStaging", "staging_name"]

BUFFER = 1 << 20

LOCK = "lock"

MANIFEST, RECORDS = "manifest.json", "finished"

LONGEST = 200


@dataclass(frozen=True, slots=True)
class Job:
    """What decides every byte that is written.

    Attributes
    ----------
    version : str
        The version of the program.
    options : mapping of str to str
        The arguments, as texts.
    sources : iterable of Path
        The files that tensors are read from.
    """

    version: str
    options: Mapping[str, str]
    sources: Iterable[Path]


@dataclass(frozen=True, slots=True)
class Finished:
    """A file that is complete and on the disk.

    Attributes
    ----------
    size, digest : int, str
        Its bytes, and their SHA-256.
    state : dict
        What the caller keeps with it.
    """

    size: int
    digest: str
    state: dict[str, Any]

    def fits(self, path: Path) -> bool:
        """Whether a file has these bytes."""
        try:
            status = os.lstat(path)
            return stat.S_ISREG(status.st_mode) and status.st_size == self.size and digest_of(path) == self.digest
        except OSError:
            return False


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    found, buffer = hashlib.sha256(), bytearray(BUFFER)
    with path.open("rb", buffering=0) as stream:
        while n := stream.readinto(buffer):
            found.update(memoryview(buffer)[:n])
    return found.hexdigest()


def describe_sources(paths: Iterable[Path]) -> dict[str, list[int]]:
    """Return size and time of the last change, in nanoseconds, of files by their paths, links followed."""
    found = {}
    for path in sorted({Path(os.path.realpath(path)) for path in paths}):
        status = path.stat()
        found[str(path)] = [status.st_size, status.st_mtime_ns]
    return found


def describe_files(output: OutputFiles) -> str:
    """Return a digest of the names, the sizes and the headers of files, and of where tensors go."""
    found = hashlib.sha256()
    for file in output.files:
        found.update(f"{file.name!a} {file.size}\n".encode())
        for offset, piece in file.pieces:
            found.update(f"{offset} {hashlib.sha256(piece).hexdigest()}\n".encode())
    for slot in output.slots:
        found.update(f"{slot.file} {slot.offset}\n".encode())
    for _, name in output.copies:
        found.update(f"{name!a}\n".encode())
    return found.hexdigest()


def differences(old: Any, new: Mapping[str, Any]) -> str:
    """Return in what a manifest differs from the one that a conversion would have now; nothing where it does not."""
    if not isinstance(old, dict) or not all(isinstance(old.get(part), type(value)) for part, value in new.items()):
        return "its manifest cannot be read"
    if old["version"] != new["version"]:
        return f"lowprec {old['version'][:40]} began it, this is {new['version']}"
    for name in sorted({*old["options"], *new["options"]}):
        before, now = (str(one["options"].get(name))[:80] for one in (old, new))
        if old["options"].get(name) != new["options"].get(name):
            return f"`{name}` was {before}, and is {now}"
    for path in sorted({*old["sources"], *new["sources"]}):
        if old["sources"].get(path) != new["sources"].get(path):
            return f"{path!a} is not what it was"
    return "" if old == {**old, **new} else "other files are to be written"


def read_json(path: Path) -> Any:
    """Return what a file holds, None where it is missing or no JSON."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def write_json(path: Path, value: Any) -> None:
    """Write a file so that it is there as a whole or not at all, on the disk when this returns."""
    temporary = path.with_name(f"{path.name}.part")
    with temporary.open("w", encoding="ascii") as stream:
        json.dump(value, stream)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)


try:
    import fcntl
except ImportError:  # a system without locks that end with a process
    fcntl = None  # type: ignore[assignment]


class LockedFolder:
    """A folder with a lock, created if it is not there.

    Attributes
    ----------
    path : Path
        The folder.

    Raises
    ------
    FileError
        If another process has the lock, or what has the folder's name was not made here.
    OSError
        If the folder cannot be created.
    """

    def __init__(self, path: Path) -> None:
        if fcntl is None:
            raise FileError(f"{path}: resuming needs a system with file locks")
        self.path = path
        while True:
            with contextlib.suppress(FileExistsError):
                path.mkdir(mode=0o700)
            try:
                self._check_owner()
                self._handle = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            except FileNotFoundError:  # the process that had it has just removed it
                continue
            except FileError:
                raise
            except OSError:
                with contextlib.suppress(OSError):  # only an empty folder can be removed so
                    path.rmdir()
                raise
            if self._lock():
                return
            os.close(self._handle)

    def _check_owner(self) -> None:
        """Raise FileError where another user, or another program, has made the folder."""
        status = os.lstat(self.path)
        is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if not is_ours or LOCK not in (os.listdir(self.path) or [LOCK]):
            raise FileError(f"{self.path}: must be a folder of a conversion that can be resumed, or not exist")

    def _lock(self) -> bool:
        """Take the lock; return whether the folder still has the file that is locked now."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._handle)
            raise FileError(f"{self.path}: another process that can be resumed writes to it") from None
        except OSError:
            os.close(self._handle)
            raise
        try:
            there = os.lstat(self.path / LOCK)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._handle))

    def clear(self) -> None:
        """Remove everything but the lock."""
        for name in sorted(os.listdir(self.path)):
            path = self.path / name
            if name == LOCK:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def remove(self) -> None:
        """Remove the folder, then let go of it.

        Its name goes before its lock does, so that a process that takes the name next does not lose what it writes.
        """
        with contextlib.suppress(OSError):
            self.clear()
            aside = self.path.with_name(f"{self.path.name}-{secrets.token_hex(4)}")
            try:
                os.rename(self.path, aside)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._handle)


def staging_name(target: Path) -> str:
    """Return the name of the folder in which a conversion to `target` can be resumed; each target has its own."""
    name = target.name
    if len(name) > LONGEST:
        name = f"{name[: LONGEST - 17]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"
    return f"{name}.tmp-resume"


class ResumableStaging(Staging):
    """A staging folder with a fixed name, a lock and a manifest.

    A file is finished when its bytes and its record, with a digest, are on the disk. Those that an earlier run finished
    are kept if the manifest is the same and their digests are. Everything else starts over.

    Parameters
    ----------
    output, target, overwrite
        As in `Staging`.
    job : Job
        What decides the bytes.
    say : callable
        Called with what is found, as soon as it is.

    Attributes
    ----------
    remarks : list of str
        What was found: which files are kept, or why none is.
    """

    def __init__(
        self, output: OutputFiles, target: Path, overwrite: bool, job: Job, say: Callable[[str], None]
    ) -> None:
        super().__init__(output, target, overwrite)
        self._job, self._say = job, say
        self.finished: dict[int, dict[str, Any]] = {}
        self.remarks: list[str] = []
        self._is_published = self._is_wrong = False
        self._complete: dict[int, dict[str, Any]] = {}
        self._finishing: list[futures.Future[None]] = []

    def _prepare(self) -> Path:
        """Take the folder, keep the finished files in it if they fit, and return the folder for files."""
        self._locked = LockedFolder(self._target.with_name(staging_name(self._target)))
        self._folder = self._locked.path
        try:
            inner = self._found()
            if inner is None:
                self._locked.clear()
            else:
                self._keep_only(self.finished, inner)
            kept = sum(self._output.files[number].size for number in self.finished)
            check_space(self._output, self._target, self._output.nbytes - kept)
            if inner is None:
                inner = self._start()
        except BaseException:
            if (self._folder / MANIFEST).exists():
                self._locked.close()
            else:
                self._locked.remove()
            raise
        self._writer = futures.ThreadPoolExecutor(1, "lowprec-finish")
        return inner

    def _remark(self, text: str) -> None:
        self.remarks.append(text)
        self._say(text)

    def _description(self) -> dict[str, Any]:
        """Return the manifest that the conversion has."""
        sources = [*self._job.sources, *(path for path, _ in self._output.copies)]
        return {
            "version": self._job.version, "options": dict(self._job.options), "sources": describe_sources(sources),
            "files": describe_files(self._output),
        }  # fmt: skip

    def _start(self) -> Path:
        """Write a manifest into the empty folder."""
        (self._folder / RECORDS).mkdir()
        inner = self._folder / f"new-{secrets.token_hex(4)}"  # a worker of a cluster may still write to the old one
        inner.mkdir()
        write_json(self._folder / MANIFEST, {**self._description(), "folder": inner.name})
        sync(self._folder)
        return inner

    def _found(self) -> Path | None:
        """Return the folder that an earlier run of the same conversion wrote to, None if there is none to be kept."""
        if not os.path.lexists(self._folder / MANIFEST):
            return None
        manifest = read_json(self._folder / MANIFEST)
        why = differences(manifest, self._description())
        inner = self._folder / str(manifest.get("folder") if isinstance(manifest, dict) else "")
        if not why and not (inner.name.startswith("new-") and inner.parent == self._folder and inner.is_dir()):
            why = "its files are gone"
        if why:
            self._remark(f"the conversion starts over: {why}")
            return None
        records = {n: record for n in range(len(self._output.files)) if (record := self._record(n)) is not None}
        if records:
            self._say(f"finished files are compared with their digests: {len(records)}")
        for number, record in records.items():
            file = self._output.files[number]
            if record.fits(inner / file.name):
                self.finished[number] = record.state
            else:
                self._remark(f"{file.name} is converted again: it is not what the earlier run wrote")
                self._record_path(number).unlink()
        n, m = len(self.finished), len({slot.file for slot in self._output.slots})
        self._remark(f"the conversion is resumed: {n} of {m} files were finished")
        return inner

    def _record_path(self, number: int) -> Path:
        return self._folder / RECORDS / f"{number}.json"

    def _record(self, number: int) -> Finished | None:
        """Return what an earlier run recorded about a file."""
        fields = read_json(self._record_path(number))
        try:
            return Finished(int(fields["size"]), str(fields["digest"]), dict(fields["state"]))
        except (TypeError, KeyError, ValueError):
            return None

    def _keep_only(self, numbers: Iterable[int], inner: Path) -> None:
        """Remove all files but some."""
        kept = {inner / self._output.files[number].name for number in numbers}
        for folder, folders, names in os.walk(inner, topdown=False):
            for name in names:
                if Path(folder, name) not in kept:
                    Path(folder, name).unlink()
            for name in folders:
                path = Path(folder, name)
                if path.is_symlink():
                    path.unlink()
                else:  # files that are kept lie in no folder in it
                    shutil.rmtree(path)

    def finish(self, number: int, state: dict[str, Any]) -> None:
        """Record a file, all of which is written, while the conversion goes on."""
        if self._output.seal is None:  # else it is complete at the end, and not before
            self._raise_errors()
            self._complete[number] = state
            self._finishing.append(submit(self._writer, not self._finishing, self._finish, number, state))

    def _finish(self, number: int, state: dict[str, Any]) -> None:
        path = self.paths[number]
        sync(path)
        sync(path.parent)
        record = {"size": path.stat().st_size, "digest": digest_of(path), "state": state}
        write_json(self._record_path(number), record)
        sync(self._folder / RECORDS)
        self.finished[number] = state

    def _raise_errors(self, *, wait: bool = False) -> None:
        """Raise the error of a file that could not be recorded."""
        for one in self._finishing:
            if (wait or one.done()) and (error := one.exception()) is not None:
                raise FileError(f"{self._title}: cannot be written; {reason(error)}") from None

    def seal(self) -> None:
        """Wait until all files are on the disk and recorded."""
        self._raise_errors(wait=True)
        super().seal()

    def discard(self) -> None:
        """Have everything removed at the end."""
        self._is_wrong = True

    def publish(self, rename: Rename) -> None:
        """Rename everything to the target."""
        super().publish(rename)
        self._is_published = True

    def __exit__(self, *error: object) -> None:
        """Remove everything if the target is written, what was written is wrong or no file is finished."""
        self._writer.shutdown()
        ended = self._is_published or self._is_wrong
        if not ended:
            self._keep_complete()
        if ended or not self.finished:
            self._locked.remove()
            return
        self._say(f"finished files stay in {self._folder}, to be resumed: {len(self.finished)}")
        self._locked.close()

    def _keep_complete(self) -> None:
        """Remove what is not complete; then the disk, if it was full, has room for the last records."""
        with contextlib.suppress(OSError):  # if not removed now, it is by the next run
            self._keep_only({*self.finished, *self._complete}, self._inner)
            for number, state in self._complete.items():
                if number not in self.finished:
                    self._finish(number, state)
