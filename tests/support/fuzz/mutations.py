"""Mutations that know the formats: an input in, a changed input out, the same one for the same numbers drawn."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import random
import struct
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

from support import gguf_files
from support.optional import Missing, optional
from support.paths import table

onnx: Any = optional("onnx")

NUMBERS = (0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 64, 127, 128, 255, 256, 4096, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1,
           2**32, 2**53, 2**61, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -1, -2, 10**30)  # fmt: skip

WORDS = tuple(word.replace("SURROGATE", "\ud800") for word in table(__file__)["words"])  # which TOML cannot hold
"""What stands in these files, and hostile texts; the first 60 of which become names in ONNX models."""


def mutate(reader: str, content: bytes, rng: random.Random, largest: int = 1 << 13) -> bytes:
    """Return an input that differs: in a field of its format, or in its bytes."""
    changed = content
    if rng.random() < 0.8:
        with contextlib.suppress(Exception):  # the input need not be of the format
            changed = _STRUCTURES[reader](content, rng)
    if changed == content or rng.random() < 0.15:
        changed = _bytes(changed, rng)
    return changed[:largest]


def _bytes(content: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at, how = rng.randint(0, len(content)), rng.randrange(5)
        if how == 0:
            content = content[:at] + rng.randbytes(rng.randint(1, 8)) + content[at:]
        elif how == 1:
            content = content[:at] + content[at + rng.randint(1, 16) :]
        elif how == 2:
            content = content[:at] + rng.randbytes(1) + content[at + 1 :]
        elif how == 3:
            number = (rng.choice(NUMBERS) % 2**64).to_bytes(8, "little")[: rng.choice((1, 2, 4, 8))]
            content = content[:at] + number + content[at + len(number) :]
        else:
            content = content[:at]
    return content


def _scalar(rng: random.Random) -> Any:
    how = rng.randrange(6)
    if how < 2:
        return rng.choice(NUMBERS)
    if how < 4:
        return rng.choice(WORDS)
    return rng.choice([None, True, False, 0.5, -1e300, float("nan"), [], {}, [1], ["F32", 2], {"a": 1}, [[[0]]]])


def _change(value: Any, rng: random.Random) -> Any:
    """Return a piece of JSON with one place changed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        fields = dict(value)
        name = rng.choice(list(fields))
        how = rng.randrange(8)
        if how == 0:
            del fields[name]
        elif how == 1:
            fields[rng.choice(WORDS)] = fields.pop(name)
        elif how == 2:
            fields[rng.choice(WORDS)] = _scalar(rng)
        elif how == 3:
            fields[name] = fields[rng.choice(list(fields))]
        else:
            fields[name] = _change(fields[name], rng)
        return fields
    if isinstance(value, list) and value and rng.random() < 0.9:
        items, at, how = list(value), rng.randrange(len(value)), rng.randrange(5)
        if how == 0:
            del items[at]
        elif how == 1:
            items.insert(at, _scalar(rng))
        else:
            items[at] = _change(items[at], rng)
        return items
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.5:
        return value + rng.choice((-8, -1, 1, 2, 8, value))
    if isinstance(value, str) and rng.random() < 0.3:
        at = rng.randint(0, len(value))
        return value[:at] + rng.choice(WORDS) + value[at + rng.randint(0, 4) :]
    return _scalar(rng)


def _json_text(value: Any, rng: random.Random) -> bytes:
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, 1)))
    if rng.random() < 0.05 and text.startswith("{") and len(text) > 2:  # a name twice
        text = "{" + text[1:-1] + ", " + text[1:]
    return text.encode("utf-8", "surrogatepass")


