"""Large arrays in any memory give the same elements; small ones are those of the random calls."""

from __future__ import annotations

import numpy as np
import pytest
from support.quantize_cases import Types, expect_dequantized, expect_quantized, generator
from support.random_calls.memory import LAYOUTS, place

import lowprec as lp
from lowprec.spec.formats import as_format

LAID_OUT = sorted({*LAYOUTS} - {"broadcast"})  # the others hold every code


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_large_strided_arrays(threads: int) -> None:
    # beyond the chunks that threads take, whose ends fall anywhere among the scales
    lp.set_num_threads(threads)
    shape = (70, 130, 33)
    rng = generator("large", threads)
    types = Types(*map(as_format, ("float32", "float32", "int8")))
    ways = [((), {}), ((70,), {"axis": 0}), ((130,), {"axis": 1}), ((33,), {"axis": 2})]
    ways += [((70, 13, 33), {"axis": 1, "block_size": 10}), ((3, 130, 33), {"axis": 0, "block_size": 32})]
    x = rng.normal(0, 50, shape).astype(np.float32)
    for scale_shape, options in ways:
        scale, offset = np.exp2(rng.uniform(-2, 2, scale_shape)).astype(np.float32), rng.integers(-9, 9, scale_shape)
        zero_point = np.asarray(offset.astype(np.int8))
        expected = expect_quantized(x, scale, zero_point, types, options)
        back = expect_dequantized(expected.view(np.int8), scale, zero_point, Types(types.y, *types[1:]), options)
        for layout in LAID_OUT:
            held = place(rng, x.view(np.uint32), np.float32, layout=layout).array
            got = lp.quantize_linear(held, scale, zero_point, **options)
            assert np.array_equal(got.view(np.uint8), expected), layout
            held = place(rng, expected, np.int8, layout=layout).array
            got = lp.dequantize_linear(held, scale, zero_point, **options)
            assert np.array_equal(got.view(np.uint32), back), layout
