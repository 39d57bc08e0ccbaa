"""External data of ONNX models: where they lie, and what their files are called."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from ...spec.formats import Format
from ...spec.packing import packed_bytes
from ..files.symbolic_links import stays_in
from .no_checkpoint import START, check_pointer
from .tensors import FileRegion

if TYPE_CHECKING:
    import onnx

__all__ = ["data_name", "is_external", "is_ours", "nbytes_of", "region_of"]

_EXTERNAL = 1
"""TensorProto.EXTERNAL of onnx.proto."""


def is_external(tensor: onnx.TensorProto) -> bool:
    """Whether the bytes of a tensor lie in a file of their own."""
    return tensor.data_location == _EXTERNAL


def nbytes_of(tensor: onnx.TensorProto, fmt: Format) -> int:
    """Return how many bytes the shape of a tensor asks for."""
    size = 1
    for length in tensor.dims:
        if length < 0:
            raise ValueError(f"tensor {ascii(tensor.name)[:80]} has a negative length")
        size *= length
    return packed_bytes(size, fmt)


def _path(location: str, folder: Path, follow_links: bool) -> Path | None:
    """Return the file that a location means, or None where it leads out of the model's folder.

    With `follow_links` links may lead out of it; a location that does so by itself never may.
    """
    if not location or "\0" in location or os.path.isabs(location):
        return None
    path = Path(os.path.realpath(folder / location))
    climbs = os.pardir in Path(os.path.normpath(location)).parts
    return path if stays_in(path, folder) or (follow_links and not climbs) else None


def region_of(tensor: onnx.TensorProto, fmt: Format, model: Path, *, follow_links: bool = False) -> FileRegion:
    """Return where external data lie: below the model's folder, or where links in it may lead."""
    title = f"tensor {ascii(tensor.name)[:80]}"
    fields = {entry.key: entry.value for entry in tensor.external_data}
    if not all(isinstance(text, str) for text in (tensor.name, *fields, *fields.values())):  # protobuf gives bytes
        raise ValueError(f"{title} has external data named in no UTF-8")
    location, wanted = fields.get("location", ""), nbytes_of(tensor, fmt)
    path = _path(location, model.parent, follow_links)
    if path is None:
        raise ValueError(f"{title} has its data at {ascii(location)[:80]}, outside the model's folder")
    if not path.is_file() or path.samefile(model):
        raise ValueError(f"{title} has its data in {ascii(location)[:80]}, which is no file of data")
    with path.open("rb") as stream:
        check_pointer(path, stream.read(START))
    try:
        offset = int(fields.get("offset", "0"))
        length = int(fields.get("length", str(path.stat().st_size - offset)))
    except ValueError:
        raise ValueError(f"{title} has an offset or a length that is no number") from None
    if length != wanted or offset < 0 or offset + length > path.stat().st_size:
        raise ValueError(
            f"{title} needs {wanted} bytes of {ascii(location)[:80]}; it names {length} at {offset}, "
            f"of {path.stat().st_size}"
        )
    return FileRegion(path, offset, length)


def data_name(target: Path, overwrite: bool) -> str:
    """Return how the data of a new model will be called: a name that no other run chooses.

    Without `overwrite` of two runs for one model one alone can succeed, and the plain name will do.
    """
    plain = f"{target.name}.data"
    if not overwrite and not os.path.lexists(target.with_name(plain)):
        return plain
    return f"{target.name}.{secrets.token_hex(4)}.data"


def is_ours(name: str, target: Path) -> bool:
    """Whether data are called as only `data_name` calls those of a model."""
    return re.fullmatch(re.escape(target.name) + r"(\.[0-9a-f]+)?\.data", name) is not None
