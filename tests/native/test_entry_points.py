"""What the compiled entry points refuse, and which arrays they take: their callers rely on both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lowprec import _kernels
from lowprec._kernels import HostCall, Program

PACK = Program(("pack4",), 8, 4, {})
SWAP = Program(("byteswap16",), 16, 16, {})
SCALED = Program(("dequantize",), 32, 32, {})


@pytest.mark.parametrize(
    ("src", "dst", "n"), [(3, 2, 4), (4, 1, 4), (4, 2, -1), (3, 1, 3), (20, 9, 20), (19, 10, 20), (0, 1, 1), (1, 0, 1)]
)
def test_memory_that_does_not_hold_the_elements(src: int, dst: int, n: int) -> None:
    message = f"`src` and `dst` must hold {n} elements; got {src} and {dst} bytes"
    with pytest.raises(ValueError, match=f"^{message}$"):
        _kernels.run(PACK, bytes(src), bytearray(dst), n, None, 1)


@pytest.mark.parametrize(("src", "dst", "n"), [(0, 0, 0), (1, 1, 1), (4, 2, 4), (3, 2, 3), (20, 10, 20)])
def test_memory_that_just_holds_the_elements(src: int, dst: int, n: int) -> None:
    codes = bytearray(dst)
    _kernels.run(PACK, bytes([5]) * src, codes, n, None, 1)
    assert codes == bytes([0x55]) * (n // 2) + bytes([5]) * (n % 2)


def test_a_program_with_scales_needs_them() -> None:
    with pytest.raises(ValueError, match=r"^`operands` must be there where, and only where, the program has loops"):
        _kernels.run(SCALED, bytes(8), bytearray(8), 2, None, 1)


def test_same_shape_takes_dense_arrays_and_strided_ones_to_write_to() -> None:
    x = np.arange(6, dtype=np.uint16).reshape(2, 3)
    result: Any = swapped(x)
    np.testing.assert_array_equal(result, x << 8)
    out = np.empty_like(x)
    assert swapped(x, out) is out
    np.testing.assert_array_equal(out, x << 8)
    strided = np.empty((2, 6), np.uint16)[:, ::2]
    assert swapped(x, strided) is strided
    np.testing.assert_array_equal(strided, x << 8)
    shared = np.lib.stride_tricks.as_strided(np.empty(4, np.uint16), (2, 3), (2, 2))
    for other in (np.empty((2, 3), np.int16), np.empty((3, 2), np.uint16), np.empty(6, np.uint16), [], shared, x.T.T):
        assert swapped(x, other) is None
    for other in (x.T, x[:, ::2], x[::-1]):
        result = swapped(other)
        np.testing.assert_array_equal(result, other << 8)
        assert result.strides == np.empty_like(other).strides
    assert swapped(x.astype(x.dtype.newbyteorder())) is None


def swapped(x: Any, out: Any = None) -> Any:
    return HostCall(SWAP, np.dtype(np.uint16)).run(x, None, None, None, 0, out, 1)


def test_arrays_may_follow_each_other_but_not_overlap() -> None:
    memory = np.zeros(9, np.uint16)
    assert swapped(memory[:4], memory[4:8]) is not None
    assert swapped(memory[4:8], memory[:4]) is not None
    assert swapped(memory[:4], memory[3:7]) is None
    assert swapped(memory[3:7], memory[:4]) is None


def test_a_call_without_a_seed_takes_none_and_one_with_a_seed_takes_nothing_else() -> None:
    x = np.zeros(3, np.uint16)
    seed: Any
    offset: Any
    for seed, offset in ((0, 0), (None, 1), (None, True), (None, 0.0)):
        assert HostCall(SWAP, x.dtype).run(x, None, None, seed, offset, None, 1) is None
    with_seed = HostCall(SWAP, x.dtype, seeded=True)
    for seed, offset in ((None, 0), (-1, 0), (1 << 64, 0), (True, 0), (1.0, 0), (1, -1), (1, 1 << 63), (1, True)):
        assert with_seed.run(x, None, None, seed, offset, None, 1) is None
    assert with_seed.run(x, None, None, (1 << 64) - 1, (1 << 63) - 1, None, 1) is not None


def test_a_call_with_scales_or_of_packed_codes_needs_a_shape() -> None:
    for program in (Program(("unpack4",), 4, 8, {}), SCALED):
        with pytest.raises(ValueError, match="must be"):
            HostCall(program, np.dtype(np.uint8))
    with pytest.raises(ValueError, match="`shape` must have at most 8 axes"):
        HostCall(SWAP, np.dtype(np.uint16), (1,) * 9)
