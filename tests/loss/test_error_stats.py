"""Error statistics: parts add up, squares do not overflow; of codes with scales, as NumPy and the oracle have them."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from support.paths import table

import lowprec as lp
from lowprec import _kernels
from lowprec.checkpoints.schemes.cast import PART, Arithmetic, ElementRules, SourceBytes
from lowprec.loss.error_stats import (
    ElementStats,
    ErrorStats,
    ScaledCodes,
    add_scaled,
    convert_compared,
    count_beyond,
    error_statistics,
)
from lowprec.reference.whole_arrays import broadcast, code_values
from lowprec.spec.formats import FORMATS, NUMERIC, Format
from lowprec.spec.operator_versions import cast_rules


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pieces_add_up(dtype: Any) -> None:
    """Those of a caller, and those that a large array, in any order, is cut into."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal(210_000).astype(dtype)
    x[::1000] = np.nan
    x[1::1000] = np.inf
    back = np.rint(x)
    whole, parts = ErrorStats(), ErrorStats()
    whole.add(x, back.copy())
    for start in range(0, x.size, 777):
        part = ErrorStats()
        part.add(x[start : start + 777], back[start : start + 777].copy())
        parts.merge(part)
    arrays = error_statistics(*(one.reshape(7, 30_000)[:, ::-1] for one in (x, back)))
    finite = np.isfinite(x)
    wide, error = x[finite].astype(np.float64), np.abs(back[finite] - x[finite]).astype(np.float64)
    for found in (whole, parts, arrays):
        found.saturated += 7
        assert (found.elements, found.nan, found.inf, found.saturated) == (210_000, 210, 210, 7)
        assert (found.low, found.high) == (wide.min(), wide.max())
        assert found.flushed == np.count_nonzero((wide != 0) & (np.rint(wide) == 0))
        assert found.max_abs_error == error.max()
        assert found.max_rel_error == pytest.approx((error[wide != 0] / np.abs(wide[wide != 0])).max())
        assert found.sqnr_db == pytest.approx(10 * math.log10((wide**2).sum() / (error**2).sum()), abs=1e-9)


@pytest.mark.parametrize("size", [1e300, 1e-300, 1e38, 1e-40, 1.0])
def test_squares_neither_overflow_nor_vanish(size: float) -> None:
    for dtype in (np.float64, np.float32) if 1e-45 < size < 1e39 else (np.float64,):
        x = np.full(10_000, size, dtype)
        found = ErrorStats()
        found.add(x, x * dtype(0.5))
        assert found.sqnr_db == pytest.approx(20 * math.log10(2), abs=1e-9)
    mixed = ErrorStats()
    for value in (1e-200, 1e200, 1e-100):
        mixed.add(np.array([value]), np.array([0.0]))
    assert mixed.sqnr_db == 0
    assert mixed.flushed == 3


def test_nothing_and_infinity() -> None:
    found = ErrorStats()
    found.add(np.zeros(0), np.zeros(0))
    found.add(np.zeros(3), np.zeros(3))
    assert math.isnan(found.sqnr_db)
    assert found.max_rel_error == 0
    found.add(np.ones(2), np.array([1.0, np.inf]))
    assert found.sqnr_db == -math.inf
    assert found.max_rel_error == math.inf
    found = ErrorStats()
    found.add(np.zeros(2), np.array([0.5, 0.0]))  # a format without a zero
    assert (found.max_abs_error, found.max_rel_error, found.flushed) == (0.5, 0.0, 0)


def test_counts_of_integers_are_exact() -> None:
    found = ElementStats()
    found.count(np.array([2**63 - 1, -(2**63)]))
    found.count(np.array([2**64 - 1], np.uint64))
    assert (found.low, found.high, found.elements) == (-(2**63), 2**64 - 1, 3)


