"""Rounding by any rule in the CUDA text, compiled for the CPU, against the oracle; the CPU loops take no part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.bits import packed_bytes
from support.cuda_on_cpu import CpuBuild, roundings
from support.plans import rounded_plans

from lowprec.backends.kernels_of_plan import make_program
from lowprec.conformance import cast_inputs
from lowprec.plans.plan import Plan
from lowprec.reference.whole_arrays import expected_rounded
from lowprec.spec.rounding_modes import Stream

pytestmark = pytest.mark.slow

STREAM = Stream(0x1234_5678_9ABC_DEF0, (1 << 33) + 5)
PLANS = list(rounded_plans())


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> CpuBuild:
    folder: Path = tmp_path_factory.mktemp("rounding")
    return CpuBuild(folder, roundings())


def codes_for(plan: Plan) -> np.ndarray:
    source, target = plan.source, plan.target
    if source.bits <= 16:
        return np.arange(0, 1 << source.bits, 1 if source.bits <= 8 else 13).astype(source.code_dtype)
    if source.is_integer:
        sweep = cast_inputs.sweep_int64 if source.signed else cast_inputs.sweep_uint64
    else:
        sweep = getattr(cast_inputs, f"sweep_{source.name}")
    return sweep(target, count=500)[::5].copy().view(source.code_dtype)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("target", sorted({plan.target.name for plan in PLANS}))
def test_every_rule(kernels: CpuBuild, target: str) -> None:
    for plan in PLANS:
        if plan.target.name == target:
            stream = STREAM if plan.stochastic else None
            codes, (seed, offset) = codes_for(plan), stream or (None, 0)
            got = kernels(codes, make_program(plan), codes.size, stream=stream)
            expected = expected_rounded(codes, plan.source, plan.target, plan.rounding, seed, offset)
            np.testing.assert_array_equal(got, expected, str(plan))


@pytest.mark.parametrize("target", ["float8_e4m3fn", "float4_e2m1fn", "bfloat16"])
def test_any_number_of_elements_and_threads(kernels: CpuBuild, target: str) -> None:
    for plan in PLANS:
        if plan.target.name == target and plan.source.name == "float32" and plan.stochastic:
            codes = np.random.default_rng(1).standard_normal(200).astype(np.float32).view(np.uint32)
            expected = expected_rounded(codes, plan.source, plan.target, plan.rounding, *STREAM)
            packed = plan.target.bits == 4
            for n in (0, 1, 7, 16, 33, 200):
                wanted = packed_bytes(expected[:n], 4) if packed else expected[:n]
                for threads in (1, 5, 300):
                    program = make_program(plan, packed=packed)
                    got = kernels(codes[:n], program, n, threads=threads, offset=n % 3, stream=STREAM)
                    np.testing.assert_array_equal(got, wanted)
