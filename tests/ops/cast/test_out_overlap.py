"""An `out` that overlaps itself is refused; one that overlaps the input, scales or zero points changes no result."""

from __future__ import annotations

import itertools
from typing import Any

import array_api_strict as strict
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from support.optional import optional

import lowprec as lp
from lowprec.arrays.array_memory import overlaps_itself

torch: Any = optional("torch")

X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)


def test_a_read_only_view_of_a_library_without_flags() -> None:
    out = strict.broadcast_to(strict.zeros((1, 4), dtype=strict.uint8), (3, 4))
    with pytest.raises(ValueError, match=r"^`out` must be writable; "):
        lp.cast(strict.asarray(X), "uint8", out=out)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-14, 14)), max_size=4), st.sampled_from([1, 2, 4]))
def test_overlap_against_all_addresses(axes: list[tuple[int, int]], itemsize: int) -> None:
    shape, strides = [length for length, _ in axes], [step for _, step in axes]
    starts = [sum(i * s for i, s in zip(at, strides, strict=True)) for at in itertools.product(*map(range, shape))]
    taken = [start + byte for start in starts for byte in range(itemsize)]
    assert overlaps_itself(shape, strides, itemsize) == (len(set(taken)) < len(taken))


def test_overlap_of_arrays_that_are_too_large_to_look_at() -> None:
    assert overlaps_itself((2**40, 2**40), (0, 0), 1)
    assert overlaps_itself((2**31, 2**31), (1, 1), 1)
    assert not overlaps_itself((2**31, 2**31), (1, 2**31), 1)
    assert not overlaps_itself((2**31, 1, 0), (0, 0, 0), 1)


# ---- over the input, the scales and the zero points


N = 40_000
"""Elements: more than the kernels gather at a time, or the input would be read before the first one is written."""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("step", [-1, 1])
@pytest.mark.parametrize("shift", [0, 2, 1000, 1001])
def test_out_over_a_strided_input(shift: int, step: int, threads: int) -> None:
    lp.set_num_threads(threads)
    for dtype in ("int32", "float32"):
        room = np.arange(3 * N, dtype=np.float32)
        x, out = room[: 2 * N : 2], room.view(dtype)[shift : shift + 2 * N : 2][::step]
        if dtype == "int32":
            found = lp.cast(x, "int32", out=out)
        else:
            room.view(np.int32)[:] = np.arange(3 * N)
            found = lp.dequantize_linear(x.view(np.int32), 1.0, out=out)
        assert found is out
        assert np.array_equal(found, np.arange(0, 2 * N, 2))


@pytest.mark.parametrize("shift", [1, 500])
def test_out_over_a_strided_tensor(shift: int) -> None:
    room = torch.arange(3 * N, dtype=torch.float32).reshape(-1, 2)
    x, out = room[:N, 0], room.view(torch.int32)[shift : shift + N, 0]
    assert np.array_equal(lp.cast(x, "int32", out=out).numpy(), np.arange(0, 2 * N, 2))


@pytest.mark.parametrize("n", [32, N, 1 << 20, (1 << 20) + 32])  # from 2**20 on scales go another way
@pytest.mark.parametrize("place", [0, 64, 10_000])
def test_out_over_scales_and_zero_points(place: int, n: int) -> None:
    rng = np.random.default_rng(n)
    codes = rng.integers(-100, 101, n).astype(np.int8)
    numbers, zeros = 2.0 ** rng.integers(-3, 4, n // 32), rng.integers(-20, 21, n // 32)
    x = (codes * np.repeat(numbers, 32)).astype(np.float32)
    for kind, dtype in (("scale", np.float32), ("zero_point", np.int8)):
        room = np.zeros(max(n, place + n // 32 * 4), np.int8)
        operands: dict[str, Any] = {"scale": numbers.astype(np.float32), "zero_point": zeros.astype(np.int8)}
        held = room[place : place + operands[kind].nbytes].view(dtype)
        held[:] = operands[kind]
        lp.quantize_linear(x, **{**operands, kind: held}, axis=0, block_size=32, out=room[:n])
        assert np.array_equal(room[:n], codes + np.repeat(zeros, 32)), kind