def agree(loop: ErrorStats, twin: ErrorStats, *what: object) -> None:
    for name in ("elements", "nan", "inf", "low", "high", "flushed", "max_abs_error", "max_rel_error"):
        assert getattr(loop, name) == getattr(twin, name), (name, *what)
    assert loop.sqnr_db == pytest.approx(twin.sqnr_db, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 1000, 5003])
@pytest.mark.parametrize("exponents", [(-140, 120), (-149, -120), (-60, -40), (-3, 3), (50, 60), (100, 125)], ids=str)
def test_the_loop_and_its_twin_agree(tier: str, n: int, exponents: tuple[int, int]) -> None:
    rng = np.random.default_rng(n)
    x = (rng.standard_normal(n) * np.exp2(rng.integers(*exponents, n))).astype(np.float32)
    x[::7] = 0
    x[3::7] *= -0.0
    nearly = (x.view(np.uint32) ^ rng.integers(0, 2, n, np.uint32)).view(np.float32)  # errors of one unit, or none
    beyond = np.where(x > 0, np.inf, x).astype(np.float32)
    for back in (np.rint(x), x, nearly, x * np.float32(0.75), beyond, np.zeros_like(x)):
        loop, twin = ErrorStats(), ErrorStats()
        with np.errstate(over="ignore"):
            peaks = loop.add(x, back.copy()), twin.add(x, back.copy(), np.abs(x - back))
        assert peaks[0] == peaks[1] == np.abs(x).max()
        agree(loop, twin)


@pytest.mark.parametrize("target", ["float8_e4m3fn", "float4_e2m1fn", "float8_e8m0fnu", "bfloat16", "int4", "int16"])
def test_one_pass_gives_what_several_do(tier: str, target: str) -> None:
    to, rng = FORMATS[target], np.random.default_rng(7)
    for source in ("float32", "float16", "bfloat16", "float8_e5m2"):
        for n in (1, 2047, 2048, 10_001):
            held = FORMATS[source]
            numbers = (rng.standard_normal(n) * 3).astype(np.float32)
            numbers[7::500], numbers[11::500], numbers[12::500] = np.nan, -np.inf, np.inf
            x = lp.encode(numbers, held)
            rules = cast_rules(held, to)
            for packed in (False, True)[: 2 if to.bits < 8 else 1]:
                wanted = lp.encode(x, to, source=held, packed=packed)
                out = np.zeros(wanted.nbytes, np.uint8)
                seen = convert_compared(x, held, to, rules, packed, out)
                assert np.array_equal(out, wanted.view(np.uint8))
                back = lp.decode(lp.encode(x, to, source=held), to)
                values = lp.decode(x, held)
                loop, twin = ErrorStats(), ErrorStats()
                loop.add_counts(n, seen)
                with np.errstate(invalid="ignore"):
                    twin.add(values, back.copy(), np.abs(values - back))
                agree(loop, twin, source, n)


def test_the_loop_counts_nan_and_inf_and_leaves_them_out() -> None:
    for special in (np.nan, -np.nan, np.inf, -np.inf):
        for n, at in ((40, 17), (300, 299), (1, 0), (256, 0)):
            x, back = np.full(n, 2.0, np.float32), np.full(n, 3.0, np.float32)
            x[at] = special
            found = ErrorStats()
            assert found.add(x, back) == (2 if n > 1 else 0)
            assert (found.elements, found.nan, found.inf) == (n, int(np.isnan(special)), int(np.isinf(special)))
            if n > 1:
                assert (found.low, found.high, found.max_abs_error, found.max_rel_error) == (2, 2, 1, 0.5)
                assert found.sqnr_db == pytest.approx(20 * math.log10(2), abs=1e-12)
            else:
                assert (found.low, found.high, found.max_abs_error) == (math.inf, -math.inf, 0)
    for sizes in ((0, 0), (2, 3)):
        with pytest.raises(ValueError, match="must have as many elements"):
            _kernels.compare(*(np.zeros(size, np.float32) for size in sizes))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_finite_element_that_became_nan_has_no_error(dtype: Any) -> None:
    """A format without Inf that does not saturate has NaN beyond its range."""
    found = ErrorStats()
    found.add(np.array([1.0, 500.0, 3.0], dtype), np.array([1.0, np.nan, 2.0], dtype))
    assert (found.elements, found.nan, found.max_abs_error) == (3, 0, 1.0)
    assert found.max_rel_error == pytest.approx(1 / 3)
    assert math.isnan(found.sqnr_db)


