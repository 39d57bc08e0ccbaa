"""Calls on one array that came before, for its scales or its blocks: found by dtype, shape and options."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _kernels
from ..arrays.libraries import extends, is_torch, namespace, storage_dtype
from ..plans.cast_plan import make_plan
from ..spec.formats import FLOAT32, FLOAT64, Format
from ..spec.memo import CACHED
from ..spec.operator_versions import cast_rules
from ..spec.scale_rules import TRANSFORMER_ENGINE, global_formula
from .block_job import BlockJob
from .block_loops import block_program, fits_packed
from .blocks import to_single
from .call_cache import are_names, know_tensors
from .program import make_program
from .ranges import Groups, double_plan, have_order, range_steps
from .thread_count import PARALLEL_FROM, is_small, shared

__all__ = ["ABSMAX", "MINMAX", "MX", "NVFP4", "block_call", "remember", "run_known", "scale_call"]

ABSMAX = _kernels.CallCache(CACHED, shared, by_shape=True)
MINMAX = _kernels.CallCache(CACHED, shared, by_shape=True)
MX = _kernels.CallCache(CACHED, shared, by_shape=True)
NVFP4 = _kernels.CallCache(CACHED, shared, by_shape=True)

_Options = tuple[Any, ...]


def run_known(calls: _kernels.CallCache, x: Any, options: _Options, factor: Any = None) -> tuple[Any, ...] | None:
    """Carry out a call on a NumPy array or a torch tensor where one of its kind came before; else return None.

    `factor` is the operand that some calls have. Of tensors the caller has checked that torch traces and transforms
    nothing.
    """
    if not is_small(0):  # several threads were asked for
        return None
    if type(x) is np.ndarray:
        call = calls.find(x, factor, None, options)
        return None if call is None else call.run(x, factor)
    if not is_torch(x):
        return None
    call = calls.find(x, factor, None, options)
    if call is None:
        return None
    memory, operand = _kernels.address_of(x), _kernels.address_of(factor)
    if not memory or operand is None:
        return None
    results = tuple([x.new_empty(*shape or ((),), dtype=dtype) for shape, dtype in call.results])
    addresses = tuple([result.data_ptr() for result in results])
    return results if call.run_addresses(memory, operand, factor, addresses) else None


def remember(
    calls: _kernels.CallCache,
    x: Any,
    options: _Options,
    make: Callable[[], _kernels.ArrayCall | None],
    factor: Any = None,
) -> None:
    """Let `run_known` find what a call on an array comes to, which `make` returns; None for calls of another kind."""
    if is_torch(x):
        know_tensors()
    elif type(x) is not np.ndarray:
        return
    if not are_names(options) or calls.find(x, factor, None, options) is not None:
        return
    if (call := make()) is not None:
        calls.remember(x, factor, None, options, call)


def scale_call(
    x: Any, held: Format, groups: Groups, formula: _kernels.ScaleFormula, formats: tuple[Format, ...]
) -> _kernels.ScaleCall | None:
    """Return what the scales of an array come to, and its zero points, whose formats these are."""
    xp, shape, both = namespace(x), tuple(x.shape), len(formats) == 2
    if not 0 < math.prod(shape) < PARALLEL_FROM or not have_order(held, both):
        return None
    groups = groups.within(shape)
    scale, last = formats[0], formats[-1]
    rounded = scale.has_zero and not both
    mask = (1 << last.storage_bits) - 1 if extends(last, xp) and last.signed else last.code_mask
    return _kernels.ScaleCall(
        tuple((groups.shape_of(shape), storage_dtype(fmt, xp)) for fmt in formats),
        formula,
        make_program(double_plan(held)),
        make_program(make_plan(FLOAT64, scale, cast_rules(FLOAT64, scale))) if rounded else None,
        (held.storage_bits, held.magnitude_mask, held.max_code),
        both,
        range_steps(shape, groups),
        (0, 0) if rounded else (last.storage_bits // 8, mask),
    )


def block_call(job: BlockJob) -> _kernels.BlockCall | None:
    """Return what a block quantization comes to."""
    x, plan = job.x, job.plan
    size, block = math.prod(x.shape), min(job.block, max(x.shape[job.axis], 1))
    direct = job.packed and fits_packed(plan.element, job.spread, block)
    if not 0 < size < PARALLEL_FROM or job.swizzled or job.stream is not None or job.packed is not direct:
        return None
    program = block_program(plan, direct)
    if program is None or plan.scale_rule == TRANSFORMER_ENGINE:  # which starts from an inverse
        return None
    return _kernels.BlockCall(
        tuple(job._replace(block=block).results),
        program,
        to_single(plan.source),
        (*job.spread, block),
        global_formula(plan.element, plan.scale) if plan.two_levels else None,
        make_program(make_plan(FLOAT64, FLOAT32, cast_rules(FLOAT64, FLOAT32))),
        (plan.source.storage_bits, plan.source.magnitude_mask, plan.source.max_code),
    )
