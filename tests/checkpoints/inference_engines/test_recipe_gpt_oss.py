"""MXFP4 as gpt-oss stores its experts: triton_kernels' bits, the layout that engines read, and what is read again."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import numpy as np
import torch
from support.bits import bits_of
from support.checkpoint_files import configuration, leftovers
from support.typed_tensors import BF16, FP4, read_tensors, write_in_turn

from lowprec import reference
from lowprec.checkpoints import convert
from lowprec.checkpoints.files.errors import FileError
from lowprec.checkpoints.inference_engines import gpt_oss
from lowprec.checkpoints.schemes.scale_grid import Grid
from lowprec.checkpoints.schemes.scheme import Packing, Scheme
from lowprec.spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT8_E8M0FNU, FLOAT16, FLOAT32, Format

Array = np.ndarray[Any, Any]
GROUPS = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E8M0FNU, Grid(1, 32))
TYPES = {BFLOAT16: torch.bfloat16, FLOAT16: torch.float16, FLOAT32: torch.float32}


def downcast(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return scales and codes of the last axis, computed in torch as triton_kernels publishes it: the oracle.

    Codes are found by the numbers half-way between values, those of which are exact ties go to even codes.
    """
    groups = x.float().reshape(*x.shape[:-1], -1, 32)
    ratio = groups.abs().amax(dim=-1, keepdim=True) / 6
    exponents = (ratio.view(torch.int32) + 0x7FFFFF) >> 23
    scale = (exponents << 23).view(torch.float32)
    products = (groups * torch.where(exponents == 0, torch.zeros(()), 1 / scale)).reshape(x.shape)
    size = products.abs()
    code: Any = sum((size > half).to(torch.uint8) for half in (0.25, 1.25, 2.5, 5))
    code = code + sum((size >= half).to(torch.uint8) for half in (0.75, 1.75, 3.5))
    code = code | products.signbit().to(torch.uint8) << 3
    return exponents[..., 0].to(torch.uint8), code[..., ::2] | code[..., 1::2] << 4


def weights(kind: str) -> torch.Tensor:
    random = np.random.RandomState(4)
    x = random.standard_normal((70, 96)) * 0.05
    if kind == "zeros":
        x[3], x[4, :32], x[5, 32:], x[6, ::2] = 0, -0.0, 0, -0.0
    elif kind == "tiny":  # down to groups whose ratio is subnormal, and to those where it is 0 in float32
        x *= 2.0 ** -np.linspace(0, 148, 70)[:, np.newaxis]
        x[-1], x[-2, :40] = 2.0**-149, -(2.0**-149)
    elif kind == "outliers":
        x[0, 5], x[1, 40], x[2] = 3.3e38, -65000, 448
    elif kind == "ties":  # halves of all FP4 values, and largest magnitudes on both sides of 6 times a power of two
        x = random.randint(-24, 25, x.shape) / 4 * 2.0 ** random.randint(-6, 6, (70, 1))
        x[::3, 0], x[1::3, 33] = 6.0, np.nextafter(np.float32(6), np.float32(7))
    return torch.tensor(x, dtype=torch.float32)


@pytest.mark.parametrize("kind", ["normal", "zeros", "tiny", "outliers", "ties"])
@pytest.mark.parametrize("fmt", TYPES, ids=lambda fmt: fmt.name)
def test_the_bits_of_triton_kernels(fmt: Format, kind: str) -> None:
    x = weights(kind).clamp(-float(fmt.max), float(fmt.max)).to(TYPES[fmt])
    scales, codes = gpt_oss.quantize(bits_of(x), fmt, GROUPS)
    expected_scales, expected_codes = downcast(x)
    assert np.array_equal(scales, expected_scales.numpy())
    assert np.array_equal(codes, expected_codes.numpy())


@pytest.mark.parametrize("largest", [6.0, 6.0000005, 3.0, 4.0, 1.0, 0.1, 2.0**-100, 3e38])
def test_the_smallest_scale_that_suffices(largest: float) -> None:
    """The scale is the smallest power of two times 6 that is not below the largest magnitude; codes are exact."""
    x = np.zeros((1, 32), np.float32)
    x[0, :5] = np.float32(largest) * np.array([1, -1, 0.75, -0.3, 0.01], np.float32)
    scales, codes = gpt_oss.quantize(x.view(np.uint32), FLOAT32, GROUPS)
    scale = Fraction(2) ** (int(scales[0, 0]) - 127)
    assert 6 * scale / 2 < Fraction(float(x[0, 0])) <= 6 * scale
    unpacked = [int(byte) >> shift & 15 for byte in codes[0] for shift in (0, 4)]
    assert unpacked[:5] == [reference.encode(Fraction(float(one)) / scale, FLOAT4_E2M1FN) for one in x[0, :5]]


def test_a_group_by_hand() -> None:
    """The scale of 6 is 1, of zeros has code 0; ties go to even codes; −0 and what is rounded to it keep the sign."""
    x = np.zeros((2, 32), np.float32)
    x[0, :10] = [6, 0.25, 0.75, 1.25, -1.75, 2.5, 3.5, -5, -0.0, -0.2]
    scales, codes = gpt_oss.quantize(x.view(np.uint32), FLOAT32, GROUPS)
    assert scales.tolist() == [[127], [0]]
    assert codes[0, :5].tolist() == [0x07, 0x22, 0x4C, 0xE6, 0x88]
    assert not codes[1].any()


