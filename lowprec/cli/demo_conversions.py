"""What `lowprec demo` converts: a checkpoint, the files that a copy of it has, and the conversions to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checkpoints.containers.folder import Folder
from ..checkpoints.containers.gguf_file import GgufFile
from ..checkpoints.containers.onnx_model import OnnxModel
from ..checkpoints.containers.registry import open_container
from ..checkpoints.containers.safetensors_file import SafetensorsFile
from ..checkpoints.containers.tensors import InMemory
from ..checkpoints.files.symbolic_links import files_in
from ..checkpoints.recipes.registry import find_recipe
from ..spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, INT4, INT8

__all__ = ["Checkpoint", "Conversion", "find_checkpoint"]

RECIPES = ("fp8-dynamic", "mxfp4a16", "nvfp4a16", "w4a16-g32")
"""Of a model in safetensors: 8 bits, and three ways to 4 bits, which the same engines load."""

GGUF_RECIPES = ("q8_0", "mxfp4", "q4_0")


@dataclass(frozen=True, slots=True)
class Conversion:
    """A call of `convert`.

    Attributes
    ----------
    name : str
        What the table calls it, and its output.
    options : mapping
        The arguments of `convert`.
    readers : str
        What loads the result.
    """

    name: str
    options: Mapping[str, Any]
    readers: str

    @property
    def command_options(self) -> str:
        """The options of `lowprec convert` that do the same."""
        return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in self.options.items())


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint that is converted.

    Attributes
    ----------
    path : Path
        The file or folder.
    files : sequence of (Path, str)
        What a copy of it copies, and the names of the copies.
    choices : sequence of sequences of Conversion
        The first of them of which a conversion applies is the one for it.
    suffix : str
        How the name of a converted file ends; nothing for folders.
    follow_links : bool
        As `convert` takes it.
    """

    path: Path
    files: Sequence[tuple[Path, str]]
    choices: Sequence[Sequence[Conversion]]
    suffix: str
    follow_links: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file, _ in self.files)


def _recipes(names: Sequence[str]) -> list[Conversion]:
    return [Conversion(name, {"recipe": name}, find_recipe(name).readers) for name in names]


def _plain_conversions(readers: str, packs: bool = True) -> list[Conversion]:
    """Return conversions that need neither a configuration nor the names of a model.

    Where codes of 4 bits are not packed (`packs`), they take 8, and formats of 8 and 16 bits are compared instead.
    Such files do not name the axis of scales either, which blocks leave no doubt about.
    """
    powers = {"scale": "block:32", "scale_format": FLOAT8_E8M0FNU.name}
    fp8 = Conversion("fp8", {"to": FLOAT8_E4M3FN.name}, readers)
    if not packs:
        bf16 = Conversion("bf16", {"to": BFLOAT16.name}, readers)
        by_block = Conversion(f"{INT8.name}-g32", {"to": INT8.name, "scale": "block:32"}, readers)
        return [bf16, fp8, by_block, Conversion("mxfp8-g32", {"to": FLOAT8_E4M3FN.name, **powers}, readers)]
    by_row = Conversion(f"{INT8.name}-rows", {"to": INT8.name, "scale": "axis:0"}, readers)
    by_block = Conversion(f"{INT4.name}-g32", {"to": INT4.name, "scale": "block:32"}, readers)
    return [fp8, by_row, Conversion("mxfp4-g32", {"to": FLOAT4_E2M1FN.name, **powers}, readers), by_block]


def find_checkpoint(path: Path, follow_links: bool = False) -> Checkpoint:
    """Return a checkpoint and what can be compared for it; raise FileError where a path is none."""
    container = open_container(path, follow_links=follow_links)
    if isinstance(container, Folder):
        files = [(entry.path, entry.name) for entry in files_in(path, follow=follow_links)]
        return Checkpoint(path, files, [_recipes(RECIPES), _plain_conversions("lowprec")], "", follow_links)
    places = [one.location for one in container.tensors]
    paths = dict.fromkeys([path, *(place.path for place in places if not isinstance(place, InMemory))])
    files = [(file, file.name) for file in paths]
    if isinstance(container, SafetensorsFile):
        return Checkpoint(path, files, [_recipes(RECIPES), _plain_conversions("lowprec")], container.suffixes[0])
    if isinstance(container, GgufFile):
        return Checkpoint(path, files, [_recipes(GGUF_RECIPES)], container.suffixes[0])
    readers = "ONNX runtimes with its nodes" if isinstance(container, OnnxModel) else "lowprec"
    # The last suffix of .npy files is .npz: one array cannot hold codes and scales.
    return Checkpoint(path, files, [_plain_conversions(readers, container.packs)], container.suffixes[-1], follow_links)
