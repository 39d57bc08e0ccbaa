"""The same bytes are written in any cut: whole tensors, or parts of small chunks, on one thread and on several."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support import gguf_files
from support.checkpoint_files import everything, save, values
from support.golden import GOLDEN, PRESETS
from support.tiny_models import experts, experts_config, llama, llama_config, write_folder
from support.typed_tensors import BF16, F8, nibbles, random_codes, random_scales, words, write_in_turn, write_tensors

from lowprec.checkpoints import convert

X = "model.layers.2.mlp.experts."
COMFY = ["comfy-fp8", "comfy-mxfp8", "comfy-nvfp4"]
MANY = ("llama", "W4A16", "MXFP4A16")
PIECES = {
    "memory_limit.LARGEST_CHUNK": 1 << 12, "memory_limit.SMALLEST_CHUNK": 1 << 11, "schemes.cast.CHUNK": 1 << 6,
    **{f"operations.{operation}.PART": 1 for operation in ("quantize", "lossless", "change_codes")},
    "operations.dequantize.PART": 300, "weights.quantized_weight.SMALL": 0,
}  # fmt: skip


def random_model(folder: Path, shapes: dict[str, tuple[int, ...]], **config: Any) -> Path:
    random = np.random.RandomState(5)
    tensors = {name: (random.standard_normal(shape) * 0.05).astype(BF16) for name, shape in shapes.items()}
    return write_in_turn(folder, tensors, config)


def deepseek(folder: Path) -> Path:
    """Write matrices and stacked experts whose sides are no whole blocks."""
    shapes: dict[str, tuple[int, ...]] = {"layers.0.o_proj.weight": (192, 320), "layers.1.down_proj.weight": (300, 100)}
    return random_model(
        folder, {**shapes, f"{X}gate_up_proj": (3, 200, 192), f"{X}down_proj": (3, 192, 100)}, hidden_size=192
    )


def gpt_oss(folder: Path) -> Path:
    return random_model(folder, {f"{X}gate_up_proj": (3, 64, 50), f"{X}down_proj": (3, 96, 64)}, model_type="gpt_oss")


def fnuz(folder: Path) -> Path:
    """Write FP8 of MI300 in which one code of 240, the last one, decides about all rows."""
    codes = random_codes((300, 64)).view(np.uint8)
    codes[codes == 0x80], codes[-1, -1] = 3, 0x7F
    tensors = {"a.weight": codes.view(ml_dtypes.float8_e4m3fnuz), "a.weight_scale": random_scales((300, 1), BF16)}
    return write_in_turn(folder, tensors, {"quantization_config": {"quant_method": "compressed-tensors"}})


def mixed(path: Path) -> Path:
    """Write weights of many layouts in one file, and no configuration."""
    rng = np.random.default_rng(12)
    fp4, scales = rng.integers(0, 16, (3, 12, 96)), rng.integers(110, 140, (3, 12, 3), np.uint8)
    tensors = {
        "a_blocks": nibbles(fp4).reshape(3, 12, 3, 16), "a_scales": scales,
        "b.weight": random_codes((300, 260)), "b.weight_scale_inv": random_scales((3, 3)),
        "c.weight_packed": words(rng.integers(0, 8, (70, 96)), 3), "c.weight_shape": np.array([70, 96]),
        "c.weight_scale": random_scales((70, 3), BF16),
        "c.weight_zero_point": np.ascontiguousarray(words(rng.integers(0, 8, (3, 70)), 3).T),
        "d.weight": nibbles(rng.integers(0, 16, (70, 96))), "d.weight_scale": random_scales((70, 6)).astype(F8),
        "d.weight_scale_2": random_scales(()), "e": random_codes((5, 40, 30)), "e_scale": random_scales((40,)),
    }  # fmt: skip
    return write_tensors(path.with_suffix(".safetensors"), tensors)


def archive(path: Path) -> Path:
    """Write compressed arrays, in both orders, and a quantized one."""
    x, codes = values((100, 301)), np.random.default_rng(13).integers(-128, 128, (300, 40)).astype(np.int8)
    scales = random_scales((300,))
    np.savez_compressed(path.with_suffix(".npz"), x=x, y=x.T, w=codes, w_scale=scales)
    return path.with_suffix(".npz")


def floats(path: Path) -> Path:
    tensors = {
        "w": values((13, 10, 16), 1), "odd": values((5, 9, 7), 2, np.float16), "long": values((3, 1, 901), 3),
        "wide": values((77, 131)), "h": values((4999,), 1, np.float16), "d": values((3, 1001), 2, np.float64),
    }  # fmt: skip
    return save(path.with_suffix(".safetensors"), tensors)


def gguf(path: Path) -> Path:
    """Write a weight of several chunks and parts, plain and in blocks."""
    x, kind = np.random.default_rng(9).standard_normal((600, 2048), np.float32), gguf_files.Type.Q8_0
    blocks = gguf_files.gguf.quants.quantize(x, kind)
    return gguf_files.write(path.with_suffix(".gguf"), {"w.weight": x, "v.weight": (kind, blocks)})


def golden(name: str, _: Path) -> Path:
    return GOLDEN / name


SOURCES: dict[str, Callable[[Path], Path]] = {
    "llama": lambda folder: write_folder(folder, llama(), llama_config()),
    "experts": lambda folder: write_folder(folder, experts(), experts_config()),
    "deepseek": deepseek, "gpt-oss": gpt_oss, "fnuz": fnuz, "mixed": mixed, "archive": archive, "floats": floats,
    **{name: partial(golden, name) for name in ("W4A16", "MXFP4A16")},
    **{name: partial(golden, f"comfy/{name}.safetensors") for name in ("source", *COMFY)},
    "gguf": gguf,
}  # fmt: skip
RECIPES = {
    "llama": [*PRESETS, "w4a16-g32"], "experts": ["nvfp4a16"], "deepseek": ["deepseek-fp8", "deepseek-fp8-ue8m0"],
    "gpt-oss": ["gptoss-mxfp4"], "fnuz": ["fn"], "source": COMFY, "gguf": ["q8_0", "mxfp4", "bf16", "q4_0"],
    "W4A16": [*PRESETS, "w4a16-g32", "deepseek-fp8", "deepseek-fp8-ue8m0"],
    "MXFP4A16": [*PRESETS, "w4a16-g32", "deepseek-fp8", "deepseek-fp8-ue8m0"],
}  # fmt: skip
SCALED: list[dict[str, Any]] = [
    {"to": to, "scale": scale} for to in ("int8", "int4", "float6_e3m2fn")
    for scale in ("tensor", "axis:0", "axis:1", "axis:2", "block:4", "block:7")
]  # fmt: skip
OTHERS: dict[str, list[dict[str, Any]]] = {
    "mixed": [{"to": "bfloat16"}], "archive": [{"to": "float32"}, {"to": "float8_e5m2", "exclude": ["w", "w_scale"]}],
    "floats": [{"to": "float8_e5m2"}, {"to": "int4", "raw": True}, {"to": "float64"}, *SCALED],
    **{name: [{"to": "float32"}] for name in (*COMFY, "gguf")},
}  # fmt: skip
QUICK = ("nvfp4a16 of llama", "fp8-block of llama", "int8 of W4A16", "deepseek-fp8 of MXFP4A16")
"""Of the sources with many recipes; of the others all are quick, on several threads."""

CASES = {
    **{f"{recipe} of {source}": (source, {"recipe": recipe}) for source, those in RECIPES.items() for recipe in those},
    **{f"{source}, {' '.join(map(str, options.values()))}": (source, options)
       for source, those in OTHERS.items() for options in those},
}  # fmt: skip
HOW = {"one thread": {"threads": 1}, "three": {"threads": 3, "max_memory": "110M"}, "resumed": {"resume": True}}
TRIED = [
    *(pytest.param(case, "three", marks=[] if case in QUICK or source not in MANY else pytest.mark.slow)
      for case, (source, _) in CASES.items()),
    *(pytest.param(case, "one thread", marks=pytest.mark.slow) for case in QUICK),
    pytest.param("nvfp4a16 of experts", "resumed", marks=pytest.mark.slow),
]  # fmt: skip
"""Whole tensors are converted on one thread, pieces on several: pieces on one thread are some of both."""


@pytest.mark.parametrize(("case", "how"), TRIED)
def test_the_same_bytes_in_any_cut(case: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, options = CASES[case]
    if source == "gguf":
        pytest.importorskip("gguf")
    path = SOURCES[source](Path("in"))
    suffix = "" if path.is_dir() else ".safetensors" if "to" in options and source == "gguf" else path.suffix
    targets = [Path(f"{name}{suffix}") for name in ("whole", "cut")]
    whole = convert(path, targets[0], threads=1, **options)
    for name, number in PIECES.items():
        monkeypatch.setattr(f"lowprec.checkpoints.{name}", number)
    cut = convert(path, targets[1], verify=source == "floats", **HOW[how], **options)
    found, expected = (everything(one) if one.is_dir() else one.read_bytes() for one in targets)
    assert found == expected
    assert [(one.inexact, one.max_abs_error) for one in cut.tensors] == [
        (one.inexact, one.max_abs_error) for one in whole.tensors
    ]
    assert (cut.total.elements, cut.total.nan) == (whole.total.elements, whole.total.nan)
    assert case != "deepseek-fp8 of MXFP4A16" or any(one.inexact for one in cut.tensors)
