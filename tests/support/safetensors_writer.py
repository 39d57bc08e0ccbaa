"""`save_file` of the safetensors package, written by hand: the same bytes, where the package is missing too."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

NAMES = {  # in the order of the package: tensors of these types in turn, and by name
    "uint64": "U64", "int64": "I64", "float64": "F64", "complex64": "C64", "float32": "F32", "uint32": "U32",
    "int32": "I32", "bfloat16": "BF16", "float16": "F16", "uint16": "U16", "int16": "I16",
    "float8_e5m2fnuz": "F8_E5M2FNUZ", "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e8m0fnu": "F8_E8M0",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "int8": "I8", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
_PLACES = {name: place for place, name in enumerate(NAMES)}


def save_file(
    tensors: Mapping[str, np.ndarray[Any, Any]], path: str | Path, metadata: dict[str, str] | None = None
) -> None:
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    content = b""
    for name, array in sorted(tensors.items(), key=lambda one: (_PLACES[one[1].dtype.name], one[0])):
        start, content = len(content), content + array.tobytes()
        offsets = [start, len(content)]
        header[name] = {"dtype": NAMES[array.dtype.name], "shape": array.shape, "data_offsets": offsets}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + content)