def _json(content: bytes, rng: random.Random) -> bytes:
    value = json.loads(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        value = _change(value, rng)
    return _json_text(value, rng)


def _config(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(64) if rng.random() < 0.1 else content[0]
    return bytes([place]) + _json(content[1:], rng)


_BITS = {"F64": 64, "I64": 64, "U64": 64, "C64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "F4": 4,
         "F6_E2M3": 6, "F6_E3M2": 6, "I16": 16, "U16": 16}  # fmt: skip


def _safetensors(content: bytes, rng: random.Random) -> bytes:
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if rng.random() < 0.2 and "lowprec" in header.get("__metadata__", {}):
            note = _change(json.loads(header["__metadata__"]["lowprec"]), rng)
            header["__metadata__"]["lowprec"] = json.dumps(note)
        else:
            header = _change(header, rng)
    if rng.random() < 0.7:  # places that fit the types and shapes, so that what is behind the header is reached
        at = 0
        for name, entry in header.items():
            with contextlib.suppress(Exception):
                if name != "__metadata__":
                    size = _BITS.get(entry["dtype"], 8)
                    for axis in entry["shape"]:
                        size *= axis
                    if 0 <= size < 1 << 15:
                        entry["data_offsets"] = [at, at + size // 8]
                        at += size // 8
        data = (data + rng.randbytes(max(0, at - len(data))))[:at]
    if data and rng.random() < 0.2:
        data = rng.randbytes(len(data))
    text = _json_text(header, rng)
    claimed = len(text) if rng.random() < 0.97 else rng.choice(NUMBERS) % 2**64
    return claimed.to_bytes(8, "little") + text + data


def _npy(content: bytes, rng: random.Random) -> bytes:
    wide = 2 if content[6] == 1 else 4
    length = int.from_bytes(content[8 : 8 + wide], "little")
    start = 8 + wide
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fields = ast.literal_eval(content[start : start + length].decode("latin-1").strip())
    data = content[start + length :]
    shape = fields["shape"]
    for _ in range(rng.randint(1, 2)):
        fields = _change(fields | {"shape": list(shape)} if isinstance(shape, tuple) else fields, rng)
        shape = fields.get("shape")
        if isinstance(shape, list) and rng.random() < 0.9:
            shape = fields["shape"] = tuple(shape)
    if rng.random() < 0.7 and isinstance(shape, tuple):
        size = {"1": 1, "2": 2, "4": 4, "8": 8}.get(str(fields.get("descr"))[-1:], 1)
        for axis in shape:
            size *= axis if isinstance(axis, int) else 1
        if 0 <= size < 1 << 12:
            data = (data + rng.randbytes(max(0, size - len(data))))[:size]
    text = (repr(fields) + "\n").encode("utf-8", "surrogatepass")
    version = rng.choice((1, 1, 1, 2, 3, 4))
    return content[:6] + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text + data


def _npz(content: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.4:  # a field of the records
        place = rng.choice([content.find(b"PK\x01\x02"), content.rfind(b"PK\x01\x02"), content.rfind(b"PK\x05\x06"), 0])
        at = max(0, place) + rng.randrange(4, 46)
        number = struct.pack("<Q", rng.choice(NUMBERS) % 2**64)[: rng.choice((1, 2, 4))]
        return content[:at] + number + content[at + len(number) :]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    out = io.BytesIO()
    chosen = rng.randrange(len(members))
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore")
        for place, (info, text) in enumerate(members):
            fresh = zipfile.ZipInfo(info.filename)
            fresh.comment, fresh.compress_type = info.comment, info.compress_type
            if place == chosen:
                how = rng.randrange(6)
                if how == 0:
                    fresh.filename = rng.choice(WORDS) + rng.choice(("", ".npy"))
                elif how == 1:
                    fresh.comment = b"format=" + rng.choice(WORDS).encode("utf-8", "replace")
                elif how == 2:
                    fresh.comment = b"format=" + json.dumps(_change(_DESCRIBED, rng)).encode()
                elif how == 3:
                    fresh.compress_type = rng.choice((0, 8, 12, 14))
                else:
                    text = _npy(text, rng)
            archive.writestr(fresh, text)
            if place == chosen and rng.random() < 0.1:
                archive.writestr(fresh, text)
    return out.getvalue()


_DESCRIBED = {"name": "f", "bits": 7, "exponent_bits": 4, "mantissa_bits": 2, "bias": 7, "nan": "none", "inf": False}


def _onnx(content: bytes, rng: random.Random) -> bytes:
    if isinstance(onnx, Missing):
        return content
    model = onnx.ModelProto.FromString(content)
    tensors = model.graph.initializer
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        tensor, how = rng.choice(tensors), rng.randrange(12)
        if how == 0:
            tensor.data_type = rng.choice((*range(30), 99, -1, 2**31 - 1))
        elif how == 1:
            tensor.dims.append(rng.choice(NUMBERS[:20]))
        elif how == 2 and tensor.dims:
            tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice((-1, 0, 1, 2, 8, 2**31, 2**62))
        elif how == 3:
            tensor.name = rng.choice(WORDS[:60])
        elif how == 4:
            tensor.raw_data = rng.randbytes(rng.choice((0, 1, 4, 8, 12, 64)))
        elif how == 5:
            getattr(tensor, rng.choice(("float_data", "int32_data", "int64_data", "double_data"))).append(
                rng.choice((0, 1, 300))
            )
        elif how == 6:
            tensor.data_location = rng.choice((0, 1))
            key = rng.choice(("location", "offset", "length", "checksum"))
            tensor.external_data.add(
                key=key, value=rng.choice(("x.data", "0", "64", "-1", "1e3", "../x", "", str(2**64)))
            )
        elif how == 7:
            tensors.add().CopyFrom(tensor)
        elif how == 8:
            model.opset_import[0].version = rng.choice((-1, 0, 1, 13, 19, 21, 23, 24, 28, 2**62))
        elif how == 9:
            model.graph.node.add(
                op_type=rng.choice(("Cast", "If", "")), input=[tensor.name], output=[rng.choice(WORDS[:60])]
            )
        elif how == 10:
            tensor.ClearField(rng.choice(("raw_data", "dims", "data_type", "name", "external_data")))
        else:
            sparse = model.graph.sparse_initializer.add()
            sparse.values.CopyFrom(tensor)
    return model.SerializeToString()


def _gguf(content: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.5:  # a number of four or eight bytes, where numbers are
        at = rng.choice((4, 8, 16, rng.randrange(24, max(25, len(content)))))
        wide = rng.choice((4, 8))
        number = (rng.choice(NUMBERS) % 2 ** (8 * wide)).to_bytes(wide, "little")
        return content[:at] + number + content[at + wide :]
    alignment = rng.choice((32, 32, 32, 8, 64, 0, 48))
    keys = [gguf_files.number("general.alignment", alignment)] if rng.random() < 0.5 else []
    for _ in range(rng.randrange(3)):
        kind = rng.choice((*range(13), 13, 99))
        body = rng.randbytes(rng.choice((1, 2, 4, 8)))
        if kind == 8:
            body = gguf_files.text(rng.choice(WORDS).encode("utf-8", "replace"))
        elif kind == 9:
            body = struct.pack("<IQ", rng.randrange(14), rng.choice(NUMBERS[:8])) + rng.randbytes(rng.randrange(32))
        keys.append(gguf_files.text(rng.choice(WORDS).encode("utf-8", "replace")) + struct.pack("<I", kind) + body)
    entries, at = [], 0
    for place in range(rng.randrange(1, 4)):
        kind, (length, nbytes) = rng.choice(list(_BLOCKS.items()))
        rows = rng.choice((1, 2, 3))
        axes = [
            (length, rows), (length, 1, rows), (length * rows,), (length + 1, rows), (rng.choice(NUMBERS) % 2**64, 2),
        ]  # fmt: skip
        which = rng.choice((0, 0, 0, 1, 2, 3, 4))
        name = rng.choice((f"blk.{place}.attn_q.weight", "token_embd.weight", "output.weight", rng.choice(WORDS)))
        offset = at if rng.random() < 0.9 else rng.choice(NUMBERS) % 2**64
        entries.append(gguf_files.entry(name.encode("utf-8", "replace"), axes[which], kind, offset))
        at += -(-rows * nbytes // 32) * 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(entries), len(keys)) + b"".join(keys + entries)
    if rng.random() < 0.1:
        at = rng.randrange(at + 1)
    return head + bytes(-len(head) % 32) + rng.randbytes(at)


_BLOCKS = {0: (8, 32), 1: (8, 16), 30: (8, 16), 28: (4, 32), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24),
           8: (32, 34), 39: (32, 17), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
           16: (256, 66), 24: (8, 8), 26: (8, 32), 99: (1, 1)}  # fmt: skip

_STRUCTURES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "safetensors": _safetensors, "npy": _npy, "npz": _npz, "onnx": _onnx, "index": _json, "config": _config,
    "gguf": _gguf,
}  # fmt: skip
