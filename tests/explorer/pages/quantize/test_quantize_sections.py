"""Sections of Quantize: the heat map of a checkpoint, a matrix product, why int8 loses −128, a block byte by byte."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import save
from support.explorer_pages import healthy, page, sent

import lowprec as lp
from lowprec import reference
from lowprec.checkpoints.schemes.ggml_blocks import BLOCK_TYPES
from lowprec.explorer.pages.quantize import heat_map_picture, product_picture, product_view, symmetric
from lowprec.explorer.pages.quantize.bytes_picture import block_bytes, nested_scales
from lowprec.explorer.pages.quantize.bytes_view import EXAMPLE_Q4_K, LAYOUTS, Packed, packed
from lowprec.explorer.pages.quantize.heat_map_view import MOST_TENSORS, heat_map, layer_and_kind
from lowprec.explorer.pages.quantize.product_view import INPUTS, inputs_of, product_of, verdict
from lowprec.explorer.pages.quantize.tensor import Tensor
from lowprec.explorer.shared.landscape import landscape
from lowprec.loss import block_loss


def tensors(layers: int = 2) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    found = {
        f"model.layers.{layer}.{kind}.weight": rng.standard_normal((8, 64)).astype(np.float32) * (layer + 1)
        for layer in range(layers)
        for kind in ("self_attn.q_proj", "mlp.up_proj")
    }
    return {**found, "lm_head.weight": np.eye(32, dtype=np.float32), "model.norm.weight": np.ones(64, np.float32)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("model.layers.12.self_attn.q_proj.weight", (12, "self_attn.q_proj")), ("blk.0.ffn_up.weight", (0, "ffn_up")),
     ("model.layers.3.mlp.experts.7.w1.weight", (3, "mlp.experts.7.w1")), ("lm_head.weight", (None, "lm_head")),
     ("fc1.weight", (None, "fc1")), ("h.5", (5, "h.5"))],
)  # fmt: skip
def test_layer_and_kind(name: str, expected: tuple[int | None, str]) -> None:
    assert layer_and_kind(name) == expected


def test_the_losses_are_those_of_the_library() -> None:
    x = tensors()
    found = heat_map(list(x), lambda name: Tensor(x[name]), ("nvfp4", "mxfp4"))
    assert (found.layers, found.kinds) == ((0, 1, None), ("self_attn.q_proj", "mlp.up_proj", "lm_head"))
    assert (len(found.cells), found.left_out) == (5, 1)  # the norm is no matrix
    for cell in found.cells:
        expected = [block_loss(x[cell.name], name) for name in ("nvfp4", "mxfp4")]
        assert cell.sqnr_db == pytest.approx([one.sqnr_db for one in expected], abs=1e-9)
        assert cell.bits_per_value == pytest.approx([one.bits_per_value for one in expected])
    for is_narrow in (False, True):
        text = str(heat_map_picture.drawing(found, is_narrow))
        assert "model.layers.1.mlp.up_proj.weight: " in text
        assert ">none<" in text


def test_only_some_tensors_are_measured() -> None:
    read = {f"layers.{place}.w": Tensor(np.ones((1, 4), np.float32)) for place in range(MOST_TENSORS + 3)}
    assert heat_map(list(read), read.__getitem__, ("int8,per=tensor",)).left_out == 3
    with pytest.raises(ValueError, match="no matrix"):
        heat_map(["a"], lambda _: Tensor(np.ones(4, np.float32)), ("nvfp4",))


def test_the_page_draws_it(tmp_path: Path) -> None:
    path = save(tmp_path / "model.safetensors", tensors())
    test = healthy(page("quantize", origin="folder", folder=str(path), show="heat-map"))
    names = [one["name"] for one in sent(test, "picture")]
    assert names == ["settings-side-by-side", "heat-map"]
    assert any("too many: 1 tensor." in caption.value for caption in test.caption)
    none = healthy(page("quantize", show="heat-map"))
    assert "Choose a file of several tensors" in none.info[0].value


WEIGHTS = np.float32([[1, 2.4], [-7, 3.2]])  # int4 over the scale 1: 1, 2, -7, 3


def test_inputs() -> None:
    assert np.array_equal(inputs_of("identity", 3, 5), np.eye(3))
    for kind in INPUTS[:2]:
        assert inputs_of(kind, 40, 1).shape == (40, product_view.VECTORS)
        assert np.array_equal(inputs_of(kind, 40, 1), inputs_of(kind, 40, 1))
        assert not np.array_equal(inputs_of(kind, 40, 1), inputs_of(kind, 40, 2))
    spread = inputs_of("outlier channels", 64, 0).std(axis=1)
    assert 1 <= (spread > 8).sum() <= 8


def test_the_identity_by_hand() -> None:
    """The errors are 0.4 and 0.2: 10 log10 of (1 + 5.76 + 49 + 10.24) / 0.2."""
    found = product_of(WEIGHTS, ("int4,per=tensor",), "identity", 0)
    assert (found.weights, found.inputs) == ((2, 2), (2, 2))
    (row,) = found.rows
    wanted = 10 * math.log10(66 / 0.2)
    assert row.weights_db == pytest.approx(wanted, abs=1e-5)
    assert row.product_db == pytest.approx(wanted, abs=1e-5)
    assert verdict(found).startswith("Times the identity")
    assert "25.2 dB" in str(product_picture.drawing(found, wide=True))


def test_outliers_against_fractions() -> None:
    found = product_of(WEIGHTS, ("int4,per=tensor",), "normal", 3)
    inputs = inputs_of("normal", 2, 3)
    exact = [[reference.Value.of(float(x)).number for x in row] for row in inputs]
    signal = noise = 0.0
    for row, errors in zip(WEIGHTS.tolist(), ((0, -0.4), (0, -0.2)), strict=True):
        for column in zip(*exact, strict=True):
            signal += float(sum(w * float(x) for w, x in zip(row, column, strict=True))) ** 2
            noise += float(sum(e * float(x) for e, x in zip(errors, column, strict=True))) ** 2
    assert found.rows[0].product_db == pytest.approx(10 * math.log10(signal / noise), abs=1e-4)
    assert found.rows[0].gain_db == pytest.approx(found.rows[0].product_db - found.rows[0].weights_db)


def test_what_cannot_be_measured_says_why() -> None:
    found = product_of(np.float32([[np.inf, 1, 2]]), ("nvfp4", "int4,per=tensor"), "normal", 0)
    assert [bool(row.problem) for row in found.rows] == [True, True]
    assert verdict(found) == ""
    for wide in (True, False):
        assert "NaN or Inf" in str(product_picture.drawing(found, wide=wide))


def test_symmetric_int8() -> None:
    """By 1/127 the codes of -1 and 1 are -127 and 127; by 1/128 they are -128 and 127, which is 127/128."""
    first, second = symmetric.rulers()
    assert (first.codes, second.codes) == ((-127, 127), (-128, 127))
    assert [str(value) for value in first.became] == ["-1", "1"]
    assert [str(value) for value in second.became] == ["-1", "0.9921875"]
    assert [str(value) for value in second.values] == ["-1", "-0.9921875", "-0.984375", "0", "0.984375", "0.9921875"]
    for wide in (True, False):
        drawn = str(symmetric.drawing(wide=wide))
        assert "no number becomes −128" in drawn
        assert "saturates: 1 becomes 0.9921875" in drawn


def read(layout: str, content: bytes, found: Packed) -> list[float]:
    """Return the values of a block's bytes; those of NVFP4 over its scales."""
    raw = np.frombuffer(content, np.uint8)
    if layout == "NVFP4":
        return np.asarray(lp.decode(lp.unpack(raw[1:], "float4_e2m1fn", (16,)), "float4_e2m1fn")).tolist()
    out: Any = np.empty((1, len(found.values)), np.float32)
    BLOCK_TYPES[layout].decode(raw.reshape(1, -1), out)
    return out[0].tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_half_of_a_byte_is_the_code_of_its_element(layout: str) -> None:
    found = packed(layout, landscape(), 53, 88)
    content = bytes(byte.value for byte in found.bytes)
    before = read(layout, content, found)
    if layout != "NVFP4":
        assert before == list(found.values)
    seen = []
    for place, byte in enumerate(found.bytes):
        for half, shift in ((byte.low, 0), (byte.high, 4)):
            if half is not None:
                changed = bytearray(content)
                changed[place] ^= 0b010 << shift
                after = read(layout, bytes(changed), found)
                assert [index for index, value in enumerate(after) if value != before[index]] == [half]
                seen.append(half)
    assert sorted(seen) == list(range(len(found.values)))


