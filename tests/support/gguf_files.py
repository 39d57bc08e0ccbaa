"""GGUF files written and read by gguf-py, and files whose headers lie."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from support.optional import optional

gguf: Any = optional("gguf")
Type: Any = optional("gguf:GGMLQuantizationType")

Array = np.ndarray[Any, Any]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def write(
    path: Path, tensors: dict[str, Any], alignment: int = 32, split: dict[str, Any] | None = None, **numbers: int
) -> Path:
    """Write a model with gguf-py: arrays, or pairs of a type and the bytes of blocks, rows along the last axis.

    `split` are gguf-py's arguments that split it: NAME.gguf becomes NAME-00001-of-00003.gguf and its like.
    """
    writer = gguf.GGUFWriter(path, "llama", **(split or {}))
    if alignment != 32:
        writer.add_custom_alignment(alignment)
    writer.add_name("tiny")
    for key, number in numbers.items():
        writer.add_uint32(key.replace("__", "."), number)
    writer.add_array("tokenizer.ggml.tokens", ["<s>", "é", ""])
    writer.add_array("tokenizer.ggml.scores", [0.5, -1.0, 2.0])
    writer.add_bool("tokenizer.ggml.add_bos_token", True)
    for name, tensor in tensors.items():
        kind, data = tensor if isinstance(tensor, tuple) else (None, tensor)
        if kind is None and data.dtype == BFLOAT16:
            kind, data = Type.BF16, data.view(np.uint8)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def read(path: Path) -> tuple[dict[str, Any], dict[str, tuple[str, tuple[int, ...], bytes]]]:
    """Return the keys of a file, and the types, shapes and bytes of its tensors in their order, as gguf-py has them."""
    reader = gguf.GGUFReader(path)
    keys = {name: field.contents() for name, field in reader.fields.items()}
    tensors = {
        one.name: (one.tensor_type.name, tuple(int(n) for n in one.shape[::-1]), one.data.tobytes())
        for one in reader.tensors
    }
    return keys, tensors


def values_of(path: Path) -> dict[str, Array]:
    """Return the values of the tensors of a file, as gguf-py has them; not those of integers."""
    with np.errstate(all="ignore"):
        return {
            one.name: gguf.quants.dequantize(one.data, one.tensor_type).reshape(one.shape[::-1])
            for one in gguf.GGUFReader(path).tensors
            if one.tensor_type != Type.I32
        }


def text(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + content


def number(key: str, value: int) -> bytes:
    return text(key.encode()) + struct.pack("<II", 4, value)


def entry(name: str | bytes = "a", axes: tuple[int, ...] = (8,), kind: int = 0, offset: int = 0) -> bytes:
    """Return the entry of a tensor, its axes in the order of the file."""
    content = name.encode() if isinstance(name, str) else name
    return text(content) + struct.pack(f"<I{len(axes)}QIQ", len(axes), *axes, kind, offset)


def raw_file(
    path: Path, keys: list[bytes], tensors: list[bytes], data: int = 64, version: int = 3, counts: Any = None,
) -> Path:  # fmt: skip
    """Write a file of given entries; `counts` are the numbers of tensors and keys that it claims to have."""
    claimed = counts or (len(tensors), len(keys))
    content = b"GGUF" + struct.pack("<IQQ", version, *claimed) + b"".join(keys + tensors)
    path.write_bytes(content + bytes(-len(content) % 32) + bytes(data))
    return path
