"""`nvfp4_quantize` against the oracle: global scales, zero blocks, others' rules; its steps: test_whole_blocks.py."""

from __future__ import annotations

import numpy as np
import pytest
from support.bits import bits_of
from support.random_calls.run import Options, step

import lowprec as lp
from lowprec import reference

RULES = (None, "torchao", "modelopt", "transformer_engine")


def test_global_scale() -> None:
    assert lp.nvfp4_quantize(np.array([-2688.0, 3], np.float32))[2] == 1
    assert lp.nvfp4_quantize(np.array([0.0, -0.0], np.float32))[2] == 1
    assert lp.nvfp4_quantize(np.zeros((0, 3), np.float32))[2] == 1
    assert lp.nvfp4_quantize(np.array([2.0**-149], np.float32))[2] == np.float32(2.0**-149)
    assert lp.nvfp4_quantize(np.array([np.nan, 26.88, np.inf], np.float32))[2] == np.float32(26.88) / np.float32(2688)
    found = lp.nvfp4_quantize(np.array([1.0], np.float32), global_scale=np.float32(0.5))
    assert (found[2].dtype, found[2].shape, float(found[2])) == (np.float32, (), 0.5)


@pytest.mark.parametrize("seed", range(4))
def test_against_the_oracle(seed: int) -> None:
    for number in range(40):
        outcome = step(Options(seed, ("nvfp4_quantize", "nvfp4_dequantize")), number)
        assert not outcome.failure, f"--seed {seed} --step {number}\n{outcome.failure}"


def test_others_treat_zero_blocks_otherwise() -> None:
    x = np.array([0, -0.0, 6 * 448, -1], np.float32)
    codes = {}
    for rule in RULES:
        elements, scales, g = lp.nvfp4_quantize(x, block_size=2, scale_rule=rule)
        codes[rule] = bits_of(scales)[0]
        assert bits_of(elements).tolist() == [0, 0 if rule == "modelopt" else 8, 7, 8]
        assert g == 1
    assert codes == {None: 0, "torchao": 0x08, "modelopt": 0x38, "transformer_engine": 0}  # 0, 2**-6, 1, 0


@pytest.mark.parametrize("rule", RULES)
def test_the_global_scale_does_not_depend_on_the_floating_point_mode(rule: str | None, odd_mode: None) -> None:
    for n in range(1, 60):  # of a quotient that is not exact two of the four modes round another way
        largest = np.float32(1 + n / 64)
        x = np.array([largest, 0.5, -0.25], np.float32)
        *_, scale = lp.nvfp4_quantize(x, scale_rule=rule)
        _, _, wanted = reference.nvfp4_blocks(x, scale_rule=rule)
        assert scale.view(np.uint32) == reference.encode(wanted, "float32"), n
