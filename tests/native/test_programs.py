"""Programs: their parameters, equality and loops; what the compiled entry points refuse and take."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from support.cuda_on_cpu import casts, quantizations, roundings
from support.custom_formats import float_format

from lowprec import _kernels
from lowprec._kernels import HostCall, Program
from lowprec.backends.kernels_of_plan import make_program
from lowprec.plans.cast_plan import make_plan
from lowprec.spec.formats import FORMATS, NUMERIC, Format, NaNRule
from lowprec.spec.operator_versions import cast_rules


def _made_again(source: Format, target: Format) -> Program:
    return make_program.__wrapped__(make_plan(source, target, cast_rules(source, target)))


@pytest.mark.parametrize("target", NUMERIC, ids=lambda fmt: fmt.name)
def test_equal_programs_are_equal(target: Format) -> None:
    others = set()
    for source in NUMERIC:
        first, second = _made_again(source, target), _made_again(source, target)
        assert first is not second
        assert first.params == second.params
        assert first == second
        assert hash(first) == hash(second)
        others.add((first.names, first.src_bits, first.params))
    assert len(others) > 10  # there is something to tell apart


def test_programs_that_differ() -> None:
    known = Program(("encode8",), 32, 8, {"clamp": 5, "target_mask": 2**64 - 1})
    assert known == Program(("encode8",), 32, 8, {"target_mask": 2**64 - 1, "clamp": 5})
    for other in (
        Program(("decode8",), 32, 8, {"clamp": 5, "target_mask": 2**64 - 1}),
        Program(("encode8",), 16, 8, {"clamp": 5, "target_mask": 2**64 - 1}),
        Program(("encode8",), 32, 6, {"clamp": 5, "target_mask": 2**64 - 1}),
        Program(("encode8",), 32, 8, {"clamp": 6, "target_mask": 2**64 - 1}),
        ("encode8",),
    ):
        assert known != other


def test_parameters_are_fields_of_the_struct() -> None:
    """A name that no loop reads would be a zero in the field that was meant."""
    with pytest.raises(ValueError, match=r"^`params` must be fields of params_t; got \['clmap'\]$"):
        Program(("encode8",), 32, 8, {"clmap": 5})


def test_a_program_names_loops_of_the_table() -> None:
    with pytest.raises(KeyError, match="encode9"):
        Program(("encode9",), 32, 8, {})
    with pytest.raises(ValueError, match="`names` must be 1 to 10 loops; got 11"):
        Program(("byteswap16",) * 11, 16, 16, {})


def test_every_loop_belongs_to_a_program() -> None:
    """No loop of the tables is compiled for nothing, and programs name no other."""
    tier = importlib.import_module(f"lowprec._native.tier_{_kernels.isa()}")
    used = {loop for conversion in (*casts(), *quantizations(), *roundings()) for loop in conversion.loops}
    for nan, inf in ((NaNRule.IEEE, True), (NaNRule.ALL_ONES, False)):  # of 16 bits, and no format of ONNX
        fmt = float_format("e6m9", (6, 9, 31), nan=nan, inf=inf)
        used |= {*_made_again(fmt, FORMATS["float32"]).names, *_made_again(FORMATS["float32"], fmt).names}
    ends = {f"{name}{bits}" for name in ("pack", "unpack") for bits in (2, 4, 6)}
    ends |= {f"byteswap{bits}" for bits in (16, 32, 64)}
    assert used | ends == {*tier.LOOPS, *tier.SCALE_LOOPS, *tier.RANDOM_LOOPS}


PACK = Program(("pack4",), 8, 4, {})
SWAP = Program(("byteswap16",), 16, 16, {})
SCALED = Program(("dequantize",), 32, 32, {})


@pytest.mark.parametrize(
    ("src", "dst", "n"), [(3, 2, 4), (4, 1, 4), (4, 2, -1), (3, 1, 3), (20, 9, 20), (19, 10, 20), (0, 1, 1), (1, 0, 1)]
)
def test_memory_that_does_not_hold_the_elements(src: int, dst: int, n: int) -> None:
    message = f"`src` and `dst` must hold {n} elements; got {src} and {dst} bytes"
    with pytest.raises(ValueError, match=f"^{message}$"):
        _kernels.run(PACK, bytes(src), bytearray(dst), n, None, None, 1)


@pytest.mark.parametrize(("src", "dst", "n"), [(0, 0, 0), (1, 1, 1), (4, 2, 4), (3, 2, 3), (20, 10, 20)])
def test_memory_that_just_holds_the_elements(src: int, dst: int, n: int) -> None:
    codes = bytearray(dst)
    _kernels.run(PACK, bytes([5]) * src, codes, n, None, None, 1)
    assert codes == bytes([0x55]) * (n // 2) + bytes([5]) * (n % 2)


def test_a_program_with_scales_needs_them() -> None:
    with pytest.raises(ValueError, match=r"^`operands` must be there where, and only where, the program has loops"):
        _kernels.run(SCALED, bytes(8), bytearray(8), 2, None, None, 1)


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
