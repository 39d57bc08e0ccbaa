"""The scale modes of the loops: one for all, one for a run of 16 or more, one for each element; unusual scales."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.compare import compare, tiers_and_threads
from support.quantize_cases import (
    FLOAT32,
    Types,
    codes,
    draw_codes,
    draw_x,
    draw_zero_point,
    expect_dequantized,
    expect_quantized,
    generator,
    odd_scales,
)

import lowprec as lp
from lowprec.reference.whole_arrays import broadcast
from lowprec.spec.formats import as_format

# Rows of one or two tiles have one scale for a tile; rows and blocks of a power of two make runs, which may begin in
# the middle of a tile; the others are spread over it.
WAYS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((40, 2048), (40,), {"axis": 0}), ((130, 1024), (130,), {"axis": 0}), ((3000, 16), (3000,), {"axis": 0}),
    ((700, 64), (700,), {"axis": 0}), ((50, 700), (50,), {"axis": 0}), ((60, 1100), (1100,), {"axis": 1}),
    ((50, 1056), (50, 33), {"axis": 1, "block_size": 32}), ((70, 1040), (70, 65), {"axis": 1, "block_size": 16}),
    ((9, 5000), (9, 40), {"axis": 1, "block_size": 128}), ((3, 20480), (3, 5), {"axis": 1, "block_size": 4096}),
    ((64, 700), (4, 700), {"axis": 0, "block_size": 16}), ((2, 31, 1024), (31,), {"axis": 1}),
]  # fmt: skip
NAMES = [f"{shape} by {scales}".replace(",)", ")") for shape, scales, _ in WAYS]
PLAIN = [(name, "plain") for name in ("int8", "uint8", "float8_e4m3fn")]
TARGETS = [*PLAIN, *((name, "any") for name in ("int8", "uint8", "int4", "float8_e4m3fn", "float8_e4m3fnuz"))]
SOURCES = [*PLAIN, *((name, "any") for name in ("int8", "uint4", "float8_e4m3fn", "float8_e5m2fnuz"))]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("shape", "scales", "options"), WAYS, ids=NAMES)
@pytest.mark.parametrize(("name", "kind"), TARGETS)
def test_quantize(
    name: str, kind: str, shape: tuple[int, ...], scales: tuple[int, ...], options: dict[str, Any],
    tally: Counter[str],
) -> None:  # fmt: skip
    target = as_format(name)
    types, rng = Types(FLOAT32, FLOAT32, target), generator(name, shape, scales, kind)
    scale = odd_scales(rng, scales, kind == "plain")
    factor = broadcast(scale.astype(np.float64), shape, options["axis"], options.get("block_size", 0))
    x = draw_x(rng, FLOAT32, factor, target)
    for zero_point in (None, draw_zero_point(rng, target, scales)):
        arguments = options if zero_point is not None else {**options, "output_dtype": target}
        expected = expect_quantized(x, scale, zero_point, types, arguments)
        for who in tiers_and_threads(threads=(2,)):
            got = codes(lp.quantize_linear(x, scale, zero_point, **arguments), target)
            compare(tally, "QuantizeLinear, ways", got, expected, f"{who}, {name}", x, factor)


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("shape", "scales", "options"), WAYS, ids=NAMES)
@pytest.mark.parametrize(("name", "kind"), SOURCES)
def test_dequantize(
    name: str, kind: str, shape: tuple[int, ...], scales: tuple[int, ...], options: dict[str, Any],
    tally: Counter[str],
) -> None:  # fmt: skip
    source = as_format(name)
    types, rng = Types(source, FLOAT32, FLOAT32), generator(name, shape, scales, kind)
    scale, x = odd_scales(rng, scales, kind == "plain"), draw_codes(rng, source, shape)
    for zero_point in (None, draw_zero_point(rng, source, scales)):
        expected = expect_dequantized(x, scale, zero_point, types, options)
        for who in tiers_and_threads(threads=(2,)):
            got = codes(lp.dequantize_linear(x, scale, zero_point, **options), FLOAT32)
            compare(tally, "DequantizeLinear, ways", got, expected, f"{who}, {name}", x)
