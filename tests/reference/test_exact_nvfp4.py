"""The oracle of NVFP4: steps by hand, and the bits of ModelOpt and Transformer Engine."""

from __future__ import annotations

import numpy as np
import pytest

from lowprec.reference.exact_blocks import nvfp4_blocks, nvfp4_values


def test_by_hand() -> None:
    # 96 / 6 / 0.25 = 64, code 68: steps of 16; 3 / 6 / 0.25 = 2, code 40: steps of 0.5
    x = np.array([0.5, -1, 3, 0.25, 96, 0, -24, 48, 0, -0.0, 0])
    elements, scales, scale = nvfp4_blocks(x, block_size=4, global_scale=0.25)
    assert scales.tolist() == [0x40, 0x68, 0x00]
    assert elements.tolist() == [2, 12, 7, 1, 7, 0, 11, 5, 0, 8, 0]
    assert nvfp4_values(elements, scales, scale, block_size=4).view(np.float32).tolist() == x.tolist()
    _, scales, scale = nvfp4_blocks(np.array([2688.0, 1, 1e-9]), block_size=1)
    # 1/6 is nearest to 11 * 2**-6 (code 0x23 is 1.375 * 2**-3); 1e-9 has the least scale
    assert (scale, scales.tolist()) == (1, [0x7E, 0x23, 0x01])
    assert nvfp4_blocks(np.zeros(3))[2] == 1
    assert nvfp4_blocks(np.array([2.0**-149]))[2] == 2.0**-149


def test_specials_and_a_step_of_zero() -> None:
    x = np.array([1.0, np.nan, -6, 2, -np.inf, np.nan])
    elements, scales, scale = nvfp4_blocks(x, block_size=2)
    assert (elements.tolist(), scales.tolist()) == ([0, 0, 15, 4, 0, 0], [0x7F, 0x7E, 0x7F])
    values = nvfp4_values(elements, scales, scale, block_size=2).view(np.float32)
    assert np.isnan(values).tolist() == [True, True, False, False, True, True]
    elements, scales, _ = nvfp4_blocks(x, block_size=2, specials="ignore", global_scale=1)
    assert (elements.tolist(), scales.tolist()) == ([7, 8, 15, 4, 15, 8], [0x23, 0x38, 0x00])
    # a / 6 is 0 in float32, the scale 01 at least, and 2**-149 * 2**-9 is 0: zeros
    elements, scales, _ = nvfp4_blocks(np.array([2.0**-149, -(2.0**-149)]), global_scale=2.0**-149)
    assert (elements.tolist(), scales.tolist()) == ([0, 8], [0x01])
    assert nvfp4_blocks(np.array([1e300, 1]), block_size=1)[1].tolist() == [0x7F, 0x7E]  # float32 first: Inf


# A tensor on whose ties the rules part: the largest value, 15 zeros, three blocks next to ties of scale and elements
HEX = """
1.0c7b62p+0 1.df6e9ep-14 1.32d628p-18 1.cc413cp-17 1.7f8bb2p-16 1.0c7b64p-15 1.7f8bb2p-15 1.0c7b64p-14 1.7f8bb2p-14
1.32d626p-18 1.cc413ap-17 1.7f8bb0p-16 1.0c7b62p-15 1.7f8bb0p-15 1.0c7b62p-14 1.7f8bb0p-14 -1.7f8bb2p-15
1.161214p-12 1.65f9d8p-17 1.0c7b62p-15 1.bf784ep-15 1.393a9cp-14 1.bf784ep-14 1.393a9cp-13 1.bf784ep-13
1.65f9d6p-17 1.0c7b60p-15 1.bf784cp-15 1.393a9ap-14 1.bf784cp-14 1.393a9ap-13 1.bf784cp-13 -1.bf784ep-14
1.293f76p-2 1.991d8ap-7 1.32d628p-5 1.ff64ecp-5 1.65f9d8p-4 1.ff64ecp-4 1.65f9d8p-3 1.ff64ecp-3
1.991d88p-7 1.32d626p-5 1.ff64eap-5 1.65f9d6p-4 1.ff64eap-4 1.65f9d6p-3 1.ff64eap-3 -1.ff64ecp-4
"""
NUMBERS = [float.fromhex(text) for text in HEX.split()]
TIES = np.array([NUMBERS[0], *[0.0] * 15, *NUMBERS[1:]], np.float32)
BITS = {  # elements and scales of: torchao 0.18.0; NVFP4QTensor of NVIDIA/Model-Optimizer, commit 211c6b34;
    # reference_nvfp4.py of NVIDIA/TransformerEngine, commit d0067d0d; each run on these numbers with torch 2.13.0
    "torchao": ("7000000000000000712345670224466d701234560123456c702244660123456c", "7e141f70"),
    "modelopt": ("7000000000000000702244660123456c702234560123456c712345671234567d", "7e141e6f"),
    "transformer_engine": ("7000000000000000701234560123456c701234560123456c702244660123456c", "7e151f70"),
    None: ("7000000000000000702244660123456c701234560123456c702244660123456c", "7e141f70"),
}


@pytest.mark.parametrize("rule", BITS)
def test_the_bits_of_others(rule: str | None) -> None:
    elements, scales, _ = nvfp4_blocks(TIES, scale_rule=rule)
    assert ("".join(f"{code:x}" for code in elements), scales.tobytes().hex()) == BITS[rule]


def test_zero_blocks_of_others() -> None:
    x = np.array([2688.0, 0, -0.0, 0])
    zero = {None: (0x00, [0, 8, 0]), "torchao": (0x08, [0, 8, 0]), "modelopt": (0x38, [0, 0, 0])}
    zero["transformer_engine"] = zero[None]
    for rule, (scale, codes) in zero.items():
        elements, scales, _ = nvfp4_blocks(x, block_size=1, scale_rule=rule)
        assert elements[1:].tolist() == codes
        assert set(scales[1:].tolist()) == {scale}
    # the scale of 1e-9 rounds to 0: Transformer Engine multiplies by the largest float32 then, ModelOpt has 01
    found = {rule: nvfp4_blocks(np.array([2688.0, 1e-9]), block_size=1, scale_rule=rule) for rule in zero}
    assert {rule: (e.tolist()[1], s.tolist()[1]) for rule, (e, s, _) in found.items()} == {
        None: (0, 1), "torchao": (0, 8), "modelopt": (0, 1), "transformer_engine": (7, 0),
    }  # fmt: skip


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="`scale_rule` must be one of torchao, modelopt, transformer_engine or None"):
        nvfp4_blocks(np.zeros(2), scale_rule="cublas")
