"""What people name that is no checkpoint, or a part of one, and what to do then: addresses, pointers, pickles."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from ..files.errors import NoCheckpointError

__all__ = [
    "START", "PartName", "are_missing", "check_folder", "check_members", "check_pickle", "check_pointer", "missing",
    "missing_parts", "part_name",
]  # fmt: skip

START = 64
"""How many bytes of a file are looked at."""

_POINTER = b"version https://git-lfs"

_ADDRESS = re.compile(r"([a-z][a-z0-9+]+):/(?!$)", re.IGNORECASE)
"""What an address starts with, as a path has it: two slashes have become one."""

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")

_PICKLE = re.compile(rb"\x80[\x02-\x05]")
"""The start of a pickle since Python 2.3."""

_PICKLE_NAMES = re.compile(r".+\.(pt|pth|ckpt|pkl)|(\w*pytorch_model|adapter_model)(\.\w+)?(-\d+-of-\d+)?\.bin")
"""Names of files of torch.save."""

_IN_ARCHIVE = "data.pkl"
"""The pickle in an archive of torch.save."""

_WHY = "is a pickle of torch.save, which can run code and is not read"

PIPELINE = "model_index.json"
"""The file that names the models of a pipeline of diffusers."""

_SHARD = ".safetensors"

_NAME = re.compile(
    r"(?P<stem>.+)-(?P<number>[0-9]{5,6})(?P<rest>-of-(?P<count>[0-9]{5,6})\.(safetensors|gguf))", re.DOTALL
)

LISTED = 3
"""How many missing files are named."""


def missing(path: Path) -> NoCheckpointError:
    """Return the error for a path where there is nothing: it may be the address or the Hub's name of a model."""
    text, folder = str(path), path.name
    address = _ADDRESS.match(text)
    if address:
        shown = f"{address[1]}://{text[address.end() :]}"
        parts = text[address.end() :].removeprefix("models/").split("/")
        named = address[1].lower() == "hf" and len(parts) >= 2
        repository = f"{parts[0]}/{parts[1].partition('@')[0]}" if named else "OWNER/NAME"
        return NoCheckpointError(
            f"{shown}: is an address, not a path; download it first, from the Hub with "
            f"hf download {repository} --local-dir FOLDER"
        )
    if _HUB_ID.fullmatch(text) and not path.parent.exists() and not path.suffix[1:].isalpha():
        return NoCheckpointError(
            f"{text}: No such file or directory; if it is a model of the Hub, download it first: "
            f"hf download {text} --local-dir {folder}"
        )
    return NoCheckpointError(f"{text}: No such file or directory")


def check_pointer(path: Path, start: bytes) -> None:
    """Raise NoCheckpointError for a file that git has in the place of a large one."""
    if start.startswith(_POINTER):
        raise NoCheckpointError(f"{path}: is a git-lfs pointer, not the file itself; run git lfs pull in its folder")


def check_pickle(path: Path, start: bytes) -> None:
    """Raise NoCheckpointError for a pickle by its content, and for a file that is named like one."""
    if _PICKLE.match(start) or _PICKLE_NAMES.fullmatch(path.name):
        raise _pickle(path)


def check_members(path: Path, names: Iterable[str]) -> None:
    """Raise NoCheckpointError for an archive of torch.save, by the names of its members."""
    if any(name.rpartition("/")[2] == _IN_ARCHIVE for name in names):
        raise _pickle(path)


def _pickle(path: Path) -> NoCheckpointError:
    return NoCheckpointError(
        f"{path}: {_WHY}; convert it first: "
        f'safetensors.torch.save_file(torch.load("{path.name}", weights_only=True), "model.safetensors")'
    )


def check_folder(path: Path, names: Collection[str], has_shards: bool) -> None:
    """Raise NoCheckpointError for a folder whose weights are in folders, or in files that are not read.

    `names` has all files, those in folders by their paths; `has_shards` says whether some at the top are read.
    """
    inside = sorted({name.partition(os.sep)[0] for name in names if os.sep in name and name.endswith(_SHARD)})
    if PIPELINE in names and inside:
        example = next((one for one in ("transformer", "unet") if one in inside), inside[0])
        raise NoCheckpointError(
            f"{path}: is a pipeline of diffusers, with a model in each of {', '.join(f'{one}/' for one in inside)}; "
            f"name one of them, for example {path / example}"
        )
    if has_shards:
        return
    pickles = [name for name in sorted(names) if os.sep not in name and _PICKLE_NAMES.fullmatch(name)]
    if pickles:
        raise NoCheckpointError(
            f"{path}: holds no safetensors file; {pickles[0]} {_WHY}; load the model with transformers, "
            'and model.save_pretrained("NEW") writes safetensors'
        )
    if inside:
        raise NoCheckpointError(f"{path}: holds no safetensors file; {', '.join(f'{one}/' for one in inside)} does")
    raise NoCheckpointError(f"{path}: holds no safetensors file")


@dataclass(frozen=True, slots=True)
class PartName:
    """The name of a part.

    Attributes
    ----------
    stem, rest : str
        What stands before and after the number of the part; `rest` says how many parts there are.
    number, count : int
        Which part it is, from 1 on (a few tools count from 0), of how many.
    width : int
        How many digits the number has.
    """

    stem: str
    rest: str
    number: int
    count: int
    width: int

    def __str__(self) -> str:
        return f"part {self.number} of {self.count}"

    def of_number(self, number: int) -> str:
        """Return the name of another part of the model."""
        return f"{self.stem}-{number:0{self.width}}{self.rest}"


def part_name(name: str) -> PartName | None:
    """Return what the name of a file says of the part that it is; None where it is no part of several."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    number, count = int(match["number"]), int(match["count"])
    if count < 2 or number > count:
        return None
    return PartName(match["stem"], match["rest"], number, count, len(match["number"]))


def missing_parts(parts: Iterable[PartName], present: Collection[str]) -> tuple[list[str], int]:
    """Return which parts of the models of some parts are not present: the first names, and how many there are."""
    names: list[str] = []
    total = 0
    found = [part for part in map(part_name, present) if part is not None]
    for one in {(one.stem, one.rest, one.width): one for one in parts}.values():
        numbers = {part.number for part in found if part.of_number(0) == one.of_number(0)}
        first = 0 if 0 in numbers else 1
        wanted = range(first, first + one.count)
        lost = (number for number in wanted if number not in numbers)
        names += map(one.of_number, itertools.islice(lost, LISTED))
        total += one.count - sum(number in wanted for number in numbers)
    return names[:LISTED], total


def are_missing(names: Collection[str], total: int) -> str:
    """Return in words that files are missing, given some names of so many."""
    listed = [ascii(name)[1:-1][:80] for name in itertools.islice(names, LISTED)]
    more = [f"{total - len(listed)} more"] if total > len(listed) else []
    *others, last = listed + more
    text = f"{', '.join(others)} and {last}" if others else last
    return f"{text} {'is' if total == 1 else 'are'} missing"
