"""Programs about formats: one of one's own with a C header, a cast of one's own, error curves, a notebook."""

from __future__ import annotations

import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec import teaching

MINE = lp.float_format("mine_e3m4", exponent_bits=3, mantissa_bits=4, inf=False, nan="all-ones")
"""A format with a sign, 3 bits of exponent, 4 of mantissa, bias 3, and one NaN to a sign."""


def value_of(code: int) -> Fraction | None:
    """Return the number of a code by the definition; None for NaN."""
    sign, exponent, mantissa = -1 if code & 0x80 else 1, code >> 4 & 7, code & 15
    if code & 0x7F == 0x7F:
        return None
    if exponent == 0:
        return sign * Fraction(mantissa, 16) * Fraction(2) ** -2
    return sign * (1 + Fraction(mantissa, 16)) * Fraction(2) ** (exponent - 3)


NUMBERS = {code: number for code in range(256) if (number := value_of(code)) is not None}


def test_all_codes_of_a_format_of_my_own() -> None:
    values = lp.decode(np.arange(256, dtype=np.uint8), MINE)
    assert {code: Fraction(float(values[code])) for code in NUMBERS} == NUMBERS
    assert np.isnan(values[[0x7F, 0xFF]]).all()
    assert lp.encode(values, MINE).tolist() == list(range(256))  # NaN keeps its sign


def neighbours(x: Fraction) -> tuple[int, int]:
    """Return the codes of the values next to a positive number, below and above, or twice its own."""
    positive = [code for code in NUMBERS if code < 0x80]
    below = max(code for code in positive if NUMBERS[code] <= x)
    return below, below if NUMBERS[below] == x else below + 1


def wanted(x: Fraction, rounding: str) -> set[int]:
    """Return the codes that a positive number within the range may become."""
    below, above = neighbours(x)
    if below == above:
        return {below}
    low, high = x - NUMBERS[below], NUMBERS[above] - x
    nearest = {below} if low < high else {above} if high < low else None
    even = {one for one in (below, above) if one % 2 == 0}
    return {
        "nearest_even": nearest or even,
        "nearest_away": nearest or {above},
        "nearest_zero": nearest or {below},
        "toward_zero": {below},
        "away_from_zero": {above},
        "toward_positive": {above},
        "toward_negative": {below},
        "to_odd": {below, above} - even,
    }.get(rounding, {below, above})


@pytest.mark.parametrize("rounding", lp.roundings)
def test_every_rounding_of_a_format_of_my_own(rounding: str) -> None:
    x = np.linspace(0, float(max(NUMBERS.values())), 2001)
    options = {"seed": 4} if rounding.startswith("stochastic") else {}
    codes = lp.encode(x, MINE, rounding=rounding, **options)
    assert all(code in wanted(Fraction(one), rounding) for one, code in zip(x.tolist(), codes.tolist(), strict=True))
    if not options:
        negative = {"toward_positive": "toward_negative", "toward_negative": "toward_positive"}.get(rounding, rounding)
        assert (lp.encode(-x, MINE, rounding=negative) == codes | 0x80).all()


def test_a_header_in_c(tmp_path: Path) -> None:
    values = lp.decode(np.arange(256, dtype=np.uint8), MINE).tolist()
    texts = ["NAN" if one != one else float(one).hex() + "f" for one in values]
    lines = ["#include <math.h>", "static const float mine[256] = {", ",\n".join(texts), "};"]
    (tmp_path / "mine.h").write_text("\n".join(lines))
    checks = [f"if (mine[{code}] * 64 != {NUMBERS[code] * 64}) return 1;" for code in NUMBERS]
    program = ['#include "mine.h"', "int main(void) {", *checks, "return !(mine[127] != mine[127]);", "}"]
    (tmp_path / "main.c").write_text("\n".join(program) + "\n")
    compiler = shutil.which("cc") or shutil.which("gcc") or pytest.skip("no C compiler")
    subprocess.run([compiler, "-o", "main", "main.c"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


def my_bfloat16(x: np.ndarray) -> np.ndarray:
    """Round to the nearest bfloat16, ties to even, in integers."""
    bits = x.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), bits >> 16 | 0x40, rounded).astype(np.uint16).view(ml_dtypes.bfloat16)


def test_a_cast_of_my_own_on_all_codes() -> None:
    found = lp.compare(my_bfloat16, "float16", "bfloat16")
    assert (found.tried, found.differ, found.first) == (1 << 16, 0, None)


def test_a_cast_of_my_own_that_is_wrong() -> None:
    def truncated(x: np.ndarray) -> np.ndarray:
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(ml_dtypes.bfloat16)

    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        other = truncated(x).view(np.uint16) != my_bfloat16(x).view(np.uint16)
        wrong = np.where(np.isnan(x), ~np.isnan(truncated(x)), other)  # some NaN lose all bits of their payload
    found = lp.compare(truncated, "float16", "bfloat16")
    assert found.differ == wrong.sum()
    assert found.first.code == np.flatnonzero(wrong)[0]
    assert found.first.expected == my_bfloat16(x).view(np.uint16)[found.first.code]
    assert str(found).startswith(f"{wrong.sum()} of 65536 codes of float16 differ from the exact cast to bfloat16\n")


CURVES = {  # the dtypes of NumPy and ml_dtypes
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2, "float6_e2m3fn": ml_dtypes.float6_e2m3fn,
    "float4_e2m1fn": ml_dtypes.float4_e2m1fn,
}  # fmt: skip


@pytest.mark.parametrize("name", CURVES)
def test_error_curves(name: str) -> None:
    curve = teaching.error_curve(name, 1, 4)
    xs = np.random.default_rng(6).uniform(1, 4, 200).astype(np.float32)
    rounded = xs.astype(CURVES[name]).astype(np.float64)
    for x, result in zip(xs.tolist(), rounded.tolist(), strict=True):
        point = curve.at(x)
        assert point.least == point.greatest == Fraction(result) - Fraction(x)
        assert curve.at(x, "relative").greatest == (Fraction(result) - Fraction(x)) / Fraction(x)
    largest = curve.largest("relative")
    bits = ml_dtypes.finfo(CURVES[name]).nmant
    assert largest.error == Fraction(1, (1 << bits + 1) + 1)  # next to 1: half a step of 2**-bits, of 1 and half a step
    assert max(point.greatest for point in curve.points() if point.greatest is not None) <= Fraction(2, 1 << bits + 1)


def test_a_notebook_with_a_number_in_five_formats() -> None:
    for name in ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"):
        dtype = CURVES[name]
        why = lp.explain(0.1, name)
        value = np.float64(0.1).astype(np.float32).astype(dtype)
        assert lp.reference.decode(why.code, name).number == Fraction(float(value))
        html = why._repr_html_()
        assert html.startswith("<")
        assert f"0x{int(np.asarray(value).view(f'u{value.itemsize}')):0{lp.formats[name].bits // 4}x}" in html
        assert name in lp.formats[name]._repr_html_()
        assert str(float(ml_dtypes.finfo(dtype).max)).removesuffix(".0")[:3] in lp.finfo(name)._repr_html_()
    assert "<table" in lp.roundings._repr_html_()
    assert "axis" in lp.quantize(np.ones((2, 3), np.float32), "int8", axis=0)._repr_html_()
