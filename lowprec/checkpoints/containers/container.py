"""The protocol of containers (a new one is a class with these members), and the tensors that are written to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ...spec.formats import Format
from ..element_rules import ElementRules
from ..files.output_files import OutputFiles
from .tensors import StoredTensor

__all__ = ["Container", "OutputTensor"]


@dataclass(frozen=True, slots=True)
class OutputTensor:
    """A tensor to be written.

    Attributes
    ----------
    name, shape : str, tuple of int
        As in `StoredTensor`.
    fmt : Format or None
        None for a copy of elements that are no numbers.
    nbytes : int
        How many bytes the codes take.
    origin : StoredTensor
        The tensor that it is computed from.
    role : str
        ``"kept"`` for a copy, ``"codes"`` for a conversion, ``"scale"`` for its scales.
    rules : ElementRules, optional
        How it is converted.
    axis : int, optional
        Of scales: the axis of the codes along which they run.
    block : two ints, optional
        Of scales: the rows and columns of codes that share one.
    blocks : str
        What the container calls the type of its blocks, where it holds no single numbers and is no copy.
    """

    name: str
    shape: tuple[int, ...]
    fmt: Format | None
    nbytes: int
    origin: StoredTensor
    role: str
    rules: ElementRules | None = None
    axis: int | None = None
    block: tuple[int, int] | None = None
    blocks: str = ""

    @property
    def type_name(self) -> str:
        """What the container calls a type that is no format; nothing for formats."""
        return "" if self.fmt is not None else self.blocks or self.origin.type_name


class Container(Protocol):
    """A file, or a folder of files, that holds tensors.

    Attributes
    ----------
    path : Path
        The file or the folder.
    suffixes : tuple of str
        The ends of file names that it can be written under; none for a folder.
    tensors : list of StoredTensor
        All of them.
    packs : bool
        Whether it packs codes narrower than a byte.
    codes_suffix : str
        Text that is added to the name of a tensor when it is converted.
    names_formats : bool
        Whether it names the format of every tensor itself.
    part : str
        Which part of a model it is, where it is not the whole: ``"part 1 of 3"``.
    remarks : sequence of str
        What the report of its conversion says of it.
    """

    path: Path
    suffixes: tuple[str, ...]
    tensors: list[StoredTensor]
    packs: bool
    codes_suffix: str
    names_formats: bool
    part: str
    remarks: Sequence[str]

    def arrange(self, outputs: Sequence[OutputTensor], target: Path, overwrite: bool = False) -> OutputFiles:
        """Return the files of a container of the same kind named `target`, which may exist and be replaced."""

    def name_scope(self, tensor: StoredTensor) -> str:
        """Return the part of the container in which the tensor's name, and that of its scales, must be unique."""

    def publish(self, staged: Sequence[Path], target: Path, overwrite: bool) -> None:
        """Rename finished files to the target, which is the old container or the new one at every moment.

        Without `overwrite` raises FileExistsError, and changes nothing, where a name is taken.
        """
