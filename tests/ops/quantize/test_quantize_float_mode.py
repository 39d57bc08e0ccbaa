"""Floating-point modes of the caller (flushed subnormals, other roundings) change no bit of a quantization."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.quantize_cases import PRECISIONS, SPECIAL, codes, draw_codes, draw_zero_point, generator, put, type_table

import lowprec as lp
from lowprec.spec.formats import as_format

QUANTIZE, DEQUANTIZE = type_table("QuantizeLinear", 28), type_table("DequantizeLinear", 28)
SHAPE = (40, 25)
WAYS = [((), {}), ((40,), {"axis": 0}), ((25,), {"axis": 1}), ((10, 25), {"axis": 0, "block_size": 4})]


def _wide(salt: object, shape: tuple[int, ...]) -> np.ndarray:
    """Return numbers over the exponents where subnormals matter, and special ones."""
    rng = generator("modes", salt)
    found = np.ldexp(rng.normal(size=shape), rng.choice([-160, -145, -130, -20, -3, 0, 5, 100], shape))
    return np.asarray(np.where(rng.random(shape) < 0.1, rng.choice(SPECIAL, shape), found))


def _calls() -> list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]]:
    """Return what is called: a name, the function, its arguments and options."""
    found: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = []
    for place, types in enumerate(QUANTIZE):
        shape, options = WAYS[place % 4]
        inputs = put(_wide((*types, "x"), SHAPE), types.x), put(np.abs(_wide(types, shape)), types.scale)
        offset = draw_zero_point(generator("modes", *types), types.y, shape) if place % 3 else None
        rules = {**options, "output_dtype": types.y, "precision": None if place % 5 else PRECISIONS[place % 4]}
        found.append((f"quantize {types}", lp.quantize_linear, (*inputs, offset), rules))
    for place, types in enumerate(DEQUANTIZE):
        shape, options = WAYS[place % 4]
        rng = generator("modes", *types)
        inputs = draw_codes(rng, types.x, SHAPE), put(_wide(types, shape), types.scale)
        offset = draw_zero_point(rng, types.x, shape) if types.x.bits < 32 and place % 3 else None
        for output in PRECISIONS[:3]:
            rules = {**options, "output_dtype": output}
            found.append((f"dequantize {types}", lp.dequantize_linear, (*inputs, offset), rules))
    for scale in (1e-40, 3e-39, 0.1, 1 / 3):
        x = _wide(scale, SHAPE).astype(np.float32)
        found.append(("quantize by a number", lp.quantize_linear, (x, scale), {"output_dtype": "int16"}))
        found.append(("dequantize by a number", lp.dequantize_linear, (np.arange(256).astype(np.uint8), scale), {}))
    for exponent in (0, -100, -130, -140, 100):
        x = np.ldexp(generator("modes", exponent).normal(size=300), exponent).astype(np.float32)
        for sign in (x, np.abs(x), -np.abs(x)):
            found.append((f"dynamic {exponent}", lp.dynamic_quantize_linear, (sign,), {}))
    return found


def _codes(result: Any) -> list[np.ndarray]:
    parts = result if isinstance(result, tuple) else (result,)
    return [codes(part, as_format(part.dtype)).copy() for part in parts]


@pytest.fixture(scope="module")
def usual() -> list[tuple[str, Any, tuple[Any, ...], dict[str, Any], list[np.ndarray]]]:
    """Give the calls, and their codes in the usual mode: computed before any test of this module changes it."""
    return [(*call, _codes(call[1](*call[2], **call[3]))) for call in _calls()]


def test_bits_do_not_depend_on_the_mode(usual: Any, odd_mode: None) -> None:
    for count in (1, 2):
        lp.set_num_threads(count)
        for name, function, arguments, options, expected in usual:
            for got, wanted in zip(_codes(function(*arguments, **options)), expected, strict=True):
                assert np.array_equal(got, wanted), (name, options)
