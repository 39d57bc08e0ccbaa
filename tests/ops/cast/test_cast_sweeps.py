"""Casts against the oracle: every code of narrow sources, the boundaries of wide ones, into every target."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from support.cast_cases import NARROW, encode_by_tiers_and_threads, expected_codes, options_for
from support.compare import compare

from lowprec import reference
from lowprec.conformance import cast_inputs
from lowprec.reference import whole_arrays
from lowprec.spec.formats import FORMATS, NUMERIC, Format
from lowprec.spec.operator_versions import first_opset

BY_NAME = {"ids": lambda fmt: fmt.name}


@pytest.mark.one_in(17)
@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
@pytest.mark.parametrize("source", NARROW, **BY_NAME)
def test_every_code(source: Format, target: Format, tally: Counter[str]) -> None:
    codes = np.arange(1 << source.bits).astype(source.code_dtype)
    for options in options_for(target):
        if options.get("opset", 28) < first_opset(source):
            continue
        expected = expected_codes(codes, source, target, options)
        for who, got in encode_by_tiers_and_threads(codes, target, source, options):
            compare(tally, "every code of 16 bits or fewer", got, expected, f"{who}, {options}", codes)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("target", [fmt for fmt in NUMERIC if fmt.name != "float32"], **BY_NAME)
def test_float32_sweep(target: Format, tally: Counter[str]) -> None:
    x = cast_inputs.sweep_float32(target)
    assert x.size >= 2_000_000
    with np.errstate(invalid="ignore"):  # signalling NaNs
        wide = x.astype(np.float64)
    for options in options_for(target):
        expected = whole_arrays.expected_from_float64(wide, target, **options)
        for who, got in encode_by_tiers_and_threads(x, target, None, options):
            compare(tally, "float32 sweeps", got, expected, f"{who}, {options}", x)


@pytest.mark.parametrize("target", [fmt for fmt in NUMERIC if fmt.name != "float64"], **BY_NAME)
def test_float64_sweep(target: Format, tally: Counter[str]) -> None:
    x = cast_inputs.sweep_float64(target)
    for options in options_for(target):
        expected = whole_arrays.expected_from_float64(x, target, **options)
        for who, got in encode_by_tiers_and_threads(x, target, None, options):
            compare(tally, "float64 sweeps", got, expected, f"{who}, {options}", x)


@pytest.mark.one_in(13)
@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
@pytest.mark.parametrize("name", ["int64", "uint64", "int32", "uint32"])
def test_wide_integer_sweep(name: str, target: Format, tally: Counter[str]) -> None:
    x = cast_inputs.sweep_uint64(target) if name == "uint64" else cast_inputs.sweep_int64(target)
    source = FORMATS[name]
    if source.bits == 32:
        x = x[(x >= source.min) & (x <= source.max)]
    assert x.size > 1000
    narrow = x.astype(source.dtype)
    for options in options_for(target):
        expected = whole_arrays.expected_from_integers(x, target, **options)
        for who, got in encode_by_tiers_and_threads(narrow, target, None, options):
            compare(tally, "wide integer sweeps", got, expected, f"{who}, {options}", narrow)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_same_wide_float_keeps_its_bits(name: str, tally: Counter[str]) -> None:
    fmt = FORMATS[name]
    codes = np.random.default_rng(0).integers(0, 1 << fmt.bits, 100_000, fmt.code_dtype)
    for who, got in encode_by_tiers_and_threads(codes.view(fmt.dtype), fmt, None, {}):
        compare(tally, "same-format copies", got, codes, who, codes)


@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
def test_bool_bytes_other_than_one_are_true(target: Format) -> None:
    x = np.array([0, 1, 2, 255], np.uint8).view(np.bool)
    for options in options_for(target):
        if target.name == "bool":
            expected = x.view(np.uint8)
        else:
            expected = whole_arrays.expected_from_integers(np.array([0, 1, 1, 1]), target, **options)
        for who, got in encode_by_tiers_and_threads(x, target, None, options):
            assert got.tolist() == expected.tolist(), who


@pytest.mark.parametrize("source", [fmt for fmt in NARROW if fmt.bits < 8], **BY_NAME)
@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
def test_upper_bits_of_sub_byte_codes_are_ignored(source: Format, target: Format) -> None:
    dirty = np.arange(256, dtype=np.uint8)
    clean = dirty & np.uint8(source.code_mask)
    for options in options_for(target):
        if options.get("opset", 28) < first_opset(source):
            continue
        for (who, got), (_, expected) in zip(
            encode_by_tiers_and_threads(dirty, target, source, options),
            encode_by_tiers_and_threads(clean, target, source, options),
            strict=True,
        ):
            assert np.array_equal(got, expected), who


@pytest.mark.parametrize(
    ("target", "opset"),
    [(fmt, opset) for fmt in NUMERIC if fmt.saturates == "asked" for opset in range(first_opset(fmt), 29)],
)
def test_special_values_in_every_opset(target: Format, opset: int) -> None:
    x = np.array([np.inf, -np.inf, 1e30, -1e30, np.nan, -np.nan, 0.0, -0.0], np.float32)
    for saturate in (True, False):
        expected = [reference.encode(value, target, saturate=saturate, opset=opset) for value in x]
        for who, got in encode_by_tiers_and_threads(x, target, None, {"saturate": saturate, "opset": opset}):
            assert got.tolist() == expected, who
