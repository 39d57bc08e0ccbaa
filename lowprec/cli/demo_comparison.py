"""How `lowprec demo` compares: conversions and a plain copy of a checkpoint take turns in a folder that is removed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from ..checkpoints.conversion import convert
from ..checkpoints.files.atomic_output import sync
from ..checkpoints.files.errors import FileError, reason
from ..checkpoints.files.renaming import rename_new
from ..checkpoints.progress import size_text
from ..checkpoints.report import Report
from ..checkpoints.tensor_report import TensorReport, sizes_of
from ..spec.option_names import ProgressName
from .demo_conversions import Checkpoint, Conversion

__all__ = ["Comparison", "Result", "check_space", "work_folder"]

ROUNDS = 3
"""How often each conversion runs; medians count."""

LARGE = 1 << 30
"""Checkpoints of more bytes are converted once by each conversion, with a display of progress."""


@dataclass(slots=True)
class Result:
    """A conversion, the report of its dry run and later of its last run, the bytes of its files, and its times."""

    conversion: Conversion
    report: Report
    nbytes: int
    times: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The median of the times."""
        return median(self.times)

    @property
    def bits(self) -> float:
        """Bits of a converted weight, scales included."""
        elements, _, after = sizes_of(self.converted)
        return 8 * after / max(1, elements)

    @property
    def converted(self) -> list[TensorReport]:
        """The tensors that are converted."""
        return [one for one in self.report.tensors if one.action == "converted"]