def test_sums_of_squares_do_not_depend_on_the_order() -> None:
    """Powers of two whose squares float64 cannot add without rounding."""
    parts = []
    for exponent in (-1070, 0, 60, 900, -300, 1020, 3):
        part = ErrorStats()
        part.add(np.array([math.ldexp(1.0, exponent)]), np.array([math.ldexp(0.5, exponent)]))
        parts.append(part)
    for order in (parts, parts[::-1], parts[3:] + parts[:3]):
        total = ErrorStats()
        for part in order:
            total.merge(part)
        assert total._signal == 4 * total._noise  # each error is half of its element
    single = ErrorStats()
    single.add(np.array([2.0**60, 1.0], np.float32), np.array([2.0**60, 0.5], np.float32))
    single.merge(parts[1])
    assert Fraction(single._signal, 2**2304) == 2**120 + 1  # the call lost the square of 1, merging nothing


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.is_float and fmt.bits <= 16], ids=lambda fmt: fmt.name)
def test_out_of_range_is_decided_exactly_in_float32(fmt: Format) -> None:
    """Ties at the end of the range, and their neighbours, as the oracle rounds them with unbounded exponent."""
    step = Fraction(2) ** (fmt.emax - fmt.mantissa_bits)
    tie = np.float32(float(Fraction(fmt.max) + step / 2)) if fmt.has_zero else np.float32(fmt.max)
    around = np.array([np.nextafter(tie, np.float32(0)), tie, np.nextafter(tie, np.float32(np.inf))], np.float32)
    beyond = [False, fmt.max_code % 2 == 1, True] if fmt.has_zero else [False, False, True]
    for x, wanted in zip(around, beyond, strict=True):
        for value in (x, -x):
            assert count_beyond(np.array([value, np.nan, np.inf], np.float32), fmt, nearest=False) == wanted


@pytest.mark.parametrize("source", ["float32", "float16", "bfloat16"])
def test_a_cast_of_a_piece_counts_what_saturates_part_by_part(source: str) -> None:
    """e4m3fn ends at 448; the tie beyond it, 464, still rounds to it. One part has a NaN and takes the long way."""
    held, to = FORMATS[source], FORMATS["float8_e4m3fn"]
    values = np.ones(2 * PART + 10, np.float32)
    values[[3, 5, PART + 1, 2 * PART + 9]] = [480, -512, 496, -1024]
    values[[4, PART, 2 * PART + 1]] = [464, -448, 0.0001]  # within; within; too small
    values[PART + 7] = np.nan
    x = lp.encode(values, held)
    result, tally = np.zeros(x.size, np.uint8), ErrorStats()
    rules = ElementRules(to, saturate=True, round_mode=None, opset=28)
    Arithmetic().cast(SourceBytes(x.view(np.uint8), held), x.size, rules, result, tally)
    assert (tally.elements, tally.saturated, tally.nan, tally.flushed) == (x.size, 4, 1, 1)
    assert (tally.low, tally.high) == (-1024, 496)
    assert np.array_equal(result, lp.encode(x, to, source=held))


def test_the_state_is_exact_as_json() -> None:
    """What was counted comes back bit for bit: sums are exact integers, ends may be infinite, an error may be NaN."""
    for x, back in [([1e-300, 3.0, np.nan], [0.0, 2.5, 1.0]), ([2.0], [np.inf]), ([2.0], [np.nan]), ([], [])]:
        stats = error_statistics(np.array(x, np.float64), np.array(back, np.float64))
        stats.saturated = 3
        again = ErrorStats.from_state(json.loads(json.dumps(stats.state())))
        assert repr(vars(again)) == repr(vars(stats))
        assert repr(again.sqnr_db) == repr(stats.sqnr_db)


