"""QuantizeLinear against the oracle: every combination of types in every version, granularities, attributes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.compare import compare, tiers_and_threads
from support.quantize_cases import (
    PRECISIONS,
    VERSIONS,
    Types,
    codes,
    expect_quantized,
    generator,
    granularities,
    quantize_case,
    type_table,
)

import lowprec as lp
from lowprec.spec.formats import Format, as_format

UINT8 = as_format("uint8")
BY_NAME = {"ids": lambda fmt: fmt.name}
TARGETS = [(v, y) for v in VERSIONS for y in dict.fromkeys(t.y for t in type_table("QuantizeLinear", v))]


def _check(
    tally: Counter[str], rng: np.random.Generator, types: Types, shape: tuple[int, ...], scale_shape: tuple[int, ...],
    options: dict[str, Any], *, with_zero_point: bool,
) -> None:  # fmt: skip
    """Draw one call, and compare its codes by every instruction set."""
    x, scale, zero_point, expected = quantize_case(rng, types, shape, scale_shape, options, zero_point=with_zero_point)
    if not with_zero_point and (types.y is not UINT8 or options.get("opset", 28) >= 21):
        options = {**options, "output_dtype": types.y}
    for who in tiers_and_threads(threads=()):
        got = codes(lp.quantize_linear(x, scale, zero_point, **options), types.y)
        what = f"{who}, {types.x.name} by {types.scale.name} to {types.y.name}, scale {scale_shape}, {options}"
        compare(tally, "QuantizeLinear, types and shapes", got, expected, what, x, scale)


@pytest.mark.one_in(7)
@pytest.mark.parametrize(("version", "y"), TARGETS, ids=lambda part: getattr(part, "name", part))
def test_every_combination(version: int, y: Format, tally: Counter[str]) -> None:
    shape = (3, 5, 7)
    ways = list(granularities(shape, version))
    for types in type_table("QuantizeLinear", version):
        if types.y is not y:
            continue
        rng = generator("types", version, *types)
        later = [ways[i] for i in rng.permutation(np.arange(2, len(ways)))[:5]]
        for place, (scale_shape, plain) in enumerate([*ways[:2], *later]):
            options: dict[str, Any] = {**plain, "opset": version}
            if version >= 19 and place % 2:
                options["saturate"] = bool(rng.integers(2))
            if version >= 23 and place % 3 == 0:
                options["precision"] = PRECISIONS[rng.integers(4)].name
            without = (place % 3 == 2) and (version >= 21 or y is UINT8)
            _check(tally, rng, types, shape, scale_shape, options, with_zero_point=not without)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("shape", [(9,), (1,), (4, 6), (6, 1), (2, 3, 5), (2, 3, 2, 4), (2, 1, 3, 2, 2)])
@pytest.mark.parametrize("y", ["uint8", "int4", "float8_e4m3fn", "float4_e2m1fn"])
def test_every_granularity(shape: tuple[int, ...], y: str, tally: Counter[str]) -> None:
    types = Types(as_format("float32"), as_format("float32"), as_format(y))
    rng = generator("granularity", shape, y)
    for scale_shape, options in granularities(shape, 28):
        for with_zero_point in (True, False):
            _check(tally, rng, types, shape, scale_shape, options, with_zero_point=with_zero_point)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("precision", PRECISIONS, **BY_NAME)
@pytest.mark.parametrize("y", ["int8", "uint16", "int2", "float8_e5m2", "float6_e3m2fn"])
def test_precision(precision: Format, y: str, tally: Counter[str]) -> None:
    for types in type_table("QuantizeLinear", 28):
        if types.y.name == y:
            rng = generator("precision", precision, *types)
            for scale_shape, plain in (((40,), {"axis": 1}), ((), {})):
                options = {**plain, "precision": precision}
                _check(tally, rng, types, (8, 40), scale_shape, options, with_zero_point=True)
                _check(tally, rng, types, (8, 40), scale_shape, options, with_zero_point=False)


@pytest.mark.parametrize("opset", range(19, 29))
@pytest.mark.parametrize("saturate", [True, False])
def test_float8_special_values_in_every_opset(opset: int, saturate: bool, tally: Counter[str]) -> None:
    x = np.array([np.inf, -np.inf, 1e30, -1e30, np.nan, -np.nan, 0.0, -0.0, 3e38, -3e38, 464, 465], np.float32)
    for y in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"):
        types = Types(as_format("float32"), as_format("float32"), as_format(y))
        options = {"saturate": saturate, "opset": opset}
        zero_point = np.zeros((), types.y.dtype)
        for scale in (1.0, -2.0, 0.25, np.inf, np.nan, 0.0):
            factor = np.float32(scale)
            expected = expect_quantized(x, np.asarray(factor), zero_point, types, options)
            for who in tiers_and_threads(threads=()):
                got = codes(lp.quantize_linear(x, factor, zero_point, **options), types.y)
                compare(tally, "QuantizeLinear, types and shapes", got, expected, f"{who}, {y}, {options}", x, factor)


@pytest.mark.parametrize("alias", ["INT16", 5, np.int16, np.dtype(np.int16), lp.formats["int16"]])
def test_output_dtype_goes_by_every_name(alias: Any) -> None:
    x = np.array([1.0, 2.0, -3.0, 1e9], np.float32)
    got = lp.quantize_linear(x, np.float32(2), output_dtype=alias)
    assert got.dtype == np.int16
    assert got.tolist() == [0, 1, -2, 32767]
    same = lp.quantize_linear(x, np.float32(2), np.int16(1), output_dtype=alias)
    assert same.tolist() == [1, 2, -1, 32767]
