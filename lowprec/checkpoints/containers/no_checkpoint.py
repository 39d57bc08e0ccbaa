"""What people name that is no checkpoint, or none that is read, and what to do then: addresses, pointers, pickles."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path

from ..files.errors import NoCheckpointError

__all__ = ["START", "check_folder", "check_members", "check_pickle", "check_pointer", "missing"]

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