@pytest.mark.parametrize("value", [None, "3", True, 2.5, [3]])
def test_what_is_no_state(value: object) -> None:
    state = ErrorStats().state() | {"elements": value}
    with pytest.raises(ValueError, match="`state` must have a number 'elements'"):
        ErrorStats.from_state(state)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [0, -100, 100])
def test_the_root_of_the_mean_square(dtype: Any, power: int) -> None:
    unit = 2.0**power
    x = np.array([3.0, -1.0, 0.0, np.nan, 2.0], dtype) * dtype(unit)
    back = np.array([0.0, -5.0, 0.0, np.nan, 2.0], dtype) * dtype(unit)
    found = error_statistics(x, back).rms_error
    assert found == pytest.approx(2.5 * unit, rel=1e-15)  # the squares 9, 16, 0 and 0 of four finite elements
    parts = [error_statistics(x[part], back[part]) for part in (slice(0, 2), slice(2, 5))]
    parts[0].merge(parts[1])
    assert parts[0].rms_error == found


def test_the_root_of_the_mean_square_has_ends() -> None:
    tiny = np.array([1e-200, 1e-200])
    assert error_statistics(tiny, np.zeros(2)).rms_error == pytest.approx(1e-200, rel=1e-12)  # the square is below all
    assert error_statistics(1 / tiny, np.zeros(2)).rms_error == pytest.approx(1e200, rel=1e-12)
    assert error_statistics(tiny, tiny).rms_error == 0
    assert math.isnan(error_statistics(np.array([np.nan]), np.array([np.nan])).rms_error)
    assert error_statistics(np.array([1.0, 2.0]), np.array([1.0, np.inf])).rms_error == math.inf
    assert math.isnan(error_statistics(np.array([1.0, 2.0]), np.array([1.0, np.nan])).rms_error)


def test_arrays_in_the_other_byte_order_have_the_same_statistics() -> None:
    x, back = np.array([1.0, -3.0, 0.3], np.float32), np.array([1.0, -2.5, 0.25], np.float32)
    wanted = error_statistics(x, back).state()
    assert error_statistics(x.astype(">f4"), back).state() == wanted
    assert error_statistics(x, back.astype(">f4")).state() == wanted


Array = np.ndarray[Any, Any]
NAMES = ("elements", "nan", "inf", "low", "high", "saturated", "flushed", "max_abs_error", "max_rel_error")


class Limits(NamedTuple):
    """Half-way beyond the ends of a range; whether a number there goes to the code outside (ties go to even codes)."""

    low: float
    high: float
    low_is_outside: bool
    high_is_outside: bool


LIMITS = {name: Limits(*row) for name, row in table(__file__).items()}
"""Typed from the documents of the formats."""

SOURCES = {name: FORMATS[name].dtype for name in ("float32", "bfloat16", "float16", "float8_e5m2")}


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
        "elements": v.size, "nan": int(np.isnan(v).sum()), "inf": int(np.isinf(v).sum()),
        "low": v[finite].min(initial=np.inf), "high": v[finite].max(initial=-np.inf),
        "saturated": int(((above | below) & np.isfinite(q)).sum()),
        "flushed": int(((magnitude != 0) & (w[finite] == 0)).sum()), "max_abs_error": error.max(initial=0),
        "max_rel_error": ratio.max(initial=0), "signal": math.fsum(np.square(magnitude.astype(np.float64))),
        "noise": math.fsum(np.square(error.astype(np.float64))),
    }  # fmt: skip


