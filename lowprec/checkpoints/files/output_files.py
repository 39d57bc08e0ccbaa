"""The files that will be written: names, sizes, where each tensor goes; decided before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["OutputFile", "OutputFiles", "Slot"]


@dataclass(frozen=True, slots=True)
class Slot:
    """Where the bytes of a tensor go: the number of a file, and an offset in it."""

    file: int
    offset: int


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file to be written: its name below the target's folder, its size, and its bytes other than tensors."""

    name: str
    size: int
    pieces: tuple[tuple[int, bytes], ...] = ()


@dataclass(slots=True)
class OutputFiles:
    """All files to be written.

    Attributes
    ----------
    files : list of OutputFile
        The first is the one that the target's name stands for.
    slots : list of Slot
        One for each output tensor, in their order.
    copies : list of (Path, str)
        Files that are copied unchanged, and their new names.
    seal : callable, optional
        Completes the files (checksums, directories) once all tensors are written; its argument is their paths.
    """

    files: list[OutputFile]
    slots: list[Slot]
    copies: list[tuple[Path, str]] = field(default_factory=list)
    seal: Callable[[Sequence[Path]], None] | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes will be written."""
        return sum(file.size for file in self.files) + sum(path.stat().st_size for path, _ in self.copies)
