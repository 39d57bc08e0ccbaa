"""MX and NVFP4 blocks against torchao 0.18, byte for byte; and each kind of block in which torchao departs from OCP."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import numpy as np
import pytest

import lowprec as lp
from lowprec.spec.scale_rules import NVFP4_RULES

pytest.importorskip("torch")
pytest.importorskip("torchao", reason="the peer of these tests", exc_type=ImportError)

import torch
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import to_mx
from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale

Array = np.ndarray[Any, Any]

ELEMENTS = {
    "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2, "float6_e3m2fn": "fp6_e3m2",
    "float6_e2m3fn": "fp6_e2m3", "float4_e2m1fn": torch.float4_e2m1fn_x2,
}  # fmt: skip
RULES = ("floor", "ceil", "even", "rceil")
SOURCES = ("float32", "bfloat16")
BLOCK = 32


@functools.cache
def _distributed(name: str) -> Array:
    """Return 64 rows of 16 blocks: deviates of a distribution, or finite bit patterns."""
    rng = np.random.default_rng(17)
    shape = (64, 16 * BLOCK)
    if name == "patterns":
        x = rng.integers(0, 2**32, shape, np.uint32).view(np.float32)
        return np.where(np.abs(x) < 2.0**127, x, np.float32(0))  # NaN too, and what bfloat16 would round to Inf
    drawn = {
        "normal": lambda: rng.standard_normal(shape) * 0.02,
        "heavy-tailed": lambda: rng.standard_t(3, shape),
        "log-normal": lambda: np.exp(8 * rng.standard_normal(shape)) * rng.choice([-1, 1], shape),
    }
    return drawn[name]().astype(np.float32)


def _tensor(x: Array, source: str) -> torch.Tensor:
    return torch.from_numpy(x).to(getattr(torch, source))


def _bytes(result: Any) -> Array:
    """Return what an array or a tensor stores."""
    return result.contiguous().view(torch.uint8).numpy() if isinstance(result, torch.Tensor) else result.view(np.uint8)


def _unpacked(codes: Array) -> Array:
    return np.stack([codes & 0b1111, codes >> 4], axis=-1).reshape(*codes.shape[:-1], -1)


def _theirs(x: torch.Tensor, element: str, rule: str, **options: Any) -> tuple[Array, Array]:
    """Return codes, not packed, and the codes of the scales."""
    scales, codes = to_mx(x, ELEMENTS[element], BLOCK, ScaleCalculationMode(rule), **options)
    return _unpacked(_bytes(codes)) if lp.formats[element].bits == 4 else _bytes(codes), _bytes(scales)


def _ours(x: Any, element: str, rule: str, **options: Any) -> tuple[Array, Array]:
    elements, scales = lp.mx_quantize(x, element, scale_rule=rule, block_size=BLOCK, **options)
    return _bytes(elements), _bytes(scales)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("element", ELEMENTS)
def test_blocks_are_torchaos(element: str, rule: str, source: str, tally: Counter[str]) -> None:
    for name in ("normal", "heavy-tailed", "log-normal", "patterns"):
        x = _tensor(_distributed(name), source)
        codes, scales = _ours(x, element, rule)
        their_codes, their_scales = _theirs(x, element, rule)
        assert np.array_equal(scales, their_scales), name
        assert np.array_equal(codes, their_codes), name
        tally["Blocks: MX blocks that torchao makes too"] += scales.size


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("element", ELEMENTS)
def test_edges_of_the_rules_are_torchaos(element: str, rule: str, source: str, tally: Counter[str]) -> None:
    """But for `rceil` just above a power of two times the largest value: its logarithm rounds down to an integer."""
    largest, steps = float(lp.formats[element].max), 2.0 ** lp.formats[element].mantissa_bits
    # powers of two; the largest value; where `even` rounds the mantissa up, and a tie below; what is just beside them
    marks = np.array([1, largest / 2 ** np.floor(np.log2(largest)), 2 - 0.5 / steps, 2 - 1.5 / steps], np.float32)
    absmax = np.ldexp(marks, np.r_[-100:-90, -20:20, 110:118][:, None]).astype(np.float32).ravel()
    absmax = np.concatenate([absmax, np.nextafter(absmax, np.float32(np.inf)), np.nextafter(absmax, np.float32(0))])
    fractions = np.linspace(-1, 1, BLOCK - 1, dtype=np.float32)  # among them ties
    x = _tensor(np.concatenate([absmax[:, None], absmax[:, None] * fractions], axis=1), source)
    codes, scales = _ours(x, element, rule)
    their_codes, their_scales = _theirs(x, element, rule)
    same = (scales == their_scales).ravel()
    assert np.array_equal(codes[same], their_codes[same])
    tally["Blocks: MX blocks that torchao makes too"] += int(same.sum())
    if rule != "rceil" or source == "bfloat16":
        assert same.all()
        return
    above = np.frexp(x[:, 0].double().numpy() / largest)[0] * 2
    assert (~same).sum() > 30
    assert np.array_equal(~same & (above > 1), ~same)
    assert (above[~same] < 1 + 2.0**-20).all()
    assert (scales[~same] == their_scales[~same] + 1).all()


@pytest.mark.parametrize("element", ["float8_e4m3fn", "float4_e2m1fn"])
def test_scales_in_tiles_are_torchaos(element: str) -> None:
    """In the order that cuBLAS reads, rows and columns padded: 200 rows of 5 scales fill 2 by 2 tiles."""
    x = _tensor(_distributed("heavy-tailed").reshape(-1)[: 200 * 5 * BLOCK].reshape(200, 5 * BLOCK), "bfloat16")
    for rule in RULES:
        codes, scales = _ours(x, element, rule, swizzled=True)
        their_codes, their_scales = _theirs(x, element, rule, is_swizzled_scales=True)
        assert np.array_equal(codes, their_codes)
        assert scales.size == 2 * 2 * 512
        assert np.array_equal(scales.ravel(), their_scales.ravel())


@pytest.mark.parametrize("source", SOURCES)
def test_nvfp4_is_nearly_torchaos(source: str, tally: Counter[str]) -> None:
    """By the default rule: torchao's scales are 08 at least, and it multiplies by a reciprocal that it rounds."""
    for name in ("normal", "heavy-tailed"):
        x = _tensor(_distributed(name), source)
        their_scales, their_codes = nvfp4_quantize(x, 16, per_tensor_amax_to_scale(x.abs().max()))
        elements, scales, _ = lp.nvfp4_quantize(x)
        assert np.array_equal(np.maximum(_bytes(scales), 0x08), _bytes(their_scales)), name
        ours, theirs = _bytes(elements), _unpacked(their_codes.numpy())
        normal = np.repeat(_bytes(scales) >= 0x08, 16, axis=-1)
        apart = np.abs(ours.astype(int) - theirs)[normal]
        assert apart.max() <= 1
        assert np.count_nonzero(apart) < 5e-3 * apart.size
        tally["Blocks: NVFP4 blocks that torchao makes too, but for a rounded reciprocal"] += their_scales.numel()


