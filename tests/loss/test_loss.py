"""`measure` against sums in fractions over the oracle's codes, and against numbers computed by hand."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.loss.convert_and_measure import Loss, measure
from lowprec.spec.formats import Format, Kind

Array = np.ndarray[Any, Any]
rng = np.random.default_rng(20261121)
SOME = rng.standard_normal(60) * np.exp2(rng.integers(-12, 12, 60))
ARRAYS: dict[str, Any] = {
    "float32": np.concatenate([SOME, [0.0, -0.0, np.nan, np.inf, -np.inf]]).astype(np.float32).reshape(13, 5),
    "float64, huge": SOME * 1e290, "float64, tiny": SOME * 1e-310,
    "float16": rng.standard_normal((4, 9)).astype(np.float16), "bfloat16": SOME.astype(ml_dtypes.bfloat16),
    "float8_e4m3fn": SOME.astype(ml_dtypes.float8_e4m3fn),
    "int4": np.arange(-8, 8, dtype=np.int8).astype(ml_dtypes.int4),
    "int64": np.concatenate([rng.integers(-(2**63), 2**63 - 1, 40), [2**63 - 1, -(2**63), 2**53 + 1, 0, 5]]),
    "uint64": np.array([2**64 - 1, 2**63 + 1, 2**53 + 1, 3, 0], np.uint64),
    "int16": np.array([-32768, 32767, 0, 1, -1, 100, -300, 4097], np.int16), "uint8": np.arange(256, dtype=np.uint8),
    "bool": np.array([True, False, True]), "float64, beyond float32": np.array([1e300, -1e299, 3.0]),
    "float64, below float32": np.array([1e-300, 2e-300]), "zeros": np.zeros(4, np.float32),
    "NaNs": np.full((2, 2), np.nan, np.float32), "empty": np.zeros((0, 3), np.float32),
    "0-d": np.array(0.7, np.float32), "big-endian, strided": SOME.astype(">f4")[::-3],
}  # fmt: skip
TARGETS = [fmt for fmt in lp.formats.values() if fmt.kind in (Kind.FLOAT, Kind.INT, Kind.BOOL)]


def exact(x: Array) -> list[Fraction | float]:
    """Return the elements as fractions; NaN and Inf as floats."""
    plain = [value.item() for value in x.astype(x.dtype.newbyteorder("=")).ravel()]
    numbers = [value if isinstance(value, int) else float(value) for value in plain]
    return [Fraction(value) if math.isfinite(value) else float(value) for value in numbers]


@functools.cache
def largest_code(fmt: Format) -> int:
    """Return the code of the largest finite value, found by looking: finite codes without a sign come first."""
    if fmt.kind is Kind.BOOL:
        return 1
    low, high = 0, 2 ** (fmt.bits - fmt.signed)  # the first is finite, the second is past the end
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reference.decode(middle, fmt).special else (middle, high)
    return low


def is_beyond(value: Fraction, fmt: Format, nearest: bool) -> bool:
    top = largest_code(fmt)
    largest = reference.decode(top, fmt).number
    if fmt.kind is not Kind.FLOAT:
        whole = round(value) if nearest else int(value)  # round() takes ties to even
        return not (-largest - 1 if fmt.signed else 0) <= whole <= largest
    if not fmt.signed:  # float8_e8m0fnu: magnitudes alone, and no zero
        return not reference.decode(0, fmt).number <= abs(value) <= largest
    limit = largest + (largest - reference.decode(top - 1, fmt).number) / 2
    return abs(value) > limit or (abs(value) == limit and top % 2 == 1)


def expected(x: Array, fmt: Format, scaled: bool) -> Loss:
    values = [value for value in exact(x) if isinstance(value, Fraction)]
    specials = [value for value in exact(x) if isinstance(value, float)]
    largest = reference.decode(largest_code(fmt), fmt).number
    scale = 1.0
    if scaled and fmt.exponent_bits < 8 and values:
        wanted = float(max(map(abs, values))) / float(largest)
        scale = float(np.float32(min(max(wanted, 2.0**-149), float(np.finfo(np.float32).max)))) if any(values) else 1.0
    inside, back = [], []
    for value in values:
        number = Fraction(float(value) / scale) if scaled else value
        inside.append(number)
        if scaled and fmt.kind is Kind.INT:
            lowest = -largest - 1 if fmt.signed else 0
            code = int(min(max(round(number), lowest), largest)) % 2**fmt.bits
        else:
            code = reference.encode(number, fmt)
        result = reference.decode(code, fmt)
        back.append(math.inf if result.special else result.number * Fraction(scale))
    errors = [abs(b - v) for v, b in zip(values, back, strict=True)]
    worst: Any = max(errors, default=0)
    ratios = [e if e == math.inf else e / abs(v) for v, e in zip(values, errors, strict=True) if v]
    signal: Any = sum(v * v for v in values)
    noise: Any = math.inf if worst == math.inf else sum(e * e for e in errors)
    if not signal:
        sqnr = math.nan
    elif not noise:
        sqnr = math.inf
    elif noise == math.inf:
        sqnr = -math.inf
    else:
        sqnr = 10 * (log10(Fraction(signal)) - log10(Fraction(noise)))
    return Loss(
        format=fmt.name, scale=scale, elements=x.size, nan=sum(map(math.isnan, specials)),
        inf=sum(map(math.isinf, specials)), saturated=sum(is_beyond(number, fmt, scaled) for number in inside),
        flushed=sum(v != 0 and b == 0 for v, b in zip(values, back, strict=True)), max_abs_error=float(worst),
        max_rel_error=math.inf if max(ratios, default=0) > 1e308 else float(max(ratios, default=0)), sqnr_db=sqnr,
        bytes_before=math.ceil(x.size * lp.as_format(x.dtype).bits / 8),
        bytes_after=math.ceil(x.size * fmt.bits / 8),
    )  # fmt: skip


def log10(number: Fraction) -> float:
    shift = number.numerator.bit_length() - number.denominator.bit_length()
    return math.log10(number / Fraction(2) ** shift) + shift * math.log10(2)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("scaled", [False, True], ids=["cast", "scaled"])
@pytest.mark.parametrize("fmt", TARGETS, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("name", ARRAYS)
def test_against_fractions(name: str, fmt: Format, scaled: bool) -> None:
    x = ARRAYS[name]
    got, wanted = measure(x, fmt, scaled=scaled), expected(x, fmt, scaled)
    for field in ("format", "scale", "elements", "nan", "inf", "saturated", "flushed", "bytes_before", "bytes_after"):
        assert getattr(got, field) == getattr(wanted, field), field
    # A quotient multiplied back carries float64's own rounding: errors below it are not the format's.
    peak = max((abs(float(value)) for value in exact(x) if isinstance(value, Fraction)), default=0.0)
    noise = peak * 1e-14 if scaled else 0.0
    assert got.max_abs_error == pytest.approx(wanted.max_abs_error, rel=1e-9, abs=noise)
    if wanted.max_abs_error > noise * 1e5:
        assert got.max_rel_error == pytest.approx(wanted.max_rel_error, rel=1e-9, abs=1e-14 if scaled else 0.0)
        assert got.sqnr_db == pytest.approx(wanted.sqnr_db, abs=1e-6, nan_ok=True)
    elif wanted.max_abs_error == 0 and not scaled:
        assert got.sqnr_db == pytest.approx(wanted.sqnr_db, nan_ok=True)


def test_by_hand() -> None:
    found = measure(np.array([1.0, 1.1, 1000.0, 0.0009], np.float32), "float8_e4m3fn")
    assert (found.saturated, found.flushed, found.max_abs_error) == (1, 1, 552.0)  # 1000 - 448; 0.0009 < 2**-10
    found = measure(np.array([464.0, 465.0, -464.0, -465.0]), "float8_e4m3fn")
    assert found.saturated == 2  # 464 is the tie, and 448 its even side
    found = measure(np.array([7.0, 6.9, -7.0]), "float4_e2m1fn")
    assert found.saturated == 2  # 7 is the tie, and the code of 6 odd
    found = measure(np.array([3.0, 4.0]), "float4_e2m1fn", scaled=True)
    assert found.scale == float(np.float32(4 / 6))
    found = measure(np.array([7.9, -8.9, 8.0, -9.0]), "int4")  # truncated: 7, -8; wrapped: -8, 7
    assert (found.saturated, found.max_abs_error) == (2, 16.0)
    found = measure(np.array([1.0, 2.0, 4.0, 0.0, -8.0]), "float8_e8m0fnu")
    assert (found.saturated, found.max_abs_error) == (1, 16.0)  # no zero; the sign is ignored: -8 becomes 8


def test_wide_integers_are_rounded_once_and_errors_exact() -> None:
    x = np.array([2**60 + 2**36 + 1])  # float32 is spaced by 2**37 there: just above the tie
    assert measure(x, "float32").max_abs_error == 2**36 - 1
    assert measure(np.array([2**63 - 1]), "float64").max_abs_error == 1.0
    assert measure(np.array([2**64 - 1], np.uint64), "float64").max_abs_error == 1.0
    for x in (np.array([2**63 - 1, -(2**63)]), np.array([2**64 - 1, 0], np.uint64)):
        assert measure(x, x.dtype).sqnr_db == math.inf
        assert measure(x, x.dtype).max_abs_error == 0


def test_codes() -> None:
    codes = np.array([0b0111, 0b0001, 0b1111], np.uint8)  # 6, 0.5, -6
    found = measure(codes, "int2", source="float4_e2m1fn")  # 6 & 3 is -2, 0, and -6 & 3 is -2
    assert (found.elements, found.bytes_before, found.bytes_after) == (3, 2, 1)
    assert (found.max_abs_error, found.flushed, found.saturated) == (8.0, 1, 2)
    assert measure(np.array([1, 2], np.uint64), "float32", source="float64").flushed == 2
    assert measure(np.array([2**64 - 1], np.uint64), "int8", source="int64").max_abs_error == 0
