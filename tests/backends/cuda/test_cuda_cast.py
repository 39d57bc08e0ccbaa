"""Casts by the CUDA text, compiled for the CPU, against the oracle; the CPU loops take no part."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.bits import packed_bytes
from support.cast_cases import NARROW, expected_codes, options_for
from support.compare import compare
from support.cuda_on_cpu import CpuBuild

from lowprec.backends.kernels_of_plan import make_program
from lowprec.conformance import cast_inputs
from lowprec.plans.cast_plan import make_plan
from lowprec.plans.plan import copy_plan
from lowprec.reference import whole_arrays
from lowprec.spec.formats import FORMATS, NUMERIC, Format
from lowprec.spec.operator_versions import cast_rules, first_opset

BY_NAME = {"ids": lambda fmt: fmt.name}
PACKABLE = [fmt for fmt in NUMERIC if fmt.bits in (2, 4, 6)]
COUNTS = (0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 100)


def _convert(
    cast_kernels: CpuBuild, codes: np.ndarray, source: Format, target: Format, options: dict[str, Any]
) -> np.ndarray:
    plan = make_plan(source, target, cast_rules(source, target, **options))
    return cast_kernels(codes, make_program(plan), codes.size)


@pytest.mark.one_in(25)
@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
@pytest.mark.parametrize("source", NARROW, **BY_NAME)
def test_every_code(cast_kernels: CpuBuild, source: Format, target: Format, tally: Counter[str]) -> None:
    codes = np.arange(1 << source.bits).astype(source.code_dtype)
    for options in options_for(target):
        if options.get("opset", 28) >= first_opset(source):
            got = _convert(cast_kernels, codes, source, target, options)
            expected = expected_codes(codes, source, target, options)
            compare(tally, "CUDA on the host, every code of 16 bits or fewer", got, expected, f"{options}", codes)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_wide_float_sweep(cast_kernels: CpuBuild, name: str, target: Format, tally: Counter[str]) -> None:
    source = FORMATS[name]
    if source is target:
        return
    x = getattr(cast_inputs, f"sweep_{name}")(target, count=300_000)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = x.astype(np.float64)
    for options in options_for(target):
        got = _convert(cast_kernels, x.view(source.code_dtype), source, target, options)
        expected = whole_arrays.expected_from_float64(values, target, **options)
        compare(tally, f"CUDA on the host, {name} sweeps", got, expected, f"{options}", x)


@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
@pytest.mark.parametrize("name", ["int64", "uint64", "int32", "uint32"])
def test_wide_integer_sweep(cast_kernels: CpuBuild, name: str, target: Format, tally: Counter[str]) -> None:
    sweep = cast_inputs.sweep_uint64 if name == "uint64" else cast_inputs.sweep_int64
    x = sweep(target, count=10_000)
    source = FORMATS[name]
    if source.bits == 32:
        x = x[(x >= source.min) & (x <= source.max)]
    for options in options_for(target):
        got = _convert(cast_kernels, x.astype(source.dtype).view(source.code_dtype), source, target, options)
        expected = whole_arrays.expected_from_integers(x, target, **options)
        compare(tally, "CUDA on the host, wide integer sweeps", got, expected, f"{options}", x)


def _random(source: Format, n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 1 << source.bits, n, np.uint64).astype(source.code_dtype)


@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
def test_a_copy_keeps_every_bit(cast_kernels: CpuBuild, fmt: Format) -> None:
    codes = _random(fmt, 1000)
    assert np.array_equal(cast_kernels(codes, make_program(copy_plan(fmt)), codes.size), codes)


@pytest.mark.parametrize("offset", [0, 1, 2, 4])
@pytest.mark.parametrize("fmt", PACKABLE, **BY_NAME)
def test_packing(cast_kernels: CpuBuild, fmt: Format, offset: int) -> None:
    plan = copy_plan(fmt)
    for n in COUNTS:
        codes = _random(fmt, n)
        packed = cast_kernels(codes, make_program(plan, packed=True), n, offset=offset)
        assert np.array_equal(packed, packed_bytes(codes, fmt.bits))
        assert np.array_equal(cast_kernels(packed, make_program(plan, unpacked=True), n, offset=offset), codes)
        both = make_program(plan, packed=True, unpacked=True)
        assert np.array_equal(cast_kernels(packed, both, n, offset=offset), packed)


@pytest.mark.parametrize("packable", PACKABLE, **BY_NAME)
def test_one_packed_end(cast_kernels: CpuBuild, packable: Format) -> None:
    for fmt in NUMERIC:
        codes = _random(fmt, 259)
        plan = make_plan(fmt, packable, cast_rules(fmt, packable))
        unpacked = cast_kernels(codes, make_program(plan), codes.size)
        assert (
            cast_kernels(codes, make_program(plan, packed=True), codes.size).tobytes()
            == packed_bytes(unpacked, packable.bits).tobytes()
        )
        codes = _random(packable, 259)
        plan = make_plan(packable, fmt, cast_rules(packable, fmt))
        there = packed_bytes(codes, packable.bits)
        expected = cast_kernels(codes, make_program(plan), codes.size)
        assert np.array_equal(cast_kernels(there, make_program(plan, unpacked=True), codes.size), expected)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
def test_any_number_of_elements_and_threads_at_any_alignment(cast_kernels: CpuBuild, target: Format) -> None:
    for source in NUMERIC:
        program = make_program(make_plan(source, target, cast_rules(source, target)))
        codes = _random(source, max(COUNTS))
        expected = np.concatenate([cast_kernels(codes[index:], program, 1) for index in range(codes.size)])
        for n in COUNTS:
            for offset, threads in ((0, None), (0, 3), (1, None), (2, 1)):
                got = cast_kernels(codes[:n], program, n, threads=threads, offset=offset)
                assert np.array_equal(got, expected[:n]), (source.name, n, offset, threads)


@pytest.mark.parametrize("target", [fmt for fmt in PACKABLE if fmt.is_integer], **BY_NAME)
@pytest.mark.parametrize("source", ["int8", "int64", "float32", "float64", "bool"])
def test_extended_results_are_values(cast_kernels: CpuBuild, source: str, target: Format) -> None:
    row = FORMATS[source]
    numbers = np.arange(2) if source == "bool" else np.arange(-40, 40)
    codes = numbers.astype(row.dtype).view(row.code_dtype)
    program = make_program(make_plan(row, target, cast_rules(row, target)), extend=True)
    half = 1 << (target.bits - 1)
    wanted = (numbers + half) % (2 * half) - half if target.signed else numbers % (2 * half)
    assert cast_kernels(codes, program, codes.size).view(np.int8).tolist() == wanted.tolist()


@pytest.mark.parametrize("source", PACKABLE, **BY_NAME)
@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
def test_upper_bits_of_sub_byte_codes_are_ignored(cast_kernels: CpuBuild, source: Format, target: Format) -> None:
    dirty = np.arange(256, dtype=np.uint8)
    clean = dirty & np.uint8(source.code_mask)
    assert np.array_equal(
        _convert(cast_kernels, dirty, source, target, {}), _convert(cast_kernels, clean, source, target, {})
    )


@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
def test_bool_bytes_other_than_one_are_true(cast_kernels: CpuBuild, target: Format) -> None:
    source = FORMATS["bool"]
    if target is not source:
        got = _convert(cast_kernels, np.array([0, 1, 2, 255], np.uint8), source, target, {})
        assert got.tolist() == whole_arrays.expected_from_integers(np.array([0, 1, 1, 1]), target).tolist()