@pytest.mark.parametrize(("layout", "size", "bits"), [("Q4_0", 18, 4.5), ("MXFP4", 17, 4.25), ("NVFP4", 9, 4.5)])
def test_the_values_are_those_of_the_picture(layout: str, size: int, bits: float) -> None:
    found = packed(layout, landscape(), 53, 88)
    assert (len(found.bytes), found.bits_per_value) == (size, bits)
    start = 88 // len(found.x) * len(found.x)
    assert list(found.x) == landscape()[53, start : start + len(found.x)].tolist()
    assert np.abs(np.subtract(found.values, found.x)).max() < 52


def test_mxfp4_by_hand() -> None:
    """The largest of a block is 5, so that by OCP MX the scale is 2^(2 - 2), 127; 5 is a tie between 4 and 6."""
    found = packed("MXFP4", np.float32([[5, 0.5, *[0] * 30]]), 0, 0)
    assert found.bytes[0].value == 127
    assert found.values[:3] == (4, 0.5, 0)  # llama.cpp rounds ties toward 0
    assert (found.bytes[1].value & 15, found.bytes[2].value & 15) == (6, 1)


def test_nvfp4_is_what_the_library_makes() -> None:
    x = landscape()
    found = packed("NVFP4", x, 53, 88)
    assert list(found.values) == np.asarray(lp.nvfp4_dequantize(*lp.nvfp4_quantize(x)))[53, 80:96].tolist()


def test_nested_scales_by_hand() -> None:
    """The factors are 0.1321 and 1.714, dmin = 1.714 as float16; the fifth group has its bits in three bytes."""
    found = packed("Q4_K", landscape(), 0, 0)
    d, least = np.frombuffer(EXAMPLE_Q4_K[:4], np.float16).astype(np.float32)
    assert [(group.scale, group.least) for group in found.groups] == [
        (50, 63), (1, 6), (63, 6), (41, 6), (46, 63), (1, 10), (15, 10), (11, 10),
    ]  # fmt: skip
    for group in found.groups:
        whole = d * np.float32(group.scale)
        expected = [np.float32(code) * whole - least * np.float32(group.least) for code in range(16)]
        assert list(group.levels) == expected
        assert set(found.values[group.first : group.last + 1]) <= set(group.levels)


def test_odd_tensors() -> None:
    for x in (np.float32([[1, np.nan, np.inf]]), np.zeros((1, 40), np.float32), np.float16([3])):
        for layout in LAYOUTS:
            found = packed(layout, x, 0, np.shape(x)[-1] - 1)
            drawn = str(block_bytes(found, 0)), str(block_bytes(found, 0, True))
            assert all(f"A block of {layout}" in text for text in drawn)
    assert "16 values of its own" in str(nested_scales(packed("Q4_K", landscape(), 0, 0)))
