"""A slice of the random calls, with a fixed seed: any function, layout, `out`, option, number of threads and mode."""

from __future__ import annotations

from collections import Counter

import pytest
from support.random_calls.run import GENERATORS, Options, step

SEED = 20
STEPS = {
    tuple(GENERATORS): 250, ("quantize_linear",): 400, ("dequantize_linear",): 400,
    ("cast", "encode", "decode", "cast_like", "pack", "unpack"): 600,
    ("mx_quantize", "mx_dequantize", "nvfp4_quantize", "nvfp4_dequantize"): 200,
    ("absmax_scale", "minmax_scale", "dynamic_quantize_linear"): 200,
}  # fmt: skip
"""How many steps are made of calls of these functions."""
PARTS = [(functions, start) for functions, count in STEPS.items() for start in range(0, count, 50)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("functions", "start"), PARTS, ids=lambda part: part[0] if isinstance(part, tuple) else None)
def test_random_calls_agree_with_the_oracle(functions: tuple[str, ...], start: int, tally: Counter[str]) -> None:
    for number in range(start, start + 50):
        outcome = step(Options(SEED, functions), number)
        assert not outcome.failure, f"--seed {SEED} --step {number}\n{outcome.failure}"
        tally["random calls, elements"] += outcome.elements.total()