E = "model.layers.1.mlp.experts"
EXPERTS = {f"{E}.gate_up_proj": (3, 64, 50), f"{E}.down_proj": (3, 96, 64)}
KEPT = {
    f"{E}.gate_up_proj_bias": (3, 50), f"{E}.down_proj_bias": (3, 64), "model.layers.1.mlp.router.weight": (3, 64),
    "model.layers.1.self_attn.q_proj.weight": (32, 64), "model.layers.1.self_attn.sinks": (4,),
    "model.embed_tokens.weight": (16, 64), "lm_head.weight": (16, 64),
}  # fmt: skip
CONFIG = {"model_type": "gpt_oss", "torch_dtype": "bfloat16"}
ALWAYS_KEPT = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]


def model() -> dict[str, Array]:
    random = np.random.RandomState(6)
    tensors = {name: (random.standard_normal(shape) * 0.05).astype(BF16) for name, shape in (EXPERTS | KEPT).items()}
    tensors[f"{E}.gate_up_proj"][1, :32, 7] = 0
    tensors[f"{E}.gate_up_proj"][2, 5] = -0.0
    tensors[f"{E}.down_proj"][0, 3, 3] = 1000
    return tensors


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_in_turn(tmp_path / "in", model(), CONFIG)


def expected_of(weight: Array) -> tuple[Array, Array]:
    """Return the scales and the codes of experts whose axes are exchanged."""
    scales, codes = downcast(torch.tensor(weight.astype(np.float32)).transpose(1, 2))
    return scales.numpy(), codes.reshape(*scales.shape, 16).numpy()


def test_what_is_written_and_read_again(folder: Path, tmp_path: Path) -> None:
    """Blocks and scales of the experts, whose inputs are the last axis; all else is kept.

    The values are codes times scales, in the shapes of the model; names and description are the model's again.
    """
    report = convert(folder, tmp_path / "out", recipe="gptoss-mxfp4", verify=True)
    assert {one.name for one in report.tensors if one.action == "converted"} == EXPERTS.keys()
    convert(tmp_path / "out", tmp_path / "back", to="bfloat16")
    source, written, back = model(), read_tensors(tmp_path / "out"), read_tensors(tmp_path / "back")
    assert {name: one.shape for name, one in back.items()} == {name: one.shape for name, one in source.items()}
    assert written.keys() == KEPT.keys() | {f"{name}_{part}" for name in EXPERTS for part in ("blocks", "scales")}
    assert written[f"{E}.gate_up_proj_blocks"].shape == (3, 50, 2, 16)
    assert written[f"{E}.down_proj_scales"].shape == (3, 64, 3)
    for name in EXPERTS:
        scales, codes = expected_of(source[name])
        for part, expected in (("scales", scales), ("blocks", codes)):
            assert written[f"{name}_{part}"].dtype == np.uint8
            assert np.array_equal(written[f"{name}_{part}"], expected)
        values = FP4[np.stack([codes & 15, codes >> 4], axis=-1)].reshape(*scales.shape, 32)
        values = np.ldexp(values, scales[..., np.newaxis].astype(np.int32) - 127).reshape(*scales.shape[:2], -1)
        assert back[name].tobytes() == np.ascontiguousarray(values.transpose(0, 2, 1)).astype(BF16).tobytes()
    for name in KEPT:
        assert written[name].tobytes() == source[name].tobytes()
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    assert index["weight_map"].keys() == written.keys()
    quantization = {"modules_to_not_convert": ALWAYS_KEPT, "quant_method": "mxfp4"}
    assert configuration(tmp_path / "out") == {**CONFIG, "quantization_config": quantization}
    assert configuration(tmp_path / "back") == CONFIG


def test_experts_that_are_kept(folder: Path, tmp_path: Path) -> None:
    """Inputs that are no whole groups are kept, as is what is named; a layer's experts are kept all or none."""
    odd = {f"model.layers.0.mlp.experts.{last}": np.ones((2, 40, 40), BF16) for last in ("gate_up_proj", "down_proj")}
    report = convert(
        write_in_turn(tmp_path / "odd", {**model(), **odd}, CONFIG), tmp_path / "out", recipe="gptoss-mxfp4"
    )
    reasons = {one.name: one.why for one in report.tensors if one.name in odd}
    assert set(reasons.values()) == {"its rows are not divided into groups of 32"}
    quantization = configuration(tmp_path / "out")["quantization_config"]
    assert quantization["modules_to_not_convert"] == [*ALWAYS_KEPT, "model.layers.0.mlp.experts"]
    with pytest.raises(FileError, match=r"engines take all weights of 'model\.layers\.1\.mlp\.experts' for quantized"):
        convert(folder, tmp_path / "partly", recipe="gptoss-mxfp4", keep="*.down_proj")
    with pytest.raises(FileError, match=r"has no weight that the recipe gptoss-mxfp4 quantizes"):
        convert(folder, tmp_path / "partly", recipe="gptoss-mxfp4", keep="*.experts.*")
    assert not (tmp_path / "partly").exists()
    assert not leftovers(tmp_path)


def test_other_models_are_refused(folder: Path, tmp_path: Path) -> None:
    """Other models have the axes of their experts in another order, and would be read as noise."""
    (folder / "config.json").write_text(json.dumps({**CONFIG, "model_type": "qwen3_5_moe"}))
    with pytest.raises(FileError, match=r"must be a model of type gpt_oss for gptoss-mxfp4; got 'qwen3_5_moe'"):
        convert(folder, tmp_path / "out", recipe="gptoss-mxfp4")
    assert not (tmp_path / "out").exists()
    (folder / "config.json").write_text("{}")
    convert(folder, tmp_path / "out", recipe="gptoss-mxfp4")
