"""Block FP8 as DeepSeek stores it, MXFP4 as gpt-oss does: the bits of their tools, what is written and read again.

The oracles are DeepGEMM and triton_kernels, computed in torch as they are published.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("torch")

import numpy as np
import torch
from support.bits import bits_of
from support.checkpoint_files import configuration, convert_fails, read_json, traced
from support.paths import table
from support.typed_tensors import BF16, FP4, Array, converted, in_blocks, read_tensors, write_in_turn

from lowprec.checkpoints import convert
from lowprec.checkpoints.inference_engines import deepseek_fp8, gpt_oss
from lowprec.checkpoints.schemes.scale_grid import Grid
from lowprec.checkpoints.schemes.scheme import Packing, Scheme
from lowprec.spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, FLOAT16, FLOAT32, Format

BLOCKS = Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(128, 128))
GROUPS = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E8M0FNU, Grid(1, 32))
TYPES = {BFLOAT16: torch.bfloat16, FLOAT16: torch.float16, FLOAT32: torch.float32}


def block_cast(x: torch.Tensor, powers: bool) -> tuple[Array, Array]:
    """Return the bits of scales and codes of DeepGEMM.

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
    codes = (blocks * factors).to(torch.float8_e4m3fn).reshape(padded.shape)[:rows, :columns]
    return bits_of(scales[:, 0, :, 0]), codes.view(torch.uint8).numpy()


