"""Formats added as one row convert like the others, without a loop of their own, in every back end."""

from __future__ import annotations

import pickle

import array_api_strict as strict
import ml_dtypes
import numpy as np
import pytest
from support.cast_cases import encode_by_tiers_and_threads

import lowprec as lp
from lowprec import reference
from lowprec.cli import formats
from lowprec.conformance import cast_inputs
from lowprec.reference import whole_arrays
from lowprec.reference.whole_arrays import code_values
from lowprec.spec.formats import Format, Kind, NaNRule


def _row(name: str, fields: tuple[int, int, int], *, inf: bool, nan: NaNRule) -> Format:
    return Format(name, name.upper(), 1001, Kind.FLOAT, *fields, True, inf, nan, True, None, 28, "this test")


ROWS = [
    _row("float8_e3m4", (3, 4, 3), inf=True, nan=NaNRule.IEEE),
    _row("float8_e4m3", (4, 3, 7), inf=True, nan=NaNRule.IEEE),
    _row("float8_e4m3b11fnuz", (4, 3, 11), inf=False, nan=NaNRule.NEGATIVE_ZERO),
    _row("float8_e5m2b7", (5, 2, 7), inf=True, nan=NaNRule.IEEE),
    _row("float8_e6m1", (6, 1, 31), inf=True, nan=NaNRule.IEEE),
    _row("float7_e3m3fn", (3, 3, 3), inf=False, nan=NaNRule.ALL_ONES),
    _row("float5_e2m2fn", (2, 2, 1), inf=False, nan=NaNRule.NONE),
    _row("float3_e1m1fn", (1, 1, 1), inf=False, nan=NaNRule.NONE),
    _row("float12_e5m6", (5, 6, 15), inf=True, nan=NaNRule.IEEE),
    _row("float16_e5m10b14", (5, 10, 14), inf=True, nan=NaNRule.IEEE),
    _row("float16_e6m9fn", (6, 9, 31), inf=False, nan=NaNRule.ALL_ONES),
    _row("float16_e7m8fnuz", (7, 8, 64), inf=False, nan=NaNRule.NEGATIVE_ZERO),
]
BY_NAME = {"ids": lambda fmt: fmt.name}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("fmt", ROWS, **BY_NAME)
@pytest.mark.parametrize("saturate", [True, False])
def test_into_a_new_format(fmt: Format, saturate: bool) -> None:
    x = cast_inputs.sweep_float32(fmt, count=100_000)
    with np.errstate(invalid="ignore"):
        expected = whole_arrays.expected_from_float64(x.astype(np.float64), fmt, saturate=saturate)
    for who, got in encode_by_tiers_and_threads(x, fmt, None, {"saturate": saturate}):
        wrong = np.flatnonzero(got != expected)
        assert not wrong.size, (who, x[wrong[0]], got[wrong[0]], expected[wrong[0]])
    some = np.concatenate([x[:: x.size // 20_000], np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)])
    with np.errstate(invalid="ignore"):
        expected = whole_arrays.expected_from_float64(some.astype(np.float64), fmt, saturate=saturate)
    got = lp.encode(strict.asarray(some), fmt, saturate=saturate)
    assert np.array_equal(np.asarray(got), expected)
    wide = cast_inputs.sweep_float64(fmt, count=10_000)
    assert np.array_equal(
        lp.encode(wide, fmt, saturate=saturate), whole_arrays.expected_from_float64(wide, fmt, saturate=saturate)
    )


@pytest.mark.one_in(5)
@pytest.mark.parametrize("fmt", ROWS, **BY_NAME)
@pytest.mark.parametrize(
    "target", ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "int8", "bool", "float8_e8m0fnu"]
)
def test_out_of_a_new_format(fmt: Format, target: str) -> None:
    codes = np.arange(1 << fmt.bits).astype(fmt.code_dtype)
    expected = whole_arrays.expected_from_float64(code_values(fmt), target)
    for who, got in encode_by_tiers_and_threads(codes, lp.formats[target], fmt, {}):
        assert np.array_equal(got, expected), who
    values = lp.decode(strict.asarray(codes), fmt, to="float64")
    assert np.array_equal(np.asarray(values), code_values(fmt), equal_nan=True)


@pytest.mark.parametrize("fmt", [row for row in ROWS if hasattr(ml_dtypes, row.name)], **BY_NAME)
def test_new_formats_that_ml_dtypes_has(fmt: Format) -> None:
    codes = np.arange(256, dtype=np.uint8)
    theirs = codes.view(fmt.dtype).astype(np.float64)
    assert np.array_equal(lp.decode(codes, fmt, to="float64"), theirs, equal_nan=True)
    assert lp.cast(np.ones(2), fmt).dtype == getattr(ml_dtypes, fmt.name)


def test_a_new_format_in_tables_and_explain() -> None:
    fmt = ROWS[6]
    assert lp.finfo(fmt).max == 7.0
    assert lp.cast(np.ones(3), fmt).dtype == np.uint8
    assert "float5_e2m2fn" in str(lp.explain("0.3", fmt))
    assert reference.encode(7, fmt) == 0b01111
    assert "7.0" in formats.code_table(fmt)
    assert "this test" in formats.facts(fmt)
    again = pickle.loads(pickle.dumps(fmt))
    assert again is fmt


@pytest.mark.one_in(7)
@pytest.mark.parametrize("fmt", ROWS, **BY_NAME)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float8_e5m2", "float8_e8m0fnu"])
def test_narrow_sources_into_a_new_format(fmt: Format, source: str) -> None:
    codes = np.arange(1 << lp.formats[source].bits).astype(lp.formats[source].code_dtype)
    for saturate in (True, False):
        expected = whole_arrays.expected_from_float64(code_values(lp.formats[source]), fmt, saturate=saturate)
        for who, got in encode_by_tiers_and_threads(codes, fmt, lp.formats[source], {"saturate": saturate}):
            assert np.array_equal(got, expected), who
