"""The files of a folder: shards that no index names, totals, types that engines do not know."""

from __future__ import annotations

from collections.abc import Iterator

from ..containers.folder import Folder
from ..containers.safetensors_file import SUFFIX
from ..planning.quantization_config import read_description
from .finding import Finding
from .subject import CONFIG, Subject

__all__ = ["check_files"]


def check_files(subject: Subject) -> Iterator[Finding]:
    """Look at the index and the shards; that they agree on names is known when they are open."""
    container = subject.container
    if isinstance(container, Folder):
        yield from _index(container, subject.is_model)
        if subject.is_model and not read_description(container, CONFIG):
            yield Finding("files", True, "", f"{CONFIG} is no JSON object, or an empty one")
    for tensor in subject.others:
        if tensor.fmt is not None and tensor.packed and tensor.type_name == "U8":
            text = f"holds {tensor.fmt.name} codes as U8, which the file's metadata say to lowprec alone"
            yield Finding("types", subject.is_model, tensor.name, text)
    for weight in subject.weights:
        if weight.codes.packed and weight.codes.type_name == "U8":
            text = f"holds {weight.scheme.codes.name} codes as U8, which the file's metadata say to lowprec alone"
            yield Finding("types", subject.is_model, weight.codes.name, text)


def _index(folder: Folder, is_model: bool) -> Iterator[Finding]:
    for name, fields in folder.indexes.items():
        total = fields["metadata"].get("total_size")
        shards = set(fields["weight_map"].values())
        nbytes = sum(one.location.nbytes for file in folder.files if file.path.name in shards for one in file.tensors)
        if total is not None and total != nbytes:
            yield Finding(
                "files", False, "", f"{name} says total_size {str(total)[:40]}; its tensors have {nbytes} bytes"
            )
    if folder.indexes:
        for name in folder.others:
            if name.endswith(SUFFIX):
                yield Finding("files", False, "", f"{name} is in no index: its tensors are not part of the model")
    elif len(folder.files) > 1:
        text = f"has {len(folder.files)} {SUFFIX} files and no index: transformers loads none or one of them"
        yield Finding("files", is_model, "", text)
