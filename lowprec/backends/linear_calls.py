"""Calls of the linear operators that came before: found by dtypes, shapes and options, and carried out at once."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import _kernels
from ..plans.cast_plan import make_plan
from ..plans.granularity import expanded
from ..spec.formats import FLOAT64, INT32, Format
from ..spec.interned import CACHED
from ..spec.opset_rules import cast_rules
from .job import Job
from .program import make_program
from .scale_operands import scale_steps, zero_point_steps
from .thread_count import PARALLEL_FROM, is_small, shared

__all__ = ["DEQUANTIZED", "QUANTIZED", "LinearKey", "remember", "run_known"]

QUANTIZED = _kernels.LinearCalls(CACHED)
DEQUANTIZED = _kernels.LinearCalls(CACHED)


class LinearKey(NamedTuple):
    """What names a call of a linear operator: where it is remembered; operands and options as the caller gave them."""

    calls: _kernels.LinearCalls
    scale: Any
    zero_point: Any
    options: tuple[Any, ...]


def run_known(
    calls: _kernels.LinearCalls, x: Any, scale: Any, zero_point: Any, out: Any, options: tuple[Any, ...]
) -> Any:
    """Carry out a call for a NumPy array where one of its kind came before; else return None, with nothing done."""
    if is_small(0):  # larger arrays are not remembered
        return calls.run(x, scale, zero_point, out, options, 1)
    return shared(x.size, calls.run, x, scale, zero_point, out, options)


def _is_name(option: object) -> bool:
    """Whether an option means the same for all time, and equals no option that means something else."""
    return type(option) in (str, int, bool, tuple, type, type(None)) or isinstance(option, (Format, np.dtype))


def remember(job: Job, key: LinearKey) -> None:
    """Let `run_known` find what a job on a small NumPy array comes to."""
    calls, scale, zero_point, options = key
    if type(job.x) is not np.ndarray or not all(map(_is_name, options)):
        return
    if not calls.knows(job.x, scale, zero_point, options) and (call := _linear_call(job, key)) is not None:
        calls.remember(job.x, scale, zero_point, options, call)


def _linear_call(job: Job, key: LinearKey) -> _kernels.LinearCall | None:
    plan, scales, n = job.plan, job.scales, math.prod(job.values_shape)
    assert scales is not None
    assert plan.scaling is not None
    if not 0 < n < PARALLEL_FROM or job.carrier is not None:
        return None
    fmt, granularity = scales.format, scales.granularity
    spread = expanded(granularity, n, (None, None))[0]
    repeat = granularity.inner if spread.inner < granularity.inner else 1
    tile = spread.length // (granularity.length * repeat)
    steps, bits, count = scale_steps(plan.scaling, fmt), fmt.storage_bits, math.prod(scales.scale.shape)
    if isinstance(key.scale, (int, float)) and not isinstance(key.scale, np.generic):
        if fmt.is_integer:
            return None
        steps, bits = (make_plan(FLOAT64, fmt, cast_rules(FLOAT64, fmt)), *steps), FLOAT64.bits
    elif math.prod(key.scale.shape) != count:  # those of tiles, repeated
        return None
    codes, zero_format = plan.codes, plan.codes
    if type(key.zero_point) is int:
        if plan.scaling.zero_point is not None and not codes.is_integer:
            return None
        zero_format = INT32
    zero_steps = zero_point_steps(plan, zero_format)
    return _kernels.LinearCall(
        make_program(plan, extend=job.extend, packed=job.packed, unpacked=job.shape is not None),
        job.dtype,
        job.result_shape,
        n,
        spread,
        (count, repeat, tile),
        bits,
        tuple(map(make_program, steps)),
        zero_format.storage_bits,
        None if zero_steps is None else tuple(map(make_program, zero_steps)),
        codes.is_integer,
        (int(codes.min), int(codes.max)) if codes.is_integer else (0, 0),
    )