needs_rule = pytest.mark.skipif("torchao" not in NVFP4_RULES, reason="lowprec has no such rule of scales")


@needs_rule
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("scale", ["none", "found", "given"])
def test_nvfp4_is_torchaos(source: str, scale: str, tally: Counter[str]) -> None:
    """Without a scale of the tensor torchao computes what a scale of 1 gives."""
    for name in ("normal", "heavy-tailed", "log-normal", "patterns"):
        values = _distributed(name).copy()
        values[3, :80], values[4, 5:90] = 0, -0.0  # whole blocks, and parts of some
        x = _tensor(values, source)
        per_tensor = {"none": None, "given": torch.tensor(0.0078), "found": per_tensor_amax_to_scale(x.abs().max())}
        their_scales, their_codes = nvfp4_quantize(x, 16, per_tensor[scale])
        given = {"none": 1.0, "given": float(np.float32(0.0078)), "found": None}[scale]
        elements, scales, found = lp.nvfp4_quantize(x, scale_rule="torchao", global_scale=given, packed=True)
        assert np.array_equal(_bytes(scales), _bytes(their_scales)), name
        assert np.array_equal(_bytes(elements), _bytes(their_codes).ravel()), name
        if scale == "found":
            assert np.float32(float(found)) == per_tensor["found"].numpy()
        tally["Blocks: NVFP4 blocks that torchao makes too"] += their_scales.numel()


