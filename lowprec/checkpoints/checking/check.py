"""`check`: all that is looked for in a checkpoint and its files."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ...spec.formats import Format, is_onnx_row
from ...spec.scalar_arguments import as_flag, as_path
from ..containers.container import StoredTensor, TensorReader
from ..containers.folder import Folder
from ..containers.model_config import ADAPTER, find_descriptions, is_adapter, quantization_of, read_description
from ..containers.registry import open_container
from ..containers.safetensors_file import SUFFIX
from ..files.errors import FileError, NoCheckpointError
from ..memory_limit import Limits, parse_size
from ..progress import Callback, ProgressName, as_progress, make_progress
from .config_json import check_configuration, check_head, check_hf_quant_config, check_ignored, check_layout
from .finding import Finding, Findings, merged
from .pairs import check_pairs
from .readers import check_readers
from .subject import CONFIG, Subject, subject_of
from .values import check_values, nbytes_of_values

__all__ = ["check"]


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


CHECKS = (
    check_layout, check_files, check_pairs, check_configuration, check_hf_quant_config, check_ignored, check_head,
    check_readers,
)  # fmt: skip
"""What is looked at in headers and configurations; the values of codes and scales are read after that."""


def check(
    path: str | os.PathLike[str],
    /,
    *,
    values: bool = True,
    follow_links: bool = False,
    max_memory: int | str = "256M",
    progress: ProgressName | bool | Callback = "none",
    part: bool = False,
) -> Findings:
    """Look for what an inference engine would misread in a quantized checkpoint.

    Codes are paired with scales; config.json and hf_quant_config.json are compared with the tensors, the list of
    modules that are not quantized included; FP8 codes are searched for NaN, and scales for NaN, Inf, negative numbers
    and zeros. A scale of -0 counts as negative; scales of integers may be negative in AWQ, GPTQ and compressed-tensors.
    Memory does not grow with the files.

    Parameters
    ----------
    path : path
        A folder with .safetensors and config.json, or one of the files that `convert` reads.
    values : bool
        Whether codes and scales are read too, and not names, types, shapes and configurations alone.
    follow_links, max_memory : bool, int or str
        As in `convert`; the memory is that of names, shapes and places.
    progress : {"none", "auto", "bar", "plain"} or bool or callable
        As in `convert`: what is shown on standard error meanwhile, or a function that is called.
    part : bool
        As in `convert`: look at a part of a model without the others.

    Returns
    -------
    Findings
        A list of `Finding`, the layouts first. A finding with `misread` is an error: an engine would take numbers for
        what they are not, or refuse the checkpoint. One of the kind "readers" is a warning: the checkpoint is what its
        layout says, and a known version of an engine does not read it.

    Raises
    ------
    FileError
        If there is no such checkpoint, or its content changes meanwhile.
    ValueError
        If `max_memory` is no size, or `progress` none of its values.

    Notes
    -----
    Source: the loaders of transformers 5.23.0, with which tests/checkpoints/check_transformers.py compares, of
    compressed-tensors 0.20.0 and of vLLM.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import lowprec as lp
    >>> folder = tempfile.TemporaryDirectory()
    >>> np.savez(folder.name + "/x.npz", w=np.ones((2, 3), np.int8), w_scale=np.float32([np.nan, 2]))
    >>> for finding in lp.checkpoints.check(folder.name + "/x.npz"):
    ...     print(finding)
    note: lowprec int8 per row: 1 weight
    error: 'w_scale': has 1 NaN among 2 scales
    >>> folder.cleanup()
    """
    limits = Limits(parse_size(max_memory))
    shown_by = as_progress(progress)
    values, follow_links = as_flag(values, "values"), as_flag(follow_links, "follow_links")
    part = as_flag(part, "part")
    place = as_path(path, "path")
    try:
        container = open_container(place, follow_links=follow_links, limits=limits, part=part)
    except NoCheckpointError:
        raise
    except FileError as error:
        if not place.is_dir():
            raise
        return Findings([Finding("files", True, "", str(error))])
    try:
        find_descriptions(container)
        quantization_of(container)
    except FileError as error:
        return Findings([Finding("files", True, "", str(error))])
    reader = TensorReader()
    try:
        subject = subject_of(container, reader)
        return merged(_findings(subject, values, shown_by))
    finally:
        reader.close()


def _findings(subject: Subject, values: bool, progress: str | Callback) -> Iterator[Finding]:
    for look in CHECKS:
        yield from look(subject)
    if values:
        display = make_progress(progress, nbytes_of_values(subject))
        try:
            display.phase("reading")
            yield from check_values(subject, display)
        finally:
            display.close()
