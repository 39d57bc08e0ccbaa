"""`nvfp4_quantize` against its steps in float32, and against the oracle: global scales, zero blocks, others' rules."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.bits import bits_of
from support.random_calls.run import Options, step

import lowprec as lp
from lowprec import reference

RULES = (None, "torchao", "modelopt", "transformer_engine")


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("factor", [None, 1.0, 2.0**-149, 1e-38, 0.0123, 3e38])
def test_steps(factor: float | None) -> None:
    """Of finite rows of whole blocks, each step rounded by NumPy."""
    rng = np.random.default_rng(4)
    for scale in (1.0, 1e-30, 1e-42, 1e36):
        x = (rng.standard_normal((5, 96)) * scale * np.exp2(rng.integers(-20, 3, (5, 96)))).astype(np.float32)
        x[1, 16:48] = [0, -0.0] * 16
        elements, scales, g = lp.nvfp4_quantize(x, global_scale=factor)
        if factor is None:
            assert g == max(np.abs(x).max() / np.float32(2688), np.float32(2.0**-149))
        else:
            assert g == np.float32(factor)
        blocks = x.reshape(5, 6, 16)
        a = np.abs(blocks).max(-1)
        with np.errstate(all="ignore"):
            rounded = np.minimum(a / np.float32(6) / np.float32(g), np.float32(448)).astype(ml_dtypes.float8_e4m3fn)
            wanted_scales = np.where(a > 0, np.maximum(bits_of(rounded), 1), 0).astype(np.uint8)
            d = wanted_scales.view(ml_dtypes.float8_e4m3fn).astype(np.float32) * np.float32(g)
            quotient = np.where(d[..., None] == 0, np.copysign(np.float32(0), blocks), blocks / d[..., None])
        wanted = bits_of(np.clip(quotient, -6, 6).astype(ml_dtypes.float4_e2m1fn)).reshape(x.shape)
        assert np.array_equal(bits_of(scales), wanted_scales)
        assert np.array_equal(bits_of(elements), wanted)
        moved = lp.nvfp4_quantize(np.ascontiguousarray(x.T), axis=0, global_scale=factor)
        assert np.array_equal(bits_of(moved[0]), wanted.T)
        assert np.array_equal(bits_of(moved[1]), wanted_scales.T)


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
