"""Quotients that become floats of 8 bits or fewer, or bfloat16: all the hardest ones, remainders that underflow."""

from __future__ import annotations

import itertools
from collections import Counter

import ml_dtypes
import numpy as np
import pytest
from support.compare import compare, tiers_and_threads
from support.custom_formats import float_format
from support.fused_chains import BY_RECIPROCAL, chain_of
from support.hard_quotients import hardest_quotients
from support.quantize_cases import generator

import lowprec as lp
from lowprec.backends.kernels_of_plan import make_program
from lowprec.plans.quantize_plan import QuantizeOptions, quantize_plan
from lowprec.reference.whole_arrays import code_values, expected_from_float64, table
from lowprec.spec.formats import BFLOAT16, FLOAT32, NUMERIC, Format, NaNRule

NARROW = [fmt for fmt in NUMERIC if fmt.is_float and fmt.bits <= 8 and fmt.has_zero]
EDGES = [  # the smallest normal values that programs take reciprocals for, and the largest values
    float_format("e5m2b31", (5, 2, 31), nan=NaNRule.NONE, inf=False),
    float_format("e1m6b31", (1, 6, 31), nan=NaNRule.NONE, inf=False),
    float_format("e3m4b31", (3, 4, 31), nan=NaNRule.NEGATIVE_ZERO, inf=True),
    float_format("e5m2b2", (5, 2, 2), nan=NaNRule.NONE, inf=False),
    float_format("e4m3b-13", (4, 3, -13), nan=NaNRule.ALL_ONES, inf=False),
]
BEYOND = [
    float_format("e5m2b32", (5, 2, 32), nan=NaNRule.NONE, inf=False),
    float_format("e1m6b32", (1, 6, 32), nan=NaNRule.NONE, inf=False),
    float_format("e5m2b0", (5, 2, 0), nan=NaNRule.NONE, inf=False),
]
SATURATING = [(fmt, True) for fmt in (*NARROW, *EDGES)]
NOT_SATURATING = [(fmt, False) for fmt in (*NARROW, *EDGES) if fmt.saturates == "asked"]
HARD = hardest_quotients()


