"""The files of a folder: shards that no index names, totals, types that engines do not know."""

from __future__ import annotations

from collections.abc import Iterator

from ...spec.formats import Format, is_onnx_row
from ..containers.folder import Folder
from ..containers.safetensors_file import SUFFIX
from ..containers.tensors import StoredTensor
from ..planning.adapters import ADAPTER, is_adapter
from ..planning.quantization_config import read_description
from .finding import Finding
from .subject import CONFIG, Subject

__all__ = ["check_files"]


def check_files(subject: Subject) -> Iterator[Finding]:
    """Look at the index and the shards; that they agree on names is known when they are open."""
    container = subject.container
    if container.part:
        yield Finding("unchecked", False, "", f"{container.part} of a model: the others are not checked")
    if is_adapter(container):
        yield Finding("files", False, "", ADAPTER)
    if isinstance(container, Folder):
        yield from _index(container, subject.is_model)
        if subject.is_model and not read_description(container, CONFIG):
            yield Finding("files", True, "", f"{CONFIG} is empty")
    for tensor in [*subject.others, *(weight.codes for weight in subject.weights)]:
        if tensor.fmt is not None and _is_only_noted(tensor, tensor.fmt):
            text = (
                f"holds {tensor.fmt.name} codes as {tensor.type_name}, which the file's metadata say to lowprec alone"
            )
            yield Finding("types", subject.is_model, tensor.name, text)


def _is_only_noted(tensor: StoredTensor, fmt: Format) -> bool:
    """Whether safetensors has another type for a tensor than the format that the file's metadata name or describe."""
    return not is_onnx_row(fmt) or (tensor.packed and tensor.type_name == "U8")


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
    elif len(folder.files) > 1 and not folder.part:
        text = f"has {len(folder.files)} {SUFFIX} files and no index: transformers loads none or one of them"
        yield Finding("files", is_model, "", text)
