"""Memory that starts anywhere: casts, losses and loops; scales, zero points, blocks are in the random calls.

That nothing else reads it so is seen by a build with -fsanitize=undefined, in which .ci/run runs this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import tiers_and_threads
from support.optional import optional
from support.quantize_cases import FLOAT32, draw_codes, generator

import lowprec as lp
from lowprec import _kernels
from lowprec.backends.kernels_of_plan import make_program
from lowprec.loss.error_stats import ErrorStats, convert_compared
from lowprec.plans.cast_plan import make_plan
from lowprec.plans.scale_shapes import Granularity
from lowprec.spec.formats import NUMERIC, as_format
from lowprec.spec.operator_versions import cast_rules

torch: Any = optional("torch")


def moved(a: np.ndarray, by: int) -> np.ndarray:
    """Return the array at an address that is `by` past a multiple of 64."""
    memory = np.zeros(a.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + by
    view = memory[start : start + a.nbytes].view(a.dtype).reshape(a.shape)
    view[...] = a
    return view


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
        _kernels.run_strided(program, moved(np.zeros(20, np.uint32), 2)[::2], np.zeros(10, np.uint16), None, None, 1)
