"""Block FP8 as DeepSeek stores it: DeepGEMM's bits, the layout that engines read, and what is read again."""

from __future__ import annotations

import json
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import numpy as np
import torch
from support.bits import bits_of
from support.checkpoint_files import configuration, leftovers
from support.typed_tensors import BF16, read_tensors, write_in_turn

from lowprec import reference
from lowprec.checkpoints import convert
from lowprec.checkpoints.files.errors import FileError
from lowprec.checkpoints.inference_engines import deepseek_fp8
from lowprec.checkpoints.schemes.scale_grid import Grid
from lowprec.checkpoints.schemes.scheme import Packing, Scheme
from lowprec.spec.formats import BFLOAT16, FLOAT8_E4M3FN, FLOAT16, FLOAT32, Format

Array = np.ndarray[Any, Any]
BLOCKS = Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(128, 128))
TYPES = {BFLOAT16: torch.bfloat16, FLOAT16: torch.float16, FLOAT32: torch.float32}
TOOLS = {"deepseek-fp8": deepseek_fp8.quantize, "deepseek-fp8-ue8m0": deepseek_fp8.quantize_by_powers}


def block_cast(x: torch.Tensor, powers: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return scales and codes, computed in torch as DeepGEMM publishes it: the oracle.

    The factor is 448 / amax in the release of February 2025; with powers of two, 1 / scale in that of July 2025.
    """
    rows, columns = x.shape
    padded = torch.nn.functional.pad(x, (0, -columns % 128, 0, -rows % 128))
    blocks = padded.reshape(padded.shape[0] // 128, 128, -1, 128)
    largest = blocks.abs().float().amax(dim=(1, 3), keepdim=True).clamp(min=1e-4)
    scales = largest / 448.0
    factors = 448.0 / largest
    if powers:
        bits = scales.view(torch.int32)
        exponents = (bits >> 23) + ((bits & 0x7FFFFF) != 0).int()
        scales = (exponents << 23).view(torch.float32)
        factors = 1.0 / scales
    codes = (blocks * factors).to(torch.float8_e4m3fn).reshape(padded.shape)
    return scales[:, 0, :, 0], codes[:rows, :columns]


def weights(kind: str, rows: int = 300, columns: int = 330) -> torch.Tensor:
    """Return a float32 matrix, neither side of which is whole blocks."""
    random = np.random.RandomState(3)
    x = random.standard_normal((rows, columns)) * 0.05
    if kind == "zeros":
        x[:128, 128:256] = 0
        x[:140, :128] = -0.0
    elif kind == "tiny":  # the first and the last blocks of rows are below 1e-4, where the scale stays the same
        x[:128] *= 2.0**-20
        x[256:] *= 2.0**-100
    elif kind == "outliers":
        x[5, 7], x[200, 130], x[299, 329] = 3e38, -6e4, 1.7
    elif kind == "ties":  # few significant bits: products fall half-way between codes
        x = random.randint(-63, 64, x.shape) * random.choice([2.0**-9, 3 * 2.0**-7, 7.0], (rows, 1))
    return torch.tensor(x, dtype=torch.float32)


@pytest.mark.parametrize("kind", ["normal", "zeros", "tiny", "outliers", "ties"])
@pytest.mark.parametrize("fmt", TYPES, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("recipe", TOOLS)
def test_the_bits_of_deep_gemm(recipe: str, fmt: Format, kind: str) -> None:
    x = weights(kind).clamp(-float(fmt.max), float(fmt.max)).to(TYPES[fmt])
    scales, codes = TOOLS[recipe](bits_of(x), fmt, BLOCKS)
    expected_scales, expected_codes = block_cast(x, recipe.endswith("ue8m0"))
    assert np.array_equal(scales, bits_of(expected_scales))
    assert np.array_equal(codes, expected_codes.view(torch.uint8).numpy())
    assert not ((codes & 0x7F) == 0x7F).any()


@pytest.mark.parametrize("recipe", TOOLS)
def test_rows_that_are_wide_are_multiplied_in_parts(recipe: str) -> None:
    """No copy in float32 is made of all that is quantized at once: 128 rows may be larger than the limit of memory."""
    x = weights("normal", 130, (1 << 16) + 70).to(torch.bfloat16)
    stored = bits_of(x)
    tracemalloc.start()
    try:
        scales, codes = TOOLS[recipe](stored, BFLOAT16, BLOCKS)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * stored.nbytes
    expected_scales, expected_codes = block_cast(x, recipe.endswith("ue8m0"))
    assert np.array_equal(scales, bits_of(expected_scales))
    assert np.array_equal(codes, expected_codes.view(torch.uint8).numpy())


def test_a_scale_and_codes_by_hand() -> None:
    """448 takes 448 as its scale 1; ties go to even codes, −0 and what is rounded to it keep the sign."""
    x = np.zeros((1, 8), np.float32)
    x[0] = [448, 17, 19, -17, -0.0, 2.0**-10, -(2.0**-10), 1.5 * 2.0**-9]
    scales, codes = deepseek_fp8.quantize(x.view(np.uint32), FLOAT32, BLOCKS)
    assert scales.view(np.float32).tolist() == [[1.0]]
    assert codes.tolist() == [[0x7E, 0x58, 0x5A, 0xD8, 0x80, 0x00, 0x80, 0x02]]


@pytest.mark.parametrize("largest", [448.0, 449.0, 1.0, 3.0, 1.75, 1e-3, 2.0**100, 3e38])
def test_powers_of_two_are_the_smallest_that_suffice(largest: float) -> None:
    """The scale is the smallest power of two times 448 that is not below the largest magnitude; codes are exact."""
    x = np.array([[largest, -largest / 3, largest / 1000]], np.float32)
    scales, codes = deepseek_fp8.quantize_by_powers(x.view(np.uint32), FLOAT32, BLOCKS)
    scale = Fraction(float(scales.view(np.float32)[0, 0]))
    assert scale.numerator == 1 or scale.denominator == 1
    assert 448 * scale / 2 < Fraction(float(x[0, 0])) <= 448 * scale
    quotients = [Fraction(float(one)) / scale for one in x[0]]
    assert codes[0].tolist() == [reference.encode(one, FLOAT8_E4M3FN) for one in quotients]


L = "model.layers"
QUANTIZED = {
    f"{L}.0.self_attn.kv_a_proj_with_mqa.weight": (160, 192), f"{L}.0.self_attn.o_proj.weight": (192, 320),
    f"{L}.0.self_attn.indexer.wk.weight": (128, 192), f"{L}.1.mlp.experts.0.up_proj.weight": (128, 256),
    f"{L}.1.mlp.shared_experts.down_proj.weight": (300, 100), f"{L}.2.mlp.experts.gate_up_proj": (3, 200, 192),
    f"{L}.2.mlp.experts.down_proj": (3, 192, 100),
}  # fmt: skip
"""Matrices, and experts as one parameter each, whose sides are whole blocks or not."""

KEPT = {
    f"{L}.0.mlp.gate.weight": (4, 192), f"{L}.0.self_attn.indexer.weights_proj.weight": (4, 192),
    f"{L}.3.eh_proj.weight": (192, 384), f"{L}.3.enorm.weight": (192,), "lm_head.weight": (16, 192),
    "model.embed_tokens.weight": (16, 192),
}  # fmt: skip
IGNORED = [
    "lm_head", f"{L}.0.mlp.gate", f"{L}.0.self_attn.indexer.weights_proj", f"{L}.3.eh_proj", "model.embed_tokens",
]  # fmt: skip
BIAS = f"{L}.0.mlp.gate.e_score_correction_bias"
CONFIG = {"model_type": "deepseek_v3", "torch_dtype": "bfloat16", "hidden_size": 192}


def model() -> dict[str, Array]:
    random = np.random.RandomState(5)
    tensors: dict[str, Array] = {
        name: (random.standard_normal(shape) * 0.05).astype(BF16) for name, shape in (QUANTIZED | KEPT).items()
    }
    tensors[f"{L}.0.self_attn.o_proj.weight"][:128, 128:256] = 0
    tensors[f"{L}.2.mlp.experts.down_proj"][1] = -0.0
    tensors[f"{L}.2.mlp.experts.gate_up_proj"][2, 150, 7] = 1000
    return {**tensors, BIAS: np.linspace(0, 1, 4, dtype=np.float32)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_in_turn(tmp_path / "in", model(), CONFIG)


def expected_of(weight: Array, powers: bool) -> tuple[Array, Array]:
    """Return the scales and the codes of every matrix of a weight."""
    matrices = torch.tensor(weight.astype(np.float32)).reshape(-1, *weight.shape[-2:]).bfloat16()
    parts = [block_cast(matrix, powers) for matrix in matrices]
    scales = torch.stack([one for one, _ in parts]).numpy()
    codes = torch.stack([one.view(torch.uint8) for _, one in parts]).numpy()
    return scales.reshape(*weight.shape[:-2], *scales.shape[1:]), codes.reshape(weight.shape)


@pytest.mark.parametrize("recipe", TOOLS)
def test_what_is_written_and_read_again(recipe: str, folder: Path, tmp_path: Path) -> None:
    """Codes keep the name, scales are named `_scale_inv`; each matrix of experts has blocks of its own.

    The values are codes times scales, rounded to bfloat16; names, shapes and description are the model's again.
    """
    powers = recipe.endswith("ue8m0")
    report = convert(folder, tmp_path / "out", recipe=recipe, verify=True)
    assert {one.name for one in report.tensors if one.action == "converted"} == QUANTIZED.keys()
    convert(tmp_path / "out", tmp_path / "back", to="bfloat16")
    source, written, back = model(), read_tensors(tmp_path / "out"), read_tensors(tmp_path / "back")
    assert back.keys() == source.keys()
    assert written.keys() == source.keys() | {f"{name}_scale_inv" for name in QUANTIZED}
    for name, shape in QUANTIZED.items():
        scales, codes = expected_of(source[name], powers)
        assert written[name].dtype.name == "float8_e4m3fn"
        assert np.array_equal(written[name].view(np.uint8), codes)
        found = written[f"{name}_scale_inv"]
        assert found.dtype == np.float32
        assert found.shape == (*shape[:-2], -(-shape[-2] // 128), -(-shape[-1] // 128))
        assert np.array_equal(found, scales)
        assert not powers or (np.frexp(found)[0] == 0.5).all()
        spread = scales.repeat(128, axis=-2).repeat(128, axis=-1)[..., : codes.shape[-2], : codes.shape[-1]]
        values = torch.tensor(codes).view(torch.float8_e4m3fn).float() * torch.tensor(spread)
        assert back[name].tobytes() == bits_of(values.bfloat16()).tobytes()
    for name in (*KEPT, BIAS):
        assert written[name].tobytes() == source[name].tobytes()
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    assert index["weight_map"].keys() == written.keys()
    quantization = {
        "activation_scheme": "dynamic", "fmt": "e4m3", "modules_to_not_convert": sorted(IGNORED), "quant_method": "fp8",
        **({"scale_fmt": "ue8m0"} if powers else {}), "weight_block_size": [128, 128],
    }  # fmt: skip
    assert configuration(tmp_path / "out") == {**CONFIG, "quantization_config": quantization}
    assert configuration(tmp_path / "back") == CONFIG


def test_experts_are_kept_as_a_whole(folder: Path, tmp_path: Path) -> None:
    """A module is either quantized or ignored: one of the two parameters of experts cannot be kept alone."""
    out = tmp_path / "out"
    with pytest.raises(FileError, match=r"engines take all weights of 'model\.layers\.2\.mlp\.experts' for quantized"):
        convert(folder, out, recipe="deepseek-fp8", keep="*.2.mlp.experts.down_proj")
    assert not out.exists()
    assert not leftovers(tmp_path)
    convert(folder, out, recipe="deepseek-fp8", keep="*.2.mlp.experts.*")
    ignored = configuration(out)["quantization_config"]["modules_to_not_convert"]
    assert ignored == sorted([*IGNORED, f"{L}.2.mlp.experts"])