def downcast(x: torch.Tensor) -> tuple[Array, Array]:
    """Return scales and codes of triton_kernels.

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
    return exponents[..., 0].to(torch.uint8).numpy(), (code[..., ::2] | code[..., 1::2] << 4).numpy()


class Peer(NamedTuple):
    """A tool in lowprec, its scheme, and the oracle."""

    quantize: Callable[..., tuple[Array, Array]]
    scheme: Scheme
    oracle: Callable[[torch.Tensor], tuple[Array, Array]]


PEERS = {
    "deepseek-fp8": Peer(deepseek_fp8.quantize, BLOCKS, partial(block_cast, powers=False)),
    "deepseek-fp8-ue8m0": Peer(deepseek_fp8.quantize_by_powers, BLOCKS, partial(block_cast, powers=True)),
    "gptoss-mxfp4": Peer(gpt_oss.quantize, GROUPS, downcast),
}
BY_RECIPE = pytest.mark.parametrize("recipe", PEERS)


def weights(kind: str, rows: int = 300, columns: int = 352) -> torch.Tensor:
    """Return a float32 matrix of whole groups, neither side of which is whole blocks."""
    random = np.random.RandomState(3)
    x = random.standard_normal((rows, columns)) * 0.05
    if kind == "zeros":
        x[:128, 128:256] = 0
        x[:140, :128] = -0.0
        x[203], x[204, :32], x[205, 32:], x[206, ::2] = 0, -0.0, 0, -0.0
    elif kind == "tiny":  # blocks below 1e-4, where the scale stays the same; groups whose ratio is subnormal, and 0
        x[:128] *= 2.0**-20
        x[128:] *= 2.0 ** -np.linspace(0, 148, 172)[:, np.newaxis]
        x[-1], x[-2, :40] = 2.0**-149, -(2.0**-149)
    elif kind == "outliers":
        x[5, 7], x[200, 130], x[299, 329] = 3e38, -6e4, 1.7
        x[0, 5], x[1, 40], x[2] = 3.3e38, -65000, 448
    elif kind == "ties":  # few significant bits: products fall half-way between codes
        x = random.randint(-63, 64, x.shape) * random.choice([2.0**-9, 3 * 2.0**-7, 7.0], (rows, 1))
    elif kind == "ties of FP4":  # halves of all values, and largest magnitudes on both sides of 6 times a power of two
        x = random.randint(-24, 25, x.shape) / 4 * 2.0 ** random.randint(-6, 6, (rows, 1))
        x[::3, 0], x[1::3, 33] = 6.0, np.nextafter(np.float32(6), np.float32(7))
    return torch.tensor(x, dtype=torch.float32)


def compare(recipe: str, x: torch.Tensor, fmt: Format) -> None:
    quantize, scheme, oracle = PEERS[recipe]
    for found, expected in zip(quantize(bits_of(x), fmt, scheme), oracle(x), strict=True):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("kind", ["normal", "zeros", "tiny", "outliers", "ties", "ties of FP4"])
@pytest.mark.parametrize("fmt", TYPES, ids=lambda fmt: fmt.name)
@BY_RECIPE
def test_the_bits_of_the_tool(recipe: str, fmt: Format, kind: str) -> None:
    compare(recipe, weights(kind).clamp(-float(fmt.max), float(fmt.max)).to(TYPES[fmt]), fmt)


@BY_RECIPE
def test_rows_that_are_wide_are_multiplied_in_parts(recipe: str) -> None:
    """No copy in float32 is made of all that is quantized at once: 128 rows may be larger than the limit of memory."""
    x = weights("normal", 130, (1 << 16) + 96).to(torch.bfloat16)
    stored = bits_of(x)
    _, peak = traced(lambda: PEERS[recipe].quantize(stored, BFLOAT16, PEERS[recipe].scheme))
    assert peak < 2 * stored.nbytes or recipe == "gptoss-mxfp4"
    compare(recipe, x, BFLOAT16)


@pytest.mark.parametrize(
    ("recipe", "x", "scale", "codes"),
    [("deepseek-fp8", [448, 17, 19, -17, -0.0, 2.0**-10, -(2.0**-10), 1.5 * 2.0**-9], 0x3F800000,
      [0x7E, 0x58, 0x5A, 0xD8, 0x80, 0x00, 0x80, 0x02]),
     ("gptoss-mxfp4", [6, 0.25, 0.75, 1.25, -1.75, 2.5, 3.5, -5, -0.0, -0.2], 127, [0x07, 0x22, 0x4C, 0xE6, 0x88]),
     ("gptoss-mxfp4", [0], 0, [0] * 16)],
)  # fmt: skip
def test_a_scale_and_codes_by_hand(recipe: str, x: list[float], scale: int, codes: list[int]) -> None:
    """The largest value takes the scale 1; ties go to even codes; −0 and what is rounded to it keep the sign."""
    row = np.zeros((1, 32), np.float32)
    row[0, : len(x)] = x
    scales, found = PEERS[recipe].quantize(row.view(np.uint32), FLOAT32, PEERS[recipe].scheme)
    assert scales.tolist() == [[scale]]
    assert found[0, : len(codes)].tolist() == codes


L, E = "model.layers", "model.layers.1.mlp.experts"


class Model(NamedTuple):
    """Shapes of what is quantized, and of what is kept; config.json, and what it says of the quantization."""

    quantized: dict[str, list[int]]
    kept: dict[str, list[int]]
    config: dict[str, Any]
    said: dict[str, Any]
    outputs: list[str]


TABLE = table(__file__)
DEEPSEEK, GPT_OSS = (Model(**TABLE[name]) for name in ("deepseek", "gpt_oss"))
IGNORED, ALWAYS_KEPT = (one.said["modules_to_not_convert"] for one in (DEEPSEEK, GPT_OSS))
MODELS = {
    "deepseek-fp8": DEEPSEEK, "gptoss-mxfp4": GPT_OSS,
    "deepseek-fp8-ue8m0": DEEPSEEK._replace(said={**DEEPSEEK.said, "scale_fmt": "ue8m0"}),
}  # fmt: skip


def tensors_of(model: Model) -> dict[str, Array]:
    """Return random weights with blocks and rows of zeros of both signs, and outliers; a router's bias is float32."""
    random = np.random.RandomState(5)
    tensors: dict[str, Array] = {}
    for name, shape in (model.quantized | model.kept).items():
        x = (random.standard_normal(shape) * 0.05).astype(np.float32 if "correction" in name else BF16)
        if name in model.quantized:
            last = x.reshape(-1, *shape[-2:])[-1]
            x.reshape(-1, *shape[-2:])[0, :, :32], last[:, 5:7], last[-1, 3] = 0, -0.0, 1000
        tensors[name] = x
    return tensors


def write(folder: Path, model: Model) -> Path:
    return write_in_turn(folder, tensors_of(model), model.config)


