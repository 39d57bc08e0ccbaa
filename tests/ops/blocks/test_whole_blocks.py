"""MX and NVFP4 blocks that follow each other, 16 and more of them, against NumPy and ml_dtypes, in every tier."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.bits import packed_bytes

import lowprec as lp
from lowprec import _kernels
from lowprec.backends.kernel_parameters import block_element_numbers
from lowprec.plans.block_plan import mx_plan
from lowprec.spec.rounding_modes import RoundingOptions

ELEMENTS = ("float8_e4m3fn", "float8_e5m2", "float6_e3m2fn", "float6_e2m3fn", "float4_e2m1fn")
ROUNDINGS = (
    "nearest_even", "nearest_away", "nearest_zero", "toward_zero", "away_from_zero", "toward_positive",
    "toward_negative", "to_odd",
)  # fmt: skip
RULES = (None, "torchao", "modelopt", "transformer_engine")
SCALES = (0.3, None, 1e-44, 2.0**-70, 1e20)
BLOCKS = 37  # some times 4, 8, 16 and 32, and a rest


def numbers(block: int, seed: int) -> np.ndarray[Any, Any]:
    """Return rows of blocks: of many exponents, of ties, of zeros, of subnormal and of huge numbers."""
    rng = np.random.default_rng(seed)
    fractions = rng.choice([0, 1 << 20, 1 << 21, 3 << 20, 1, (1 << 23) - 1], (12, BLOCKS, block))
    exponents = rng.integers(0, 246, (12, BLOCKS, 1)) + rng.integers(0, 9, (12, BLOCKS, block))
    exponents[:4] = 120 + rng.integers(0, 9, (4, BLOCKS, block))
    bits = rng.integers(0, 2, exponents.shape) << 31 | exponents << 23 | fractions
    x = bits.astype(np.uint32).view(np.float32)
    x[:, 5], x[:, 20, ::2], x[:, 21] = 0, -0.0, x[:, 21] * np.float32(2.0**-100) * np.float32(2.0**-20)
    x[1, 7] = np.float32(2.0**-149)
    return x


def rounded(x: np.ndarray[Any, Any], element: str) -> bytes:
    """Return the codes of numbers by ml_dtypes, saturated."""
    dtype = np.dtype(getattr(ml_dtypes, element))
    most = float(ml_dtypes.finfo(dtype).max)
    return np.clip(x, -most, most).astype(dtype).tobytes()


def codes(x: Any) -> bytes:
    return np.asarray(x).tobytes()


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("element", ELEMENTS)
def test_mx(element: str) -> None:
    x = numbers(32, 1)
    emax = int(np.floor(np.log2(float(ml_dtypes.finfo(getattr(ml_dtypes, element)).max))))
    largest = np.abs(x).max(-1).astype(np.float64)
    exponents = np.maximum(np.frexp(largest)[1] - 1 - emax, -127)
    exponents[largest == 0] = -127
    wanted = rounded(x / np.ldexp(1.0, exponents)[..., None], element)
    elements, scales = lp.mx_quantize(x.reshape(12, -1), element)
    assert codes(scales) == (exponents + 127).astype(np.uint8).tobytes()
    assert codes(elements) == wanted
    if element == ELEMENTS[-1]:
        packed, _ = lp.mx_quantize(x.reshape(12, -1), element, packed=True)
        assert codes(packed) == packed_bytes(np.frombuffer(wanted, np.uint8), 4).tobytes()


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("global_scale", [None, 1.0, 0.02, 0.0123, 2.0**-149, 1e-38, 2.0**-70, 3e-30, 1e20, 3e38])
def test_nvfp4(global_scale: float | None) -> None:
    """Each step rounded by NumPy, along both axes."""
    rng = np.random.default_rng(4)
    inputs = [numbers(16, 2).reshape(12, -1)]
    for size in (1.0, 1e-30, 1e-42, 1e36):
        inputs.append((rng.standard_normal((5, 96)) * size * np.exp2(rng.integers(-20, 3, (5, 96)))).astype(np.float32))
        inputs[-1][1, 16:48] = [0, -0.0] * 16
    for x in inputs:
        with np.errstate(all="ignore"):
            found_scale = max(np.abs(x).max() / np.float32(2688), np.float32(2.0**-149))
            factor = found_scale if global_scale is None else np.float32(global_scale)
            blocks = x.reshape(len(x), -1, 16)
            largest = np.abs(blocks).max(-1)
            quotients = np.minimum(largest / np.float32(6) / factor, np.float32(448))
            wanted = np.maximum(quotients.astype(ml_dtypes.float8_e4m3fn).view(np.uint8), largest > 0).astype(np.uint8)
            divisors = factor * wanted.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
            divisors[divisors == 0] = np.inf
            elements = rounded(blocks / divisors[..., None], "float4_e2m1fn")
        found = lp.nvfp4_quantize(x, global_scale=global_scale)
        assert list(map(codes, found)) == [elements, wanted.tobytes(), factor.tobytes()]
        packed = lp.nvfp4_quantize(x, global_scale=global_scale, packed=True)[0]
        assert codes(packed) == packed_bytes(np.frombuffer(elements, np.uint8), 4).tobytes()
        moved = lp.nvfp4_quantize(np.ascontiguousarray(x.T), axis=0, global_scale=global_scale)
        assert [codes(one.T) for one in moved[:2]] == [elements, wanted.tobytes()]


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("specials", ["nan", "ignore"])
def test_rounding_as_from_float64(specials: str) -> None:
    rng = np.random.default_rng(3)
    for number, rounding in enumerate(ROUNDINGS):
        x = numbers(32, number).reshape(12, -1)
        for value in (np.nan, -np.inf):
            x[rng.integers(0, 12, 3), rng.integers(0, 32 * BLOCKS, 3)] = value
        for element in (*ELEMENTS, "float8_e4m3fnuz", "float8_e5m2fnuz", "int8"):
            options: Any = {
                "rounding": rounding, "specials": specials, "scale_rule": ("even", "rceil", "nearest")[number % 3],
            }  # fmt: skip
            wanted = lp.mx_quantize(x.astype(np.float64), element, **options)  # composed of casts
            assert list(map(codes, lp.mx_quantize(x, element, **options))) == list(map(codes, wanted))
        for rule in range(4):
            options = {
                "rounding": rounding, "specials": specials, "scale_rule": RULES[rule],
                "global_scale": SCALES[(number + 3 * rule) % len(SCALES)],
            }  # fmt: skip
            single, double = (lp.nvfp4_quantize(x.astype(dtype), **options) for dtype in (np.float32, np.float64))
            assert list(map(codes, single)) == list(map(codes, double))


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("random_bits", [1, 7, 8, 9, 16, 18, 20])
@pytest.mark.parametrize("rounding", ["stochastic", "stochastic_b", "stochastic_c"])
def test_random_numbers(rounding: str, random_bits: int) -> None:
    options: dict[str, Any] = {"rounding": rounding, "random_bits": random_bits, "seed": random_bits, "offset": 3}
    x = numbers(32, random_bits).reshape(12, -1)
    x[8, 70], x[9, 500] = np.nan, -np.inf
    for element in (*ELEMENTS, "float8_e4m3fnuz", "int8"):
        wanted = lp.mx_quantize(x.astype(np.float64), element, **options)  # composed of casts
        assert list(map(codes, lp.mx_quantize(x, element, **options))) == list(map(codes, wanted))
    tier = _kernels.isa()
    for number, rule in enumerate(RULES):
        of_rule = {**options, "scale_rule": rule, "global_scale": SCALES[number], "packed": number % 2 == 0}
        for source in (np.float32, ml_dtypes.bfloat16):
            found = lp.nvfp4_quantize(x.astype(source), **of_rule)
            _kernels.use_isa("base")  # an element at a time
            assert list(map(codes, found)) == list(map(codes, lp.nvfp4_quantize(x.astype(source), **of_rule)))
            _kernels.use_isa(tier)


@pytest.mark.usefixtures("tier")
def test_some_blocks() -> None:
    x = numbers(32, 4)[7].reshape(-1)
    elements, scales = map(codes, lp.mx_quantize(x, "float4_e2m1fn", packed=True))
    halves, quotients, _ = map(codes, lp.nvfp4_quantize(x, global_scale=0.3))
    for count in range(1, BLOCKS):
        some = lp.mx_quantize(x[: 32 * count].copy(), "float4_e2m1fn", packed=True)
        assert list(map(codes, some)) == [elements[: 16 * count], scales[:count]]
        some = lp.nvfp4_quantize(x[: 16 * count].copy(), global_scale=0.3)[:2]
        assert list(map(codes, some)) == [halves[: 16 * count], quotients[:count]]


@pytest.mark.parametrize(("rounding", "width"), [("nearest_even", 0), ("to_odd", 0), ("stochastic", 16)])
def test_only_stochastic_blocks_have_slots(rounding: str, width: int) -> None:
    """The loop over whole blocks takes those with slots for stochastic ones; others would go block by block."""
    fmt, options = lp.formats["float4_e2m1fn"], RoundingOptions(rounding, random_bits=16)
    plan = mx_plan(lp.formats["float32"], fmt, "floor", "nan", options)
    assert block_element_numbers(plan, defaultdict(int, round_slot_bits=16))["slot_bits"] == width
