"""GGUF files: keys and tensors keep their bytes and their order; converted to GGUF by recipes, or to safetensors.

The files of a split model are named by llama.cpp's rule, and say which part they are in the keys split.no and
split.count. The first one stands for all.
"""

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
from ..files.symbolic_links import file_in
from .container import OutputTensor
from .gguf_header import Header, TensorEntry, read_header
from .gguf_types import GgufType, type_of
from .parts import PartName, are_missing, missing_parts, part_name
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


NUMBER, COUNT, TENSORS = b"split.no", b"split.count", b"split.tensors.count"
"""The keys of a split model: which part a file is, from 0 on, of how many, and how many tensors all have."""


def _stored(path: Path, one: TensorEntry) -> StoredTensor:
    region = FileRegion(path, one.offset, one.nbytes)
    return StoredTensor(one.name, one.shape, one.type.fmt, one.type.name, region)


def _read(path: Path, limits: Limits, used: int = 0, others: int = 0) -> Header:
    """Read the header of a file, after others of so many bytes and tensors."""
    try:
        with path.open("rb") as stream:
            header = read_header(stream, os.fstat(stream.fileno()).st_size, limits, used, others)
        number, count = _place(header)
        if count > 1 and not 0 <= number < count:
            raise ValueError(f"its split.no must be less than its split.count, {count}; got {number}")
    except OSError as error:
        raise FileError(f"{path}: {reason(error)}") from None
    except ValueError as error:
        raise FileError(f"{path}: must be a readable .gguf file; {error}") from None
    return header


def _place(header: Header) -> tuple[int, int]:
    """Return which part of a split model a file is, from 0 on, and how many there are; 1 where it is not split."""
    count = header.integer(COUNT) or 1
    number = header.integer(NUMBER) if count > 1 else 0
    return -1 if number is None else number, count


class GgufFile:
    """A .gguf file, or all files of a split model, whose first one it is.

    Attributes
    ----------
    file_count : int
        How many files it is.
    """

    suffixes: tuple[str, ...] = (SUFFIX, SAFETENSORS)
    packs = True
    codes_suffix = ""
    names_formats = True
    part = ""
    remarks: Sequence[str] = ()
    publish = staticmethod(rename_file)

    def __init__(self, path: Path, limits: Limits = DEFAULT, *, part: bool = False, follow_links: bool = False) -> None:
        """Read the header, and those of the other files of a split model unless a `part` is wanted."""
        self.path, self.file_count = path, 1
        self._header = _read(path, limits)
        self.tensors = [_stored(path, one) for one in self._header.tensors]
        number, count = _place(self._header)
        if count == 1:
            return
        title = f"part {number + 1} of {count}"
        if part:
            self.part = title
            self.remarks = [f"{title} of a model was taken alone; general.file_type of a .gguf file says what it is"]
            if any(one.type_name == "NVFP4" for one in self.tensors):
                self.remarks.append("factors of NVFP4 tensors that are in other parts are not applied")
            return
        name = part_name(path.name)
        if name is None or (name.number, name.count) != (number + 1, count):
            expected = f"NAME-{number + 1:05}-of-{count:05}.gguf"
            raise FileError(
                f"{path}: says that it is {title} of a split model, and is not named {expected}: rename all parts so, "
                "or say `part` to take it alone"
            )
        if number:
            first = name.of_number(1)
            there = "" if path.with_name(first).exists() else " (missing)"
            raise FileError(
                f"{path}: is {title} of a split model; give its first part, {first}{there}, which stands for all, or "
                "`part` to take it alone"
            )
        self._add_parts(name, limits, follow_links)

    def _add_parts(self, name: PartName, limits: Limits, follow_links: bool) -> None:
        """Read the headers of the other parts, and have all tensors in one."""
        path = self.path
        missing, total = missing_parts([name], {path.name, *os.listdir(path.parent)})
        if total:
            raise FileError(
                f"{path}: is {name} of a split model, and {are_missing(missing, total)} in its folder; "
                "`part` takes it alone"
            )
        used, names = self._header.nbytes, {one.name for one in self.tensors}
        for number in range(2, name.count + 1):
            entry = file_in(path.parent, name.of_number(number), follow=follow_links)
            other = path.with_name(entry.name)
            if entry.problem:
                raise FileError(f"{other}: {entry.problem}")
            header = _read(other, limits, used, len(names))
            if _place(header) != (number - 1, name.count):
                raise FileError(f"{other}: must be part {number} of {name.count}, as its name says; its keys differ")
            used += header.nbytes
            for one in header.tensors:
                if one.name in names:
                    raise FileError(f"{other}: has tensor {ascii(one.name)[:80]}, which an earlier part has too")
                names.add(one.name)
                self.tensors.append(_stored(other, one))
        expected = self._header.integer(TENSORS)
        if expected is not None and expected != len(names):
            raise FileError(f"{path}: its split.tensors.count is {expected}; its {name.count} parts have {len(names)}")
        self._header = self._header.without(NUMBER, COUNT, TENSORS)
        self.file_count = name.count
        self.remarks = [f"the {name.count} files of the split model become one"]

    def arrange(self, outputs: Sequence[OutputTensor], target: Path, overwrite: bool = False) -> OutputFiles:
        """Return a .gguf file with the same keys, or a .safetensors file.

        Raises FileError for a .gguf file of tensors that were all cast alike: engines want some of them as they are.
        """
        if target.suffix == SAFETENSORS:
            return arrange_safetensors(outputs, target)
        if any(output.rules is not None for output in outputs):
            raise FileError(f"{target}: a .gguf file is converted by a recipe, which keeps norms and the like in F32")
        if self.part and len(outputs) != len(self.tensors):
            raise FileError(
                f"{target}: {self.part} would have {len(outputs)} tensors in place of {len(self.tensors)}, and the "
                "split.tensors.count of the model would be wrong; convert the whole model"
            )
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