@BY_RECIPE
def test_what_is_written_and_read_again(recipe: str) -> None:
    """Each matrix of experts has blocks of its own; gpt-oss's inputs become the last axis; all is the model's again."""
    model, oracle = MODELS[recipe], PEERS[recipe].oracle
    report = convert(write(Path("in"), model), Path("out"), recipe=recipe, verify=True)
    assert {one.name for one in report.tensors if one.action == "converted"} == model.quantized.keys()
    source, written, back = tensors_of(model), read_tensors(Path("out")), converted("out", "back", to="bfloat16")
    assert {name: one.shape for name, one in back.items()} == {name: one.shape for name, one in source.items()}
    made = {f"{name}{end}" for name in model.quantized for end in model.outputs}
    assert written.keys() == model.kept.keys() | made
    for name, shape in model.quantized.items():
        matrices = torch.tensor(source[name].astype(np.float32)).reshape(-1, *shape[-2:]).bfloat16()
        matrices = matrices.transpose(1, 2) if model is GPT_OSS else matrices
        scales, codes = (np.stack(one) for one in zip(*map(oracle, matrices), strict=True))
        found = [written[f"{name}{end}"] for end in model.outputs]
        assert found[0].view(scales.dtype).tobytes() == scales.tobytes()
        assert found[1].tobytes() == codes.tobytes()
        if model is GPT_OSS:
            assert [one.dtype.name for one in found] == ["uint8"] * 2
            assert (found[0].shape, found[1].shape) == (scales.shape, (*scales.shape, 16))
            values = FP4[np.stack([codes & 15, codes >> 4], axis=-1)].reshape(*scales.shape, 32)
            values = np.ldexp(values, scales[..., np.newaxis].astype(np.int32) - 127).reshape(*scales.shape[:2], -1)
            values = np.ascontiguousarray(values.transpose(0, 2, 1))
        else:
            assert [one.dtype.name for one in found] == ["float32", "float8_e4m3fn"]
            assert found[0].shape == (*shape[:-2], -(-shape[-2] // 128), -(-shape[-1] // 128))
            assert "ue8m0" not in recipe or (np.frexp(found[0])[0] == 0.5).all()
            values = found[1].astype(np.float32) * in_blocks(found[0], shape)
        assert back[name].tobytes() == values.astype(BF16).tobytes()
    for name in model.kept:
        assert written[name].tobytes() == source[name].tobytes()
    assert read_json(Path("out/model.safetensors.index.json"))["weight_map"].keys() == written.keys()
    assert configuration(Path("out")) == {**model.config, "quantization_config": model.said}
    assert configuration(Path("back")) == model.config


@pytest.mark.parametrize(("recipe", "experts"), [("deepseek-fp8", f"{L}.2.mlp.experts"), ("gptoss-mxfp4", E)])
def test_experts_are_kept_as_a_whole(recipe: str, experts: str) -> None:
    """A module is either quantized or ignored: one of the two parameters of experts cannot be kept alone."""
    folder, out = write(Path("in"), MODELS[recipe]), Path("out")
    why = f"engines take all weights of '{experts}' for quantized".replace(".", r"\.")
    convert_fails(why, folder, out, recipe=recipe, keep=f"{experts}.down_proj")
    if recipe == "gptoss-mxfp4":
        why = r"has no weight that the recipe gptoss-mxfp4 quantizes"
        convert_fails(why, folder, out, recipe=recipe, keep="*.experts.*")
    if recipe == "deepseek-fp8":
        convert(folder, out, recipe=recipe, keep=f"{experts}.*")
        ignored = configuration(out)["quantization_config"]["modules_to_not_convert"]
        assert ignored == sorted([*IGNORED, experts])


def test_inputs_of_experts_that_are_no_whole_groups() -> None:
    odd = {f"{L}.0.mlp.experts.{last}": np.ones((2, 40, 40), BF16) for last in ("gate_up_proj", "down_proj")}
    folder = write_in_turn(Path("odd"), {**tensors_of(GPT_OSS), **odd}, GPT_OSS.config)
    report = convert(folder, "out", recipe="gptoss-mxfp4")
    reasons = {one.name: one.why for one in report.tensors if one.name in odd}
    assert reasons == dict.fromkeys(odd, "its rows are not divided into groups of 32")
    ignored = configuration(Path("out"))["quantization_config"]["modules_to_not_convert"]
    assert ignored == [*ALWAYS_KEPT, f"{L}.0.mlp.experts"]


def test_other_models_are_refused() -> None:
    """Other models have the axes of their experts in another order, and would be read as noise."""
    folder = write(Path("in"), GPT_OSS)
    (folder / "config.json").write_text(json.dumps({**GPT_OSS.config, "model_type": "qwen3_5_moe"}))
    why = r"must be a model of type gpt_oss for gptoss-mxfp4; got 'qwen3_5_moe'"
    convert_fails(why, folder, "out", recipe="gptoss-mxfp4")
    (folder / "config.json").write_text("{}")
    convert(folder, "out", recipe="gptoss-mxfp4")
