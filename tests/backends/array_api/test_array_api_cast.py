"""Casts by the array-API back end against the exact oracle, in NumPy, array_api_strict and torch."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.array_libraries import LIBRARIES
from support.bits import bits_of
from support.cast_cases import NARROW, expected_codes
from support.compare import assert_same

from lowprec.backends import array_api
from lowprec.conformance import cast_inputs
from lowprec.plans.cast_plan import make_plan
from lowprec.reference import whole_arrays
from lowprec.spec.formats import FORMATS, NUMERIC, Format
from lowprec.spec.operator_versions import cast_rules, first_opset
from lowprec.spec.rounding_modes import ROUND_MODES

strict = pytest.importorskip("array_api_strict")
WIDE = [row for row in NUMERIC if row.bits > 16]
SUB_BYTE = [row for row in NUMERIC if row.bits < 8]


@pytest.fixture(params=["numpy", "strict", "torch"])
def library(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give the name of each library, with the strict one held to array API 2023.12."""
    with strict.ArrayAPIStrictFlags(api_version="2023.12"), np.errstate(all="raise"):
        yield request.param


def namespace(library: str) -> Any:
    return strict if library == "strict" else importlib.import_module(f"array_api_compat.{library}")


def put(codes: np.ndarray, fmt: Format, library: str, *, as_codes: bool) -> Any:
    """Return unsigned codes as the library holds the format."""
    return LIBRARIES[library]().wrap(codes if as_codes else codes.view(fmt.dtype))


def storage_dtypes(fmt: Format, library: str) -> list[bool]:
    """Return the ways in which the library may hold the format: as codes, in a dtype of its own, or both."""
    if (fmt.is_float and fmt.bits < 16) or fmt.bits < 8:
        return [True]
    if fmt.is_float and fmt.bits == 16:
        own = library == "torch" or (library == "numpy" and hasattr(np, fmt.name))
        return [True, False] if own else [True]
    return [False]


def options(source: Format, target: Format) -> Iterator[dict[str, Any]]:
    for opset in (23, 28):
        if max(first_opset(source), first_opset(target)) > opset:
            continue
        modes = ROUND_MODES if target.is_float and not target.has_zero else (None,)
        for mode in modes:
            yield from ({"saturate": saturate, "round_mode": mode, "opset": opset} for saturate in (True, False))


def expected(codes: np.ndarray, values: np.ndarray | None, source: Format, target: Format, how: Any) -> np.ndarray:
    """Return the oracle's codes; without values, for every code of a format of at most 16 bits."""
    if values is None:
        return expected_codes(codes, source, target, how)[: codes.size]  # bool has two
    if source is target:
        return codes
    find = whole_arrays.expected_from_float64 if source.is_float else whole_arrays.expected_from_integers
    return find(values, target, **how)


def check(codes: np.ndarray, values: np.ndarray | None, source: Format, target: Format, library: str) -> None:
    """Compare every option and every storage dtype with the oracle."""
    for how in options(source, target):
        with np.errstate(all="ignore"):
            wanted = expected(codes, values, source, target, how)
        plan = make_plan(source, target, cast_rules(source, target, **how))
        for as_codes in storage_dtypes(source, library):
            x = put(codes, source, library, as_codes=as_codes)
            found = bits_of(array_api.cast_array(x, plan, namespace(library)))
            assert_same(found, wanted, f"{source.name} -> {target.name} {how}", codes)


@pytest.mark.one_in(11)
@pytest.mark.parametrize("source", NARROW, ids=lambda row: row.name)
def test_every_code_of_narrow_sources(library: str, source: Format) -> None:
    codes = np.arange(2 if source.name == "bool" else 1 << source.bits).astype(source.code_dtype)
    for target in NUMERIC:
        check(codes, None, source, target, library)