def check(found: ErrorStats, wanted: dict[str, Any]) -> None:
    for name in NAMES:
        assert getattr(found, name) == wanted[name], name
    if wanted["signal"] and 0 < wanted["noise"] < math.inf:
        db = 10 * (math.log10(wanted["signal"]) - math.log10(wanted["noise"]))
        assert found.sqnr_db == pytest.approx(db, abs=1e-9)


def statistics(x: Array, codes: Array, fmt: Format, scale: Array, *args: Any, **options: Any) -> ErrorStats:
    """Return the statistics of an array of the dtype of its format, whose codes are those with scales."""
    found = ErrorStats()
    held = x.view(f"u{x.dtype.itemsize}")
    add_scaled(found, held, lp.as_format(x.dtype), ScaledCodes(codes, fmt, scale, *args, **options))
    return found


def unpacked(codes: Array, fmt: Format, n: int) -> Array:
    """Return codes of 2, 4 or 6 bits, the first one in the lowest bits."""
    bits = np.unpackbits(codes, bitorder="little")[: n * fmt.bits].reshape(n, fmt.bits)
    return np.asarray((bits << np.arange(fmt.bits)).sum(axis=1))


SHAPES = [
    ((3, 700), (), 1, 0), ((1, 1), (), 1, 0), ((37, 129), (37,), 0, 0), ((3, 5, 333), (5,), 1, 0),
    ((2, 1000, 3), (1000,), 1, 0), ((41, 70), (70,), 1, 0), ((5, 512), (5, 16), 1, 32), ((5, 512), (5, 32), 1, 16),
    ((3, 1000), (3, 8), 1, 128), ((5, 77), (5, 3), 1, 32), ((7, 60), (7, 12), 1, 5), ((4, 2048), (4, 2), 1, 1024),
    ((2, 64, 9), (2, 2, 9), 1, 32), ((300, 260), (3, 3), (0, 1), (128, 128)), ((9, 200), (3, 7), (0, 1), (4, 32)),
]  # fmt: skip
"""Shapes of x and of the scales, axes, block sizes."""
SCALES = ("float32", "bfloat16", "float16", "float8_e8m0fnu")


