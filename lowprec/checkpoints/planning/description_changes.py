"""What becomes of the descriptions of a model, config.json and its like: in a line each, for the report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ..containers.container import Container
from ..containers.folder import Folder
from .quantization_config import CONFIGS, FILES, TEXT_MODEL, Description

__all__ = ["description_changes"]

DEEP = "{...}"
"""What stands for lists and dictionaries."""


def description_changes(container: Container, misfits: Sequence[Description]) -> list[str]:
    """Return a line for each description that the result has or had, as the container will be arranged.

    `misfits` were left out of it; those that are entries of the metadata of files are named.
    """
    in_files = [f"{one.text()} left out" for one in misfits if one.path.name not in (*CONFIGS, *FILES)]
    return [*(_folder_changes(container) if isinstance(container, Folder) else ()), *in_files]


def _folder_changes(folder: Folder) -> Iterator[str]:
    for name in dict.fromkeys((*CONFIGS, *FILES, *folder.replaced)):
        path = folder.path / name
        if name in folder.replaced and not path.is_file():
            yield f"{name}: new"
        elif name in folder.replaced:
            changes = list(_changes(_fields(path.read_bytes()), _fields(folder.replaced[name])))
            yield f"{name}: {', '.join(changes) or 'unchanged'}"
        elif name in folder.others and name in CONFIGS:
            yield f"{name}: unchanged"
        elif name not in folder.others and path.is_file():
            yield f"{name}: left out"


def _fields(text: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _changes(old: dict[str, Any], new: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield what became of entries: values are named where they are short."""
    for key in dict.fromkeys((*old, *new)):
        before, after, name = old.get(key), new.get(key), ascii(path + key)[1:-1]
        if before == after and (key in old) == (key in new):
            continue
        if key not in new:
            yield f"{name} removed"
        elif key not in old:
            yield f"{name} added"
        elif key == TEXT_MODEL and isinstance(before, dict) and isinstance(after, dict):
            yield from _changes(before, after, f"{key}.")
        else:
            short = _short(before), _short(after)
            yield f"{name} changed" if short == (DEEP, DEEP) else f"{name} {short[0]} -> {short[1]}"


def _short(value: object) -> str:
    return DEEP if isinstance(value, (dict, list)) else ascii(json.dumps(value))[1:-1][:40]