class Comparison:
    """Conversions of a checkpoint, and a plain copy of it.

    Parameters
    ----------
    checkpoint : Checkpoint
        What is converted.
    folder : Path
        An empty folder to write to.
    keep : bool
        Whether the outputs of the last round stay in it.

    Attributes
    ----------
    results : list of Result
        The conversions that apply.
    left_out : list of (str, str)
        Names of those that do not, and why.
    needed : int
        How many bytes are on the disk at most, at the same time.
    rounds : int
        How often each runs.
    copy_times : list of float
        The times of the copy.
    """

    def __init__(self, checkpoint: Checkpoint, folder: Path, keep: bool) -> None:
        """Make a dry run of every conversion; raise FileError where none applies, or the disk has too little room."""
        self.checkpoint, self._folder, self._keep = checkpoint, folder, keep
        self._links = checkpoint.follow_links
        self.nbytes = checkpoint.nbytes
        self.rounds = 1 if self.nbytes > LARGE else ROUNDS
        self.results: list[Result] = []
        self.left_out: list[tuple[str, str]] = []
        self.copy_times: list[float] = []
        check_space(folder, self.nbytes)
        for conversions in checkpoint.choices:
            for conversion in conversions:
                self._plan(conversion)
            if self.results:
                break
        self._check_results()
        sizes = [one.nbytes for one in self.results]
        self.needed = max(self.nbytes, sum(sizes) if keep else max(sizes))
        check_space(folder, self.needed)

    @property
    def copy_seconds(self) -> float:
        """The median of the times of the copy."""
        return median(self.copy_times)

    @property
    def bits(self) -> float:
        """Bits of a weight before the first conversion."""
        elements, before, _ = sizes_of(self.results[0].converted)
        return 8 * before / max(1, elements)

    def target(self, conversion: Conversion) -> Path:
        """Return where the output of a conversion goes."""
        return self._folder / f"{conversion.name}{self.checkpoint.suffix}"

    def _plan(self, conversion: Conversion) -> None:
        path = self.checkpoint.path
        try:
            report = convert(
                path, self.target(conversion), **conversion.options, follow_links=self._links, dry_run=True
            )
        except (FileError, ValueError) as error:
            self._leave_out(conversion, error)
            return
        if report.total.count:
            nbytes = self.nbytes - report.total.bytes_before + report.total.bytes_after
            self.results.append(Result(conversion, report, nbytes))
        else:
            self.left_out.append((conversion.name, "has no tensor that it converts"))

    def _leave_out(self, conversion: Conversion, error: Exception) -> None:
        text = str(error).removeprefix(f"{self.checkpoint.path}: ")
        self.left_out.append((conversion.name, " ".join(text.split())))

    def _check_results(self) -> None:
        """Raise FileError where every conversion was left out."""
        if not self.results:
            name, why = self.left_out[-1]
            raise FileError(f"{self.checkpoint.path}: no conversion of the demo applies; {name}: {why}")

    def run(self) -> None:
        """Run the copy and all conversions in turns."""
        for number in range(1, self.rounds + 1):
            started = time.perf_counter()
            self._copy(self._folder / "copy")
            self.copy_times.append(time.perf_counter() - started)
            _remove(self._folder / "copy")
            for one in list(self.results):
                try:
                    self._convert(one, self._keep and number == self.rounds)
                except FileError as error:
                    if str(error).startswith(str(self._folder)):  # an output that cannot be written
                        raise
                    self._leave_out(one.conversion, error)  # of values, which a dry run does not read
                    self.results.remove(one)
            self._check_results()

    def _convert(self, result: Result, keep: bool) -> None:
        target = self.target(result.conversion)
        style: ProgressName = "none" if self.nbytes <= LARGE else "auto"
        started = time.perf_counter()
        result.report = convert(
            self.checkpoint.path, target, **result.conversion.options, follow_links=self._links, progress=style
        )
        result.times.append(time.perf_counter() - started)
        files = [target] if target.is_file() else [file for file in target.rglob("*") if file.is_file()]
        result.nbytes = sum(file.stat().st_size for file in files)
        if not keep:
            _remove(target)

    def _copy(self, folder: Path) -> None:
        """Copy all files, and wait until they are on the disk, as `convert` does."""
        try:
            folder.mkdir()
            for source, name in self.checkpoint.files:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, folder / name)
                sync(folder / name)
            sync(folder)
        except OSError as error:
            raise FileError(f"{self.checkpoint.path}: cannot be copied to {folder}; {reason(error)}") from None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def check_space(folder: Path, needed: int) -> None:
    """Raise FileError unless the disk of a folder has room for so many bytes."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        where = folder.parent.parent  # the folder is new, in one with a name that means nothing
        raise FileError(
            f"{where}: the demo needs {size_text(needed)}, and the disk has {size_text(free)} left; "
            "--keep, or TMPDIR, names a folder on another one"
        )


@contextlib.contextmanager
def work_folder(source: Path | None, keep: Path | None) -> Iterator[Path]:
    """Make a folder to work in, and remove it at the end, whatever happens; what is to be kept is renamed then.

    Parameters
    ----------
    source : Path or None
        What is converted, which the folder must not lie in.
    keep : Path or None
        The name that the folder gets if there is no error.
    """
    try:
        parent = Path(tempfile.gettempdir()) if keep is None else keep.parent
    except OSError as error:
        raise FileError(f"no folder for temporary files: {reason(error)}") from None
    if keep is not None and os.path.lexists(keep):
        raise FileError(f"{keep}: exists; --keep must name a new folder")
    if not parent.is_dir():
        raise FileError(f"{keep}: must be a new folder in an existing one")
    if source is not None and source.is_dir() and parent.resolve().is_relative_to(source.resolve()):
        raise FileError(f"{parent if keep is None else keep}: must lie outside of {source}")
    try:
        prefix = "lowprec-demo-" if keep is None else f"{keep.name[:200]}.tmp-"
        outer = Path(os.path.realpath(tempfile.mkdtemp(prefix=prefix, dir=parent)))
    except OSError as error:
        raise FileError(f"{parent}: cannot be written; {reason(error)}") from None
    try:
        folder = outer / "new"  # with the usual permissions, which the folder around it lacks
        folder.mkdir()
        yield folder
        if keep is not None:
            rename_new(folder, keep)
    finally:
        shutil.rmtree(outer, ignore_errors=True)
