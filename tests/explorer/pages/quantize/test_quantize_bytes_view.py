"""A block byte by byte: each half of a byte changes the element that is said, by the library's readers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lowprec as lp
from lowprec.checkpoints.schemes.ggml_blocks import BLOCK_TYPES
from lowprec.explorer.pages.quantize.bytes_picture import block_bytes, nested_scales
from lowprec.explorer.pages.quantize.bytes_view import EXAMPLE_Q4_K, LAYOUTS, Packed, packed
from lowprec.explorer.shared.landscape import landscape


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
