"""Error statistics of codes with scales: the compiled pass finds what NumPy and the oracle's values give."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec import _kernels
from lowprec.loss.error_stats import ErrorStats, ScaledCodes, add_scaled
from lowprec.reference.whole_arrays import broadcast, code_values
from lowprec.spec.formats import FORMATS, Format

Array = np.ndarray[Any, Any]
NAMES = ("elements", "nan", "inf", "low", "high", "saturated", "flushed", "max_abs_error", "max_rel_error")


class Limits(NamedTuple):
    """Half-way beyond the ends of a range; whether a number there goes to the code outside (ties go to even codes)."""

    low: float
    high: float
    low_is_outside: bool
    high_is_outside: bool


LIMITS = {
    "float8_e4m3fn": Limits(-464, 464, False, False),  # 448 is s1111 110
    "float8_e4m3fnuz": Limits(-248, 248, True, True),  # 240 is s1111 111
    "float8_e5m2": Limits(-61440, 61440, True, True),  # 57344 is s11110 11
    "float8_e5m2fnuz": Limits(-61440, 61440, True, True),
    "float6_e2m3fn": Limits(-7.75, 7.75, True, True),
    "float6_e3m2fn": Limits(-30, 30, True, True),
    "float4_e2m1fn": Limits(-7, 7, True, True),  # 6 is s11 1
    "int16": Limits(-32768.5, 32767.5, False, True),
    "uint16": Limits(-0.5, 65535.5, False, True),
    "int8": Limits(-128.5, 127.5, False, True),
    "uint8": Limits(-0.5, 255.5, False, True),
    "int4": Limits(-8.5, 7.5, False, True),
    "uint4": Limits(-0.5, 15.5, False, True),
    "int2": Limits(-2.5, 1.5, False, True),
    "uint2": Limits(-0.5, 3.5, False, True),
}
"""Typed from the documents of the formats."""

SOURCES = {
    "float32": np.float32,
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}


@pytest.fixture(params=_kernels.available_isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    before = _kernels.isa()
    _kernels.use_isa(request.param)
    yield request.param
    _kernels.use_isa(before)


def elements(factors: Array, limits: Limits, dtype: Any, seed: int) -> Array:
    """Return values of all magnitudes, some of them special or at the limits of their factors."""
    rng = np.random.default_rng(seed)
    shape = factors.shape
    with np.errstate(all="ignore"):
        x = rng.standard_normal(shape).astype(np.float32) * factors * np.float32(limits.high / 3)  # type: ignore[attr-defined]
        kind = rng.integers(0, 12, shape)
        end = np.where(rng.integers(0, 2, shape) == 0, limits.low, limits.high).astype(np.float32) * factors
        beside = np.nextafter(end, np.where(rng.integers(0, 2, shape) == 0, np.inf, -np.inf).astype(np.float32))
        x = np.select([kind == 0, kind == 1, kind == 2], [end, beside, end * np.float32(1.5)], x)
        x = np.where(kind == 3, rng.choice(np.array([0, -0.0, 1e-45, -3e-40, 3e38, -3e38], np.float32), shape), x)
        x = x.astype(dtype).astype(np.float32)  # float8 has no infinity to tell apart from what is beyond it
        x = np.where(kind == 4, rng.choice(np.array([np.nan, np.inf, -np.inf], np.float32), shape), x)
        return np.asarray(x).astype(dtype)


def expected(x: Array, codes: Array, factors: Array, fmt: Format, zero_point: int) -> dict[str, Any]:
    """Return the statistics by the definitions, in NumPy."""
    limits = LIMITS[fmt.name]
    v = x.astype(np.float32).reshape(-1)
    with np.errstate(all="ignore"):
        w = (code_values(fmt)[codes].astype(np.float32) - np.float32(zero_point)).reshape(-1) * factors.reshape(-1)
        q = (v / factors.reshape(-1)).astype(np.float64)
        low, high = limits.low - zero_point, limits.high - zero_point
        above = q >= high if limits.high_is_outside else q > high
        below = q <= low if limits.low_is_outside else q < low
        finite = np.isfinite(v)
        error = np.abs(v[finite] - w[finite])
        magnitude = np.abs(v[finite])
        ratio = (error / magnitude)[magnitude != 0]
    return {
        "elements": v.size,
        "nan": int(np.isnan(v).sum()),
        "inf": int(np.isinf(v).sum()),
        "low": v[finite].min(initial=np.inf),
        "high": v[finite].max(initial=-np.inf),
        "saturated": int(((above | below) & np.isfinite(q)).sum()),
        "flushed": int(((magnitude != 0) & (w[finite] == 0)).sum()),
        "max_abs_error": error.max(initial=0),
        "max_rel_error": ratio.max(initial=0),
        "signal": math.fsum(np.square(magnitude.astype(np.float64))),
        "noise": math.fsum(np.square(error.astype(np.float64))),
    }


def check(found: ErrorStats, wanted: dict[str, Any]) -> None:
    for name in NAMES:
        assert getattr(found, name) == wanted[name], name
    if wanted["signal"] and 0 < wanted["noise"] < math.inf:
        db = 10 * (math.log10(wanted["signal"]) - math.log10(wanted["noise"]))
        assert found.sqnr_db == pytest.approx(db, abs=1e-9)


def unpacked(codes: Array, fmt: Format, n: int) -> Array:
    """Return codes of 2, 4 or 6 bits, the first one in the lowest bits."""
    bits = np.unpackbits(codes, bitorder="little")[: n * fmt.bits].reshape(n, fmt.bits)
    return np.asarray((bits << np.arange(fmt.bits)).sum(axis=1))


SHAPES = [
    # shape of x, shape of the scales, axis, block size
    ((3, 700), (), 1, 0),
    ((1, 1), (), 1, 0),
    ((37, 129), (37,), 0, 0),
    ((3, 5, 333), (5,), 1, 0),
    ((2, 1000, 3), (1000,), 1, 0),
    ((41, 70), (70,), 1, 0),
    ((5, 512), (5, 16), 1, 32),
    ((5, 512), (5, 32), 1, 16),
    ((3, 1000), (3, 8), 1, 128),
    ((5, 77), (5, 3), 1, 32),
    ((7, 60), (7, 12), 1, 5),
    ((4, 2048), (4, 2), 1, 1024),
    ((2, 64, 9), (2, 2, 9), 1, 32),
    ((300, 260), (3, 3), (0, 1), (128, 128)),
    ((9, 200), (3, 7), (0, 1), (4, 32)),
]


@pytest.mark.one_in(7)
@pytest.mark.parametrize("target", LIMITS)
def test_every_layout_of_scales(isa: str, target: str) -> None:
    fmt = FORMATS[target]
    rng = np.random.default_rng(11)
    for number, (shape, scale_shape, axis, block) in enumerate(SHAPES):
        scale = np.exp2(rng.uniform(-20, 20, scale_shape)).astype(np.float32)
        spread = np.repeat(scale, block[0], axis=0)[: shape[0]] if isinstance(block, tuple) else scale
        at, size = (axis[1], block[1]) if isinstance(axis, tuple) and isinstance(block, tuple) else (axis, block)
        factors = broadcast(np.asarray(spread), shape, at, size)
        source = list(SOURCES)[number % len(SOURCES)]
        x = elements(factors, LIMITS[target], SOURCES[source], number)
        packs = fmt.bits < 8 and x.size % 4 == 0
        with np.errstate(all="ignore"):
            codes = lp.quantize_linear(x.astype(np.float32), scale, axis=axis, block_size=block, output_dtype=fmt)
            packed = lp.quantize_linear(
                x.astype(np.float32), scale, axis=axis, block_size=block, output_dtype=fmt, packed=packs
            )
        found = ErrorStats()
        held = np.asarray(packed).reshape(-1).view(np.uint8)
        codes_of_x = x.view(f"u{x.dtype.itemsize}")
        scaled = ScaledCodes(held, fmt, scale, None, axis, block, packs)
        add_scaled(found, codes_of_x, FORMATS[source], scaled)
        plain = np.asarray(codes).reshape(-1).view(f"u{fmt.code_dtype.itemsize}").astype(np.int64) & fmt.code_mask
        check(found, expected(x, plain, factors, fmt, 0))


@pytest.mark.parametrize("scale_format", ["float32", "bfloat16", "float16", "float8_e8m0fnu"])
def test_scales_of_any_format(isa: str, scale_format: str) -> None:
    fmt, rng = FORMATS["float4_e2m1fn"], np.random.default_rng(3)
    scale = np.exp2(rng.integers(-8, 8, (6, 8))).astype(FORMATS[scale_format].dtype)  # all of them have these values
    factors = np.repeat(scale.astype(np.float32), 32, axis=1)
    x = elements(factors, LIMITS[fmt.name], np.float32, 1)
    codes = rng.integers(0, 256, x.size // 2, np.uint8)
    found = ErrorStats()
    scaled = ScaledCodes(codes, fmt, scale, block_size=32, packed=True)
    add_scaled(found, x.view(np.uint32), FORMATS["float32"], scaled)
    check(found, expected(x, unpacked(codes, fmt, x.size), factors, fmt, 0))


@pytest.mark.parametrize(("target", "zero_point"), [("uint4", 8), ("uint8", 128), ("int8", -3), ("uint8", 1)])
def test_zero_points_move_the_range(isa: str, target: str, zero_point: int) -> None:
    fmt, rng = FORMATS[target], np.random.default_rng(4)
    scale = np.exp2(rng.uniform(-3, 3, (6, 4))).astype(np.float32)
    factors = np.repeat(scale, 32, axis=1)
    moved = LIMITS[target]._replace(low=LIMITS[target].low - zero_point, high=LIMITS[target].high - zero_point)
    tie = zero_point % 2 == 1  # an odd end becomes an even one
    x = elements(factors, moved, ml_dtypes.bfloat16, 2)
    packed = fmt.bits == 4
    codes = rng.integers(0, 256, x.size * fmt.bits // 8, np.uint8)
    plain = unpacked(codes, fmt, x.size) if packed else codes
    found = ErrorStats()
    scaled = ScaledCodes(codes, fmt, scale, zero_point, block_size=32, packed=packed)
    add_scaled(found, x.view(np.uint16), FORMATS["bfloat16"], scaled)
    wanted = expected(x, plain, factors, fmt, zero_point)
    if tie:
        with np.errstate(all="ignore"):
            q = x.astype(np.float32) / factors
        wanted["saturated"] = int((((q <= moved.low) | (q > moved.high)) & np.isfinite(q)).sum())
    check(found, wanted)


def test_scales_that_are_no_positive_numbers(isa: str) -> None:
    """Quotients by 0, Inf and NaN are no finite numbers or zero; a negative scale exchanges the ends."""
    fmt, values = FORMATS["int8"], np.array([0, -0.0, 1, -1, 127.6, -127.6, -129, 3e38, np.inf, np.nan], np.float32)
    for size in (1, 16, 64):
        scale = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -1e-40, 1e-45, 3e38], np.float32)
        x = np.resize(values, (scale.size, size * values.size)).astype(np.float32)
        codes = np.ones(x.size, np.uint8)
        found = ErrorStats()
        add_scaled(found, x.view(np.uint32), FORMATS["float32"], ScaledCodes(codes, fmt, scale, axis=0))
        with np.errstate(all="ignore"):
            q = x / scale[:, np.newaxis]
        assert found.saturated == np.count_nonzero(((q < -128.5) | (q >= 127.5)) & np.isfinite(q))
        assert found.saturated > 0


def test_memory_at_any_address(isa: str) -> None:
    fmt, rng = FORMATS["int16"], np.random.default_rng(5)
    x = rng.standard_normal(5001).astype(np.float32)
    codes = rng.integers(-9, 9, x.size, np.int16)
    there, held = np.zeros(x.nbytes + 1, np.uint8)[1:], np.zeros(codes.nbytes + 1, np.uint8)[1:]
    there[:], held[:] = x.view(np.uint8), codes.view(np.uint8)
    aligned, unaligned = ErrorStats(), ErrorStats()
    scale = np.array(0.1, np.float32)
    add_scaled(aligned, x.view(np.uint32), FORMATS["float32"], ScaledCodes(codes, fmt, scale))
    add_scaled(unaligned, there.view(np.uint32), FORMATS["float32"], ScaledCodes(held, fmt, scale))
    check(unaligned, expected(x, codes.view(np.uint16).astype(int), np.full(x.size, scale), fmt, 0))
    assert vars(aligned) == vars(unaligned)


def test_nothing_is_nothing_and_sizes_are_checked() -> None:
    found = ErrorStats()
    single, fmt, one = FORMATS["float32"], FORMATS["int8"], np.ones((), np.float32)
    add_scaled(found, np.zeros((0, 4), np.uint32), single, ScaledCodes(np.zeros(0, np.uint8), fmt, one))
    assert found.elements == 0
    three = ScaledCodes(np.zeros(8, np.uint8), fmt, np.ones(3, np.float32))
    with pytest.raises(ValueError, match="`scale` must have"):
        add_scaled(found, np.zeros((2, 4), np.uint32), single, three)
    short = ScaledCodes(np.zeros(9, np.uint8), FORMATS["int4"], one, packed=True)
    with pytest.raises(ValueError, match="`src` and `codes` must hold 1024 elements"):
        add_scaled(found, np.zeros((2, 512), np.uint32), single, short)


@pytest.mark.parametrize("source", ["bfloat16", "float32", "float16"])
def test_values_of_one_sign(isa: str, source: str) -> None:
    """Ends that no tile alone has: of one sign, zeros, and signs that change from tile to tile."""
    fmt, rng = FORMATS["int8"], np.random.default_rng(6)
    scale = np.array(0.25, np.float32)
    magnitudes = rng.uniform(0.5, 60, 3000).astype(SOURCES[source])
    signs = np.where(np.arange(3000) < 1500, 1, -1).astype(SOURCES[source])
    zeros = np.where(np.arange(3000) % 5 == 0, 0, 1).astype(SOURCES[source])
    parts = [1, -1, signs, -signs, zeros, -zeros, signs * zeros, 0 * signs]
    for n in (1, 16, 40, 1024, 3000):
        for part in parts:
            x = np.asarray(magnitudes * part)[:n].astype(SOURCES[source])
            codes = rng.integers(-9, 9, n, np.int8).view(np.uint8)
            found = ErrorStats()
            held = x.view(f"u{x.dtype.itemsize}")
            add_scaled(found, held, FORMATS[source], ScaledCodes(codes, fmt, scale))
            check(found, expected(x, codes.astype(np.int64), np.full(n, scale), fmt, 0))


@pytest.mark.parametrize("source", ["bfloat16", "float32"])
@pytest.mark.parametrize("block", [0, 16, 128])
def test_all_instruction_sets_find_the_same_bits(source: str, block: int) -> None:
    fmt, rng = FORMATS["float8_e4m3fn"], np.random.default_rng(8)
    before, states = _kernels.isa(), []
    x = (rng.standard_normal((7, 4096)) * 1e-3).astype(SOURCES[source])
    x[3, 1000] = np.nan
    codes = rng.integers(0, 0x7F, x.size, np.uint8)
    scale = np.exp2(rng.uniform(-9, -3, (7, 4096 // block) if block else ())).astype(np.float32)
    for isa in _kernels.available_isas():
        _kernels.use_isa(isa)
        found = ErrorStats()
        scaled = ScaledCodes(codes, fmt, scale, block_size=block)
        add_scaled(found, x.view(f"u{x.dtype.itemsize}"), FORMATS[source], scaled)
        states.append(found.state())
    _kernels.use_isa(before)
    assert all(state == states[0] for state in states)
    assert states[0]["nan"] == 1
