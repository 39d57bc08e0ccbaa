"""GGUF files: keys and tensors keep their bytes and their order; converted to GGUF by recipes, or to safetensors."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ..files.errors import FileError, reason
from ..files.limits import DEFAULT, Limits
from ..files.output_files import OutputFile, OutputFiles, Slot
from ..files.renaming import rename_file
from .container import OutputTensor
from .gguf_header import Header, TensorEntry, read_header
from .gguf_types import GgufType, type_of
from .safetensors_file import SUFFIX as SAFETENSORS
from .safetensors_file import arrange_safetensors
from .tensors import FileRegion, StoredTensor

__all__ = ["SUFFIX", "GgufFile"]

SUFFIX = ".gguf"

FILE_TYPES = {
    "F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "BF16": 32, "MXFP4": 38, "NVFP4": 39,
}  # fmt: skip
"""What ``general.file_type`` is for a file with mostly such elements."""

QUANTIZATION_VERSION = 2
"""Of ggml's blocks, as llama.cpp writes it."""


def _stored(path: Path, one: TensorEntry) -> StoredTensor:
    region = FileRegion(path, one.offset, one.nbytes)
    return StoredTensor(one.name, one.shape, one.type.fmt, one.type.name, region)


class GgufFile:
    """A .gguf file."""

    suffixes: tuple[str, ...] = (SUFFIX, SAFETENSORS)
    packs = True
    codes_suffix = ""
    names_formats = True
    publish = staticmethod(rename_file)

    def __init__(self, path: Path, limits: Limits = DEFAULT) -> None:
        """Read the header."""
        self.path = path
        try:
            with path.open("rb") as stream:
                self._header = read_header(stream, os.fstat(stream.fileno()).st_size, limits)
        except OSError as error:
            raise FileError(f"{path}: {reason(error)}") from None
        except ValueError as error:
            raise FileError(f"{path}: must be a readable .gguf file; {error}") from None
        self.tensors = [_stored(path, one) for one in self._header.tensors]

    def arrange(self, outputs: Sequence[OutputTensor], target: Path, overwrite: bool = False) -> OutputFiles:
        """Return a .gguf file with the same keys, or a .safetensors file.

        Raises FileError for a .gguf file of tensors that were all cast alike: engines want some of them as they are.
        """
        if target.suffix == SAFETENSORS:
            return arrange_safetensors(outputs, target)
        if any(output.rules is not None for output in outputs):
            raise FileError(f"{target}: a .gguf file is converted by a recipe, which keeps norms and the like in F32")
        return _arrange(self._header, outputs, target)

    def name_scope(self, tensor: StoredTensor) -> str:
        """Names must differ within the file."""
        return ""


def _type(output: OutputTensor, target: Path) -> GgufType:
    kind = type_of(output.fmt, output.type_name)
    if kind is None:
        what = output.fmt.name if output.fmt else output.type_name
        raise FileError(f"{target}: GGUF has no type for {ascii(output.name)[:80]}, which is {what}")
    return kind


def _arrange(header: Header, outputs: Sequence[OutputTensor], target: Path) -> OutputFiles:
    """Place the tensors one after the other, each at a multiple of the alignment."""
    entries: list[TensorEntry] = []
    elements: Counter[str] = Counter()
    at = 0
    for output in outputs:
        kind = _type(output, target)
        entries.append(TensorEntry(output.name, output.shape, kind, at))
        elements[kind.name] += math.prod(output.shape)
        at += output.nbytes + -output.nbytes % header.alignment
    content = _described(header, elements).to_bytes(entries)
    start = len(content)
    file = OutputFile(target.name, start + at, ((0, content),))
    return OutputFiles([file], [Slot(0, start + one.offset) for one in entries])


def _described(header: Header, elements: Counter[str]) -> Header:
    """Return a header that says which type most elements have; the later files of a split model say nothing."""
    if b"general.architecture" not in header.keys or not elements:
        return header
    most, _ = elements.most_common(1)[0]
    header = header.with_number(b"general.quantization_version", QUANTIZATION_VERSION)
    return header.with_number(b"general.file_type", FILE_TYPES[most]) if most in FILE_TYPES else header
