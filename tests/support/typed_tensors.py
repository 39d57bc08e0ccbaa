"""safetensors files of arrays in any type, codes, scales, FP4 values, packed words; what a conversion writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from lowprec.checkpoints import convert
from support.checkpoint_files import parse, raw_file
from support.safetensors_writer import NAMES

Array = np.ndarray[Any, Any]
Tensors = Mapping[str, Array]

FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)

DTYPES = {name: np.dtype(getattr(ml_dtypes, dtype, dtype)) for dtype, name in NAMES.items()}
BF16, F8, E8M0 = np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e8m0fnu)
TARGETS = {"bfloat16": BF16, "float16": np.dtype(np.float16), "float32": np.dtype(np.float32)}


def write_tensors(path: Path, tensors: Tensors, metadata: dict[str, str] | None = None) -> Path:
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    content = b""
    for name, array in tensors.items():
        data = array.tobytes()
        offsets = [len(content), len(content) + len(data)]
        header[name] = {"dtype": NAMES[array.dtype.name], "shape": array.shape, "data_offsets": offsets}
        content += data
    return raw_file(path, header, content)


def read_tensors(path: Path) -> dict[str, Array]:
    """Return the tensors of a file, or of all files of a folder."""
    if path.is_dir():
        return {name: one for file in sorted(path.glob("*.safetensors")) for name, one in read_tensors(file).items()}
    header, content = parse(path)
    header.pop("__metadata__", None)
    return {
        name: np.frombuffer(content[slice(*one["data_offsets"])], DTYPES[one["dtype"]]).reshape(one["shape"])
        for name, one in header.items()
    }


def converted(source: Path | str, target: str, **options: Any) -> dict[str, Array]:
    """Convert a checkpoint, and return the tensors of the target."""
    convert(source, target, **options)
    return read_tensors(Path(target))


def write_model(folder: Path, shards: Mapping[str, Tensors], config: Mapping[str, Any] | str) -> Path:
    """Write shards, their index and a config.json."""
    folder.mkdir()
    places = {}
    for shard, tensors in shards.items():
        write_tensors(folder / shard, tensors)
        places.update(dict.fromkeys(tensors, shard))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return folder


def write_in_turn(folder: Path, tensors: Tensors, config: Mapping[str, Any]) -> Path:
    """Write a model whose tensors lie in two shards in turn."""
    names = list(tensors)
    return write_model(
        folder, {f"model-{i}.safetensors": {n: tensors[n] for n in names[i::2]} for i in range(2)}, config
    )


def nibbles(codes: Array) -> Array:
    """Return codes of 4 bits two to a byte, the first one in the low bits."""
    pairs = codes.astype(np.uint8).reshape(*codes.shape[:-1], -1, 2)
    return np.asarray(pairs[..., 0] | pairs[..., 1] << 4, np.uint8)


def words(codes: Array, bits: int) -> Array:
    """Return rows of codes as rows of bits in 32-bit words, the first code in the lowest bits."""
    count = -(-codes.shape[1] * bits // 32)
    rows = [sum(int(code) << (bits * at) for at, code in enumerate(row)) for row in codes]
    data = b"".join(row.to_bytes(4 * count, "little") for row in rows)
    return np.frombuffer(data, "<i4").reshape(len(codes), count)


def random_codes(shape: tuple[int, ...], seed: int = 0) -> Array:
    """Return E4M3 codes, no NaN among them, but all others."""
    codes = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    codes[(codes & 0x7F) == 0x7F] = 0x80
    return codes.view(F8)


def random_scales(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 1) -> Array:
    rng = np.random.default_rng(seed)
    if dtype == E8M0:
        return rng.integers(112, 136, shape, np.uint8).view(E8M0)
    return np.asarray(rng.uniform(0.001, 0.1, shape), dtype)


def in_blocks(scales: Array, shape: tuple[int, ...], high: int = 128, wide: int = 128) -> Array:
    """Return a scale for each element of blocks of the last two axes."""
    whole = np.repeat(np.repeat(scales.astype(np.float32), high, -2), wide, -1)
    return np.asarray(whole[..., : shape[-2], : shape[-1]])


def rounded(x: Array, to: str) -> bytes:
    assert x.dtype == np.float32
    with np.errstate(over="ignore"):
        return x.astype(TARGETS[to]).tobytes()


W = "model.layers.0.mlp.up_proj.weight"
FP8_BLOCKS = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}


def compressed(num_bits: int = 4, **weights: Any) -> dict[str, Any]:
    """Return what config.json says of weights of compressed-tensors, in one group."""
    groups = {"group_0": {"targets": ["Linear"], "weights": {"num_bits": num_bits, **weights}}}
    return {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["lm_head"]}


def block_model() -> tuple[Path, Array]:
    """Write block FP8 whose scales are in another shard; return the values in float32 as well."""
    codes, scales = random_codes((300, 200)), random_scales((3, 2))
    shards = {"a.safetensors": {W: codes}, "b.safetensors": {W + "_scale_inv": scales, "n.weight": np.ones(3, BF16)}}
    folder = write_model(Path("model"), shards, {"quantization_config": FP8_BLOCKS})
    return folder, codes.astype(np.float32) * in_blocks(scales, codes.shape)