def odd_and_exponent(ties: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers as odd integers of up to 16 bits and exponents of two."""
    mantissa, exponent = np.frexp(ties)
    whole = (mantissa * 2**16).astype(np.int64)
    assert np.all(np.ldexp(whole, exponent - 16) == ties)
    zeros = np.log2(whole & -whole).astype(np.int64)
    return whole >> zeros, exponent - 16 + zeros


def multiplies(target: Format, *, saturate: bool = True) -> bool:
    """Whether float32 is quantized by a fused loop."""
    options = QuantizeOptions(output_dtype=target, saturate=saturate)
    program = make_program(quantize_plan(FLOAT32, FLOAT32, None, options))
    assert program.names == ("divide_encode8",)
    assert "divide_encode8" in BY_RECIPROCAL
    return program != chain_of(program)


@pytest.mark.parametrize("target", [*NARROW, *EDGES], ids=lambda fmt: fmt.name)
def test_ties_have_nine_bits_at_most(target: Format) -> None:
    """What the list of the hardest quotients stands on; powers of two are ties with zero alone, to which both go."""
    odd, exponent = odd_and_exponent(table(target).midpoints)
    assert np.all(odd < 512)
    assert np.all(table(target).midpoints[odd == 1] == target.smallest_subnormal / 2)
    assert np.all(exponent >= -30 - 7)


@pytest.mark.parametrize(("target", "saturate"), [*SATURATING, *NOT_SATURATING], ids=str)
def test_hardest_quotients(target: Format, saturate: bool, tally: Counter[str]) -> None:
    """Of every tie of a target; the scales are near 1 times a power of two."""
    hard = []
    for odd, exponent in zip(*odd_and_exponent(table(target).midpoints), strict=True):
        chosen = HARD.odd == odd
        hard.append([np.ldexp(HARD.x[chosen], exponent + 1 - 23), np.ldexp(HARD.scale[chosen], -23)])
    hard_x, hard_scale = np.concatenate(hard, axis=1)
    assert len(hard_x) > 10 * len(hard)
    for sign, exponent in itertools.product((1, -1), (-60, 0, 58)):
        x, scale = sign * np.ldexp(hard_x, exponent), np.ldexp(hard_scale, exponent)
        inside = (scale > 2.0**-60) & np.isfinite(x)
        x, scale = x[inside], scale[inside]
        quotient = x / scale  # IEEE division, rounded once
        expected = expected_from_float64(quotient.astype(np.float64), target, saturate=saturate)
        options = {"output_dtype": target, "saturate": saturate}
        rows, again = np.repeat(x[:, None], 16, axis=1), np.repeat(expected[:, None], 16, axis=1)
        for who in tiers_and_threads(threads=(2,)):
            what = f"{who}, {target.name}"
            got = lp.quantize_linear(rows, scale, axis=0, **options).view(np.uint8)
            compare(tally, "QuantizeLinear, hardest quotients of floats", got, again, f"{what}, runs", rows)
            got = lp.quantize_linear(np.repeat(x[None], 16, axis=0), scale, axis=1, **options).view(np.uint8)
            compare(tally, "QuantizeLinear, hardest quotients of floats", got, again.T, f"{what}, each")
            one = [lp.quantize_linear(a, b, **options) for a, b in zip(rows[::97], scale[::97], strict=True)]
            got = np.array(one).view(np.uint8).reshape(-1, 16)
            compare(tally, "QuantizeLinear, hardest quotients of floats", got, again[::97], f"{what}, one scale")


def test_which_formats_are_in_reach() -> None:
    assert all(multiplies(fmt) for fmt in EDGES)
    assert not any(multiplies(fmt) for fmt in BEYOND)
    assert sum(multiplies(fmt, saturate=saturate) for fmt in NARROW for saturate in (True, False)) > 8


@pytest.mark.parametrize("target", [NARROW[0], *NARROW[-2:], *EDGES[:3]], ids=lambda fmt: fmt.name)
def test_remainders_that_underflow(target: Format, tally: Counter[str]) -> None:
    """Next to the smallest normal float32 and to scales of 2**-60 x - q * scale is less than 2**-149."""
    rng = generator("underflow", target)
    bits = rng.integers(0, (127 - 85) << 23, (64, 1024)).astype(np.uint32)  # less than 2**-85
    bits[:, :200] = rng.integers(0x7FFF00, 0x800100, (64, 200))
    x = (bits | rng.integers(0, 2, bits.shape).astype(np.uint32) << 31).view(np.float32)
    scale = (np.float32(2.0**-60).view(np.uint32) + 1 + np.arange(64, dtype=np.uint32) ** 3).view(np.float32)
    ties = table(target).midpoints[:3]
    near = (ties[:, None, None] * scale[:, None].astype(np.float64)).astype(np.float32).view(np.int32)
    near = (near + np.arange(-30, 31, dtype=np.int32)).view(np.float32)
    x = np.concatenate([x, *near, *-near], axis=1)
    expected = expected_from_float64((x / scale[:, None]).astype(np.float64), target)
    for who in tiers_and_threads(threads=(2,)):
        got = lp.quantize_linear(x, scale, axis=0, output_dtype=target).view(np.uint8)
        compare(tally, "QuantizeLinear, remainders that underflow", got, expected, f"{who}, rows", x)
        got = lp.quantize_linear(x.T.copy(), scale, axis=1, output_dtype=target).view(np.uint8)
        compare(tally, "QuantizeLinear, remainders that underflow", got.T, expected, f"{who}, each", x)


TWICE = ["int8", "uint8", "int4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float4_e2m1fn", "float6_e2m3fn"]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", TWICE)
def test_every_bfloat16_by_every_mantissa(name: str, tally: Counter[str]) -> None:
    """Quotients of bfloat16, rounded to bfloat16 and again to codes: all there are, but for the scales' exponents."""
    target = lp.as_format(name)
    values = code_values(BFLOAT16)
    if target.is_integer:
        whole = np.clip(np.rint(np.where(np.isnan(values), -np.inf, values)), int(target.min), int(target.max))
        second = (whole.astype(np.int64) & target.code_mask).astype(np.uint8)
    else:
        second = expected_from_float64(values, target)
    codes = np.arange(1 << 16, dtype=np.uint16)
    x = codes.view(ml_dtypes.bfloat16)
    mantissas = np.arange(128) / 128 + 1
    exponents = np.array([*(-60, -59, -31, 0, 30, 59), *range(-60, 60, 7)])
    scales = np.concatenate([mantissas, np.ldexp(mantissas[5::17, None], exponents).ravel()[1:]]).astype(np.float32)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float32)
        first = [(wide / scale).astype(ml_dtypes.bfloat16).view(np.uint16) for scale in scales]
    expected = second[np.stack(first)]
    scale = scales.astype(ml_dtypes.bfloat16)
    rows = np.broadcast_to(x, expected.shape).copy()
    columns, transposed = rows.T.copy(), expected.T.copy()
    for who in tiers_and_threads(threads=()):
        got = lp.quantize_linear(rows, scale, axis=0, output_dtype=target).view(np.uint8) & target.code_mask
        compare(tally, "QuantizeLinear, bfloat16", got, expected, f"{who}, {name}, rows")
        got = lp.quantize_linear(columns, scale, axis=1, output_dtype=target).view(np.uint8) & target.code_mask
        compare(tally, "QuantizeLinear, bfloat16", got, transposed, f"{who}, {name}, each")
