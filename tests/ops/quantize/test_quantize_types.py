"""QuantizeLinear and DequantizeLinear against the oracle: every combination of types in every version."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.compare import compare, tiers_and_threads
from support.quantize_cases import (
    FLOAT32,
    PRECISIONS,
    VERSIONS,
    codes,
    dequantize_case,
    generator,
    granularities,
    quantize_case,
    type_table,
)

import lowprec as lp
from lowprec.spec.formats import Format, as_format

OPERATORS: dict[str, tuple[Any, Any, str]] = {
    "QuantizeLinear": (lp.quantize_linear, quantize_case, "y"),
    "DequantizeLinear": (lp.dequantize_linear, dequantize_case, "x"),
}
CASES = [
    (operator, version, fmt)
    for operator, (_, _, side) in OPERATORS.items()
    for version in VERSIONS
    for fmt in dict.fromkeys(getattr(types, side) for types in type_table(operator, version))
]


@pytest.mark.one_in(9)
@pytest.mark.parametrize(("operator", "version", "fmt"), CASES, ids=lambda part: getattr(part, "name", part))
def test_every_combination(operator: str, version: int, fmt: Format, tally: Counter[str]) -> None:
    function, draw, side = OPERATORS[operator]
    ways = list(granularities((3, 5, 7), version))
    for types in type_table(operator, version):
        if getattr(types, side) is not fmt:
            continue
        rng = generator("types", version, *types)
        later = [ways[i] for i in rng.permutation(np.arange(2, len(ways)))[:5]]
        for place, (scale_shape, plain) in enumerate([*ways[:2], *later]):
            options: dict[str, Any] = {**plain, "opset": version}
            has_zero, result = place % 3 != 2, types.y
            if operator == "QuantizeLinear":
                if version >= 19 and place % 2:
                    options["saturate"] = bool(rng.integers(2))
                if version >= 23 and place % 3 == 0:
                    options["precision"] = PRECISIONS[rng.integers(4)].name
                has_zero = has_zero or (version < 21 and fmt is not as_format("uint8"))
                if version >= 21 and not has_zero:
                    options["output_dtype"] = fmt
            elif version >= 23 and (place % 4 or not types.scale.has_zero):
                result = options["output_dtype"] = PRECISIONS[place % 3] if types.scale.has_zero else FLOAT32
            case = draw(rng, types, (3, 5, 7), scale_shape, options, zero_point=has_zero)
            for who in tiers_and_threads(threads=()):
                got = codes(function(case.x, case.scale, case.zero_point, **options), result)
                what = f"{who}, {types.x.name} by {types.scale.name} to {result.name}, scale {scale_shape}, {options}"
                compare(tally, f"{operator}, types and shapes", got, case.expected, what, case.x)


@pytest.mark.parametrize("alias", ["INT16", 5, np.int16, np.dtype(np.int16), lp.formats["int16"]])
def test_output_dtype_goes_by_every_name(alias: Any) -> None:
    x = np.array([1.0, 2.0, -3.0, 1e9], np.float32)
    got = lp.quantize_linear(x, np.float32(2), output_dtype=alias)
    assert got.dtype == np.int16
    assert got.tolist() == [0, 1, -2, 32767]
    same = lp.quantize_linear(x, np.float32(2), np.int16(1), output_dtype=alias)
    assert same.tolist() == [1, 2, -1, 32767]