def sweep(source: Format, target: Format, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and values of a wide source where casts to the target change their mind."""
    if source.is_float:
        x = getattr(cast_inputs, f"sweep_{source.name}")(target, count=count)
        with np.errstate(all="ignore"):
            return x.view(source.code_dtype), x.astype(np.float64)
    # The low half of every 64-bit input is one for 32 bits.
    sweep = cast_inputs.sweep_int64 if source.signed else cast_inputs.sweep_uint64
    x = sweep(target, count=count).astype(source.name)
    return x.view(source.code_dtype), x if source.bits == 64 else x.astype(np.int64)


@pytest.mark.one_in(11)
@pytest.mark.parametrize("target", NUMERIC, ids=lambda row: row.name)
def test_wide_sources(library: str, target: Format) -> None:
    for source in WIDE:
        codes, values = sweep(source, target, 200_000 if library == "numpy" else 2_000)
        if library != "numpy":
            stride = 1 + len(codes) // 60_000 * 2  # odd: the sweeps come in groups of seven, three and two
            codes, values = codes[::stride].copy(), values[::stride].copy()
        check(codes, values, source, target, library)


@pytest.mark.parametrize("fmt", SUB_BYTE, ids=lambda row: row.name)
def test_upper_bits_of_sub_byte_codes_are_not_read(library: str, fmt: Format) -> None:
    codes = np.arange(256).astype(np.uint8)
    masked = codes & np.uint8(fmt.code_mask)
    for target in NUMERIC:
        plan = make_plan(fmt, target, cast_rules(fmt, target))
        dirty, clean = (
            bits_of(array_api.cast_array(put(c, fmt, library, as_codes=True), plan, namespace(library)))
            for c in (codes, masked)
        )
        np.testing.assert_array_equal(dirty, clean)
    plan = make_plan(fmt, fmt, cast_rules(fmt, fmt))
    copied = array_api.cast_array(put(codes, fmt, library, as_codes=True), plan, namespace(library))
    np.testing.assert_array_equal(bits_of(copied), masked)


@pytest.mark.one_in(11)
@pytest.mark.parametrize("target", NUMERIC, ids=lambda row: row.name)
@pytest.mark.parametrize("source", ["float32", "uint64", "bool", "float4_e2m1fn"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 3, 4)], ids=str)
def test_shapes_and_strides(library: str, source: str, target: Format, shape: tuple[int, ...]) -> None:
    xp, row = namespace(library), FORMATS[source]
    codes = np.resize(np.array([1, 0, 1, 1], row.code_dtype), shape)
    plan = make_plan(row, target, cast_rules(row, target))
    x = xp.permute_dims(put(codes, row, library, as_codes=row.bits < 8), tuple(reversed(range(len(shape)))))
    flat = put(codes.T.reshape(-1).copy(), row, library, as_codes=row.bits < 8)
    found = array_api.cast_array(x, plan, xp)
    assert tuple(found.shape) == shape[::-1]
    wanted = bits_of(array_api.cast_array(flat, plan, xp))
    np.testing.assert_array_equal(bits_of(xp.reshape(found, (-1,))), wanted)


@pytest.mark.parametrize("fmt", WIDE, ids=lambda row: row.name)
def test_a_copy_keeps_payloads_and_is_a_copy(library: str, fmt: Format) -> None:
    codes = (np.array([0, 1, 2**32 - 2**22 - 5, 2**64 - 2**51 - 9], np.uint64) & np.uint64(fmt.code_mask)).astype(
        fmt.code_dtype
    )
    x = put(codes.copy(), fmt, library, as_codes=False)
    found = array_api.cast_array(x, make_plan(fmt, fmt, cast_rules(fmt, fmt)), namespace(library))
    np.testing.assert_array_equal(bits_of(found), codes)
    found[0] = 1
    assert bits_of(x)[0] == 0


@pytest.mark.parametrize("missing", ["float64", "int64", "uint32"])
def test_a_library_without_the_dtypes_is_named(missing: str) -> None:
    listed = {"float64", "int64"} - {missing}
    limited = types.ModuleType("smalllib")
    vars(limited)["__array_namespace_info__"] = lambda: types.SimpleNamespace(dtypes=lambda: dict.fromkeys(listed))
    # The 64-bit names are there even when they are switched off, as JAX has it; uint32 works without being listed.
    vars(limited).update(dict.fromkeys({"float64", "int64", "uint32"} - ({missing} - {"float64", "int64"})))
    rows = FORMATS["float32"], FORMATS["uint32"]
    with pytest.raises(TypeError, match=rf"has {missing}; got an array of smalllib"):
        array_api.cast_array(np.zeros(2, np.float32), make_plan(*rows, cast_rules(*rows)), limited)