@pytest.mark.one_in(7)
@pytest.mark.parametrize("target", LIMITS)
def test_every_layout_of_scales(tier: str, target: str) -> None:
    fmt = FORMATS[target]
    rng = np.random.default_rng(11)
    for number, (shape, scale_shape, axis, block) in enumerate(SHAPES):
        where: dict[str, Any] = {"axis": axis, "block_size": block}
        held_as = SCALES[number // 4 % 4]
        exponents = rng.uniform(-20, 20, scale_shape) if held_as == "float32" else rng.integers(-8, 8, scale_shape)
        wide = np.exp2(exponents).astype(np.float32)
        scale = wide.astype(FORMATS[held_as].dtype)  # all of them have these values
        spread = np.repeat(wide, block[0], axis=0)[: shape[0]] if isinstance(block, tuple) else wide
        at, size = (axis[1], block[1]) if isinstance(axis, tuple) and isinstance(block, tuple) else (axis, block)
        factors = broadcast(np.asarray(spread), shape, at, size)
        source = list(SOURCES)[number % len(SOURCES)]
        x = elements(factors, LIMITS[target], SOURCES[source], number)
        packs = fmt.bits < 8 and x.size % 4 == 0
        with np.errstate(all="ignore"):
            codes, packed = (
                np.asarray(lp.quantize_linear(x.astype(np.float32), wide, output_dtype=fmt, packed=one, **where))
                for one in (False, packs)
            )
        found = statistics(x, packed.reshape(-1).view(np.uint8), fmt, scale, None, axis, block, packs)
        plain = codes.reshape(-1).view(f"u{fmt.code_dtype.itemsize}").astype(np.int64) & fmt.code_mask
        check(found, expected(x, plain, factors, fmt, 0))


@pytest.mark.parametrize(("target", "zero_point"), [("uint4", 8), ("uint8", 128), ("int8", -3), ("uint8", 1)])
def test_zero_points_move_the_range(tier: str, target: str, zero_point: int) -> None:
    fmt, rng = FORMATS[target], np.random.default_rng(4)
    scale = np.exp2(rng.uniform(-3, 3, (6, 4))).astype(np.float32)
    factors = np.repeat(scale, 32, axis=1)
    moved = LIMITS[target]._replace(low=LIMITS[target].low - zero_point, high=LIMITS[target].high - zero_point)
    tie = zero_point % 2 == 1  # an odd end becomes an even one
    x = elements(factors, moved, ml_dtypes.bfloat16, 2)
    packed = fmt.bits == 4
    codes = rng.integers(0, 256, x.size * fmt.bits // 8, np.uint8)
    plain = unpacked(codes, fmt, x.size) if packed else codes
    found = statistics(x, codes, fmt, scale, zero_point, block_size=32, packed=packed)
    wanted = expected(x, plain, factors, fmt, zero_point)
    if tie:
        with np.errstate(all="ignore"):
            q = x.astype(np.float32) / factors
        wanted["saturated"] = int((((q <= moved.low) | (q > moved.high)) & np.isfinite(q)).sum())
    check(found, wanted)


def test_scales_that_are_no_positive_numbers(tier: str) -> None:
    """Quotients by 0, Inf and NaN are no finite numbers or zero; a negative scale exchanges the ends."""
    fmt, values = FORMATS["int8"], np.array([0, -0.0, 1, -1, 127.6, -127.6, -129, 3e38, np.inf, np.nan], np.float32)
    for size in (1, 16, 64):
        scale = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -1e-40, 1e-45, 3e38], np.float32)
        x = np.resize(values, (scale.size, size * values.size)).astype(np.float32)
        codes = np.ones(x.size, np.uint8)
        found = statistics(x, codes, fmt, scale, axis=0)
        with np.errstate(all="ignore"):
            q = x / scale[:, np.newaxis]
        assert found.saturated == np.count_nonzero(((q < -128.5) | (q >= 127.5)) & np.isfinite(q))
        assert found.saturated > 0


def test_memory_at_any_address(tier: str) -> None:
    fmt, rng = FORMATS["int16"], np.random.default_rng(5)
    x = rng.standard_normal(5001).astype(np.float32)
    codes = rng.integers(-9, 9, x.size, np.int16)
    there, held = np.zeros(x.nbytes + 1, np.uint8)[1:], np.zeros(codes.nbytes + 1, np.uint8)[1:]
    there[:], held[:] = x.view(np.uint8), codes.view(np.uint8)
    scale = np.array(0.1, np.float32)
    aligned, unaligned = statistics(x, codes, fmt, scale), statistics(there.view(np.float32), held, fmt, scale)
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
def test_values_of_one_sign(tier: str, source: str) -> None:
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
            found = statistics(x, codes, fmt, scale)
            check(found, expected(x, codes.astype(np.int64), np.full(n, scale), fmt, 0))


@pytest.mark.parametrize("source", ["bfloat16", "float32"])
@pytest.mark.parametrize("block", [0, 16, 128])
def test_all_instruction_sets_find_the_same_bits(source: str, block: int) -> None:
    fmt, rng = FORMATS["float8_e4m3fn"], np.random.default_rng(8)
    states = []
    x = (rng.standard_normal((7, 4096)) * 1e-3).astype(SOURCES[source])
    x[3, 1000] = np.nan
    codes = rng.integers(0, 0x7F, x.size, np.uint8)
    scale = np.exp2(rng.uniform(-9, -3, (7, 4096 // block) if block else ())).astype(np.float32)
    for isa in _kernels.available_isas():
        _kernels.use_isa(isa)
        states.append(statistics(x, codes, fmt, scale, block_size=block).state())
    assert all(state == states[0] for state in states)
    assert states[0]["nan"] == 1
