"""Memory that starts anywhere: unaligned x, scales, zero points and out give the same bits, and no loop reads it so.

That nothing else reads it so is seen by a build with -fsanitize=undefined, in which .ci/run runs this module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.bits import contents
from support.compare import tiers_and_threads
from support.optional import optional
from support.quantize_cases import FLOAT32, Types, dequantize_case, draw_codes, draw_x, generator, quantize_case

import lowprec as lp
from lowprec import _kernels
from lowprec.backends.kernels_of_plan import make_program
from lowprec.loss.error_stats import ErrorStats, convert_compared
from lowprec.plans.cast_plan import make_plan
from lowprec.plans.scale_shapes import Granularity
from lowprec.spec.formats import NUMERIC, as_format
from lowprec.spec.operator_versions import cast_rules

torch: Any = optional("torch")

# One scale for a tile, one for every 16 and more, one each in order, one each that is spread over tiles.
WAYS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((3, 1100), (), {}), ((3, 1100), (3,), {"axis": 0}), ((40, 64), (40,), {"axis": 0}), ((3, 1100), (1100,), {}),
    ((2, 30, 70), (30,), {"axis": 1}), ((4, 1056), (4, 33), {"axis": 1, "block_size": 32}),
    ((4, 1050), (4, 42), {"axis": 1, "block_size": 25}), ((64, 70), (4, 70), {"axis": 0, "block_size": 16}),
]  # fmt: skip
QUANTIZE = [
    ("float32", "float32", "int8"), ("float32", "float32", "uint16"), ("float32", "float32", "float8_e4m3fn"),
    ("float32", "float32", "float4_e2m1fn"), ("float16", "float16", "int4"), ("int32", "int32", "int8"),
    ("int32", "int32", "uint16"), ("float32", "int32", "float8_e5m2"), ("bfloat16", "bfloat16", "float6_e3m2fn"),
    ("float32", "float8_e8m0fnu", "float4_e2m1fn"),
]  # fmt: skip
DEQUANTIZE = [("int8", "float32"), ("uint16", "float32"), ("float8_e4m3fn", "float16"), ("int4", "bfloat16"),
              ("float4_e2m1fn", "float32"), ("int32", "float32")]  # fmt: skip

GROUPS: list[dict[str, int]] = [{}, {"axis": 0}, {"axis": 1}, {"axis": 1, "block_size": 16}]


def moved(a: np.ndarray, by: int) -> np.ndarray:
    """Return the array at an address that is `by` past a multiple of 64."""
    memory = np.zeros(a.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + by
    view = memory[start : start + a.nbytes].view(a.dtype).reshape(a.shape)
    view[...] = a
    return view


@pytest.mark.one_in(7)
@pytest.mark.parametrize("by", [1, 4, 6])
@pytest.mark.parametrize("names", QUANTIZE, ids="-".join)
def test_quantize(names: tuple[str, str, str], by: int) -> None:
    types = Types(*map(as_format, names))
    for shape, scales, options in WAYS:
        rng = generator("unaligned", names, shape, scales)
        *arrays, expected = quantize_case(rng, types, shape, scales, options)
        held = [moved(a, by) for a in (*arrays, np.zeros(shape, types.y.dtype))]
        for who in tiers_and_threads(threads=(2,)):
            got = lp.quantize_linear(*held[:3], **{"axis": 1} | options, out=held[3])
            assert got is held[3], who
            assert np.array_equal(got.view(types.y.code_dtype), expected), (who, shape, options)


@pytest.mark.parametrize("by", [1, 4, 6])
@pytest.mark.parametrize("names", DEQUANTIZE, ids="-".join)
def test_dequantize(names: tuple[str, str], by: int) -> None:
    types = Types(*map(as_format, (*names, names[1])))
    for shape, scales, options in WAYS:
        rng = generator("unaligned", names, shape, scales)
        *arrays, expected = dequantize_case(rng, types, shape, scales, options)
        held = [None if a is None else moved(a, by) for a in (*arrays, np.zeros(shape, types.y.dtype))]
        for who in tiers_and_threads(threads=(2,)):
            got = lp.dequantize_linear(*held[:3], **{"axis": 1} | options, out=held[3])
            assert got is held[3], who
            assert np.array_equal(got.view(types.y.code_dtype), expected), (who, shape, options)


@pytest.mark.parametrize("source", [fmt for fmt in NUMERIC if fmt.bits >= 16], ids=lambda fmt: fmt.name)
def test_cast(source: lp.Format) -> None:
    x = draw_codes(generator("unaligned", source), source, (2500,))
    codes = x.view(source.code_dtype)
    for target in NUMERIC:
        expected = lp.encode(codes, target, source=source)
        out, strided = moved(np.zeros(2500, expected.dtype), 1), moved(np.zeros(5000, expected.dtype), 1)[::2]
        for who in tiers_and_threads(threads=(2,)):
            assert np.array_equal(lp.encode(moved(codes, 1), target, source=source, out=out), expected), who
            assert np.array_equal(lp.encode(moved(np.repeat(codes, 2), 3)[::2], target, source=source), expected), who
            assert np.array_equal(lp.encode(codes, target, source=source, out=strided), expected), who
        if source.torch_name and target.torch_name:
            tensor = torch.frombuffer(moved(codes, 1), dtype=getattr(torch, source.torch_name))
            assert tensor.data_ptr() % 2 == 1
            got = lp.cast(tensor, target)
            same = lp.cast(tensor.clone(), target)
            assert torch.equal(got.view(torch.uint8), same.view(torch.uint8))


@pytest.mark.parametrize("by", [1, 2, 6])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_scales_and_blocks(name: str, by: int) -> None:
    source = as_format(name)
    x = draw_x(generator("unaligned", source), source, np.ones((6, 64)), as_format("int8"))
    calls: list[Callable[[Any], Any]] = [
        *(partial(lp.absmax_scale, to=to, **how) for to in ("int8", "float8_e4m3fn") for how in GROUPS),
        *(partial(lp.minmax_scale, to="uint8", **how) for how in GROUPS),
        lambda one: lp.mx_quantize(one, "float4_e2m1fn", specials="ignore"),
        lambda one: lp.nvfp4_quantize(one, specials="ignore"),
        *([lp.dynamic_quantize_linear] if name == "float32" else []),
    ]
    held = moved(x, by)
    for who in tiers_and_threads(threads=(2,)):
        for call in calls:
            assert contents(call(held)) == contents(call(x)), (who, call)


@pytest.mark.parametrize("item", [4, 8])
@pytest.mark.parametrize("by", range(8))
def test_loops_read_aligned_operands(item: int, by: int) -> None:
    scale, zero = moved(np.arange(50 * item, dtype=np.uint8), by), moved(np.arange(200, dtype=np.uint8), by)
    for offset in (zero, None):
        operands = _kernels.Operands(scale, offset, item, 500, Granularity(0, 1, 50, 1, 0, 1))
        there, beside = operands.addresses
        assert there % item == 0
        assert beside % 4 == 0
        assert (there == scale.ctypes.data) == (by % item == 0)  # nothing is copied that need not be
        assert (beside == zero.ctypes.data) == (offset is not None and by % 4 == 0)


@pytest.mark.parametrize("source", ["float32", "float16", "bfloat16", "float8_e4m3fn"])
@pytest.mark.parametrize("target", ["bfloat16", "float8_e5m2", "float32", "float6_e2m3fn"])
def test_losses(source: str, target: str) -> None:
    here, there = as_format(source), as_format(target)
    x = lp.cast(np.linspace(-3, 4, 5000, dtype=np.float32), here).view(here.code_dtype)
    found = []
    for by in (0, 1):
        out = moved(np.zeros(x.size * there.storage_bits // 8, np.uint8), by)
        for _ in tiers_and_threads(threads=()):
            seen = convert_compared(moved(x, by), here, there, cast_rules(here, there), False, out)
            found.append((seen, out.tobytes()))
    assert found == [found[0]] * len(found)
    values = lp.cast(x, "float32", source=here)
    tallies = []
    for by in (0, 1):
        tally = ErrorStats()
        tally.add(moved(values, by), moved(np.roll(values, 1), by))
        tallies.append((tally.max_abs_error, tally.max_rel_error, tally.flushed, tally.sqnr_db))
    assert tallies[0] == tallies[1]


def test_elements_apart_from_each_other_are_aligned() -> None:
    """Others never come there: a copy takes their place before."""
    target = as_format("bfloat16")
    program = make_program(make_plan(FLOAT32, target, cast_rules(FLOAT32, target)))
    with pytest.raises(ValueError, match="must be aligned to 4 bytes"):
        _kernels.run_strided(program, moved(np.zeros(20, np.uint32), 2)[::2], np.zeros(10, np.uint16), None, 1)