# First values of a block, element, rules; torchao's scale and first codes; ours, as OCP MX says.
DEPARTURES = [
    # NaN: the scale says it all, and elements are 0; torchao's NaN becomes some code, with rceil every element does
    ((1, np.nan, 2), "float8_e4m3fn", ("floor", "ceil", "even"), (0xFF, [0, 0x7F, 0]), (0xFF, [0, 0, 0])),
    ((1, np.nan, 2), "float8_e4m3fn", ("rceil",), (0xFF, [0x7F, 0x7F, 0x7F]), (0xFF, [0, 0, 0])),
    ((1, np.nan, 2), "float4_e2m1fn", ("floor", "ceil", "even"), (0xFF, [0, 3, 0]), (0xFF, [0, 0, 0])),
    # Inf: torchao clamps it, and the rest of the block becomes 0 under a scale of nearly 2^128
    ((1, np.inf, -2), "float8_e4m3fn", ("floor", "ceil", "even"), (0xF7, [0, 0x7E, 0x80]), (0xFF, [0, 0, 0])),
    ((1, np.inf, -2), "float8_e4m3fn", ("rceil",), (0xFE, [0, 0x7E, 0x80]), (0xFF, [0, 0, 0])),
    ((1, np.inf, -2), "float4_e2m1fn", ("floor", "ceil", "even"), (0xFD, [0, 7, 8]), (0xFF, [0, 0, 0])),
    # Scale 00 is 2^-127; torchao divides by 2^-126 there, and with rceil by 1
    ((2.0**-120, -(2.0**-126)), "float8_e4m3fn", ("floor", "ceil", "even"), (0, [0x68, 0xB8]), (0, [0x70, 0xC0])),
    ((2.0**-120, -(2.0**-126)), "float8_e4m3fn", ("rceil",), (0, [0x00, 0x80]), (0, [0x70, 0xC0])),
    ((2.0**-126,), "float4_e2m1fn", ("floor", "ceil", "even"), (0, [0b0_01_0]), (0, [0b0_10_0])),
    # One ulp above 448 * 2^60: the least exponent that holds it is 61; the float32 logarithm of the quotient is 60
    ((448 * 2.0**60 * (1 + 2.0**-22),), "float8_e4m3fn", ("rceil",), (187, [0x7E]), (188, [0x76])),
]  # fmt: skip


@pytest.mark.parametrize(("values", "element", "rules", "theirs", "ours"), DEPARTURES)
def test_where_torchao_departs(
    values: tuple[float, ...], element: str, rules: tuple[str, ...], theirs: tuple[int, list[int]],
    ours: tuple[int, list[int]],
) -> None:  # fmt: skip
    x = np.array([[*values, *[0.0] * (BLOCK - len(values))]], np.float32)
    for rule in rules:
        for (codes, scales), (scale, first) in (
            (_theirs(torch.from_numpy(x), element, rule), theirs),
            (_ours(x, element, rule), ours),
        ):
            assert (int(scales[0, 0]), codes[0, : len(first)].tolist()) == (scale, first), rule


def test_where_torchao_departs_in_nvfp4() -> None:
    """NaN and Inf in a block, and a tensor of zeros, whose scale torchao makes 0."""
    for special, scale, first in ((np.nan, 0x7F, [4, 4]), (np.inf, 0x7E, [7, 0])):
        x = np.array([[special, 1, *[0.0] * 14]], np.float32)
        their_scales, their_codes = nvfp4_quantize(torch.from_numpy(x), 16, torch.tensor(1.0))
        assert (_bytes(their_scales).item(), _unpacked(their_codes.numpy())[0, :2].tolist()) == (scale, first)
        elements, scales, _ = lp.nvfp4_quantize(x, global_scale=1.0)
        assert _bytes(scales).item() == 0x7F
        assert not _bytes(elements).any()
    zeros = np.zeros((1, 16), np.float32)
    their_scales, _ = nvfp4_quantize(torch.from_numpy(zeros), 16, per_tensor_amax_to_scale(torch.tensor(0.0)))
    assert torch.isnan(their_scales.float()).all()  # 0 / 0
    elements, scales, found = lp.nvfp4_quantize(zeros)
    assert (float(found), _bytes(scales).item(), _bytes(elements).any()) == (1, 0x00, False)
