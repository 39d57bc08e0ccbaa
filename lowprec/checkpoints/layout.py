"""What a container is asked to hold, and where it will lie: decided before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..spec.formats import Format
from .recipe import Recipe
from .stored import Stored

__all__ = ["Container", "Layout", "NewFile", "Output", "Slot"]


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor to be written.

    Attributes
    ----------
    name, shape : str, tuple of int
        As in `Stored`.
    fmt : Format or None
        None for a copy of elements that are no numbers.
    nbytes : int
        How many bytes the codes take.
    origin : Stored
        The tensor that it is made from.
    role : str
        ``"kept"`` for a copy, ``"codes"`` for a conversion, ``"scale"`` for its scales.
    recipe : Recipe, optional
        How it is converted.
    """

    name: str
    shape: tuple[int, ...]
    fmt: Format | None
    nbytes: int
    origin: Stored
    role: str
    recipe: Recipe | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """Where the bytes of a tensor go: a file of the layout, by its number, and an offset."""

    file: int
    offset: int


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file to be written: its name below the target's folder, its size, and all that is in it beside tensors."""

    name: str
    size: int
    pieces: tuple[tuple[int, bytes], ...] = ()


@dataclass(slots=True)
class Layout:
    """Everything that will be written.

    Attributes
    ----------
    files : list of NewFile
        The first is the one that the target's name stands for.
    slots : list of Slot
        One to an output, in their order.
    copies : list of (Path, str)
        Files that are copied as they are, and their new names.
    seal : callable, optional
        What is left to do, checksums for example, when all tensors are in the files, given the files' paths.
    """

    files: list[NewFile]
    slots: list[Slot]
    copies: list[tuple[Path, str]] = field(default_factory=list)
    seal: Callable[[Sequence[Path]], None] | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes will be written."""
        return sum(file.size for file in self.files) + sum(path.stat().st_size for path, _ in self.copies)


class Container(Protocol):
    """A file, or a folder of files, that holds tensors.

    Attributes
    ----------
    path : Path
        The file or the folder.
    suffix : str
        How the name of a file of its kind ends; empty for a folder.
    tensors : list of Stored
        All of them.
    packs : bool
        Whether it packs codes narrower than a byte.
    renamed : str
        What it adds to the name of a tensor that is converted.
    names_formats : bool
        Whether it names the format of every tensor, so that no one else need.
    """

    path: Path
    suffix: str
    tensors: list[Stored]
    packs: bool
    renamed: str
    names_formats: bool

    def arrange(self, outputs: Sequence[Output], target: Path, overwrite: bool = False) -> Layout:
        """Say where outputs go in a container of the same kind named `target`, which may be there to be replaced."""

    def home(self, stored: Stored) -> str:
        """Return where the tensor's name, and that of its scales, must be the only one."""

    def publish(self, staged: Sequence[Path], target: Path, outputs: Sequence[Output], overwrite: bool) -> None:
        """Rename finished files to the target, which stands for the old or for the new at every moment.

        Without `overwrite` raises FileExistsError, and changes nothing, where a name is taken.
        """
