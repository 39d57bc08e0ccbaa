"""Scales and zero points in the types that the loops read."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..arrays.libraries import namespace
from ..plans.cast_plan import Plan, make_plan
from ..plans.quantize_plan import scale_plans
from ..spec.formats import BOOL, FLOAT32, Format
from ..spec.interned import CACHED
from ..spec.opset_rules import cast_rules
from .job import Job, Scales

__all__ = ["Run", "check_zero_point", "loop_operands", "scale_steps", "zero_point_steps"]

Run = Callable[[Job], Any]
scale_steps = lru_cache(maxsize=CACHED)(scale_plans)


@lru_cache(maxsize=CACHED)
def _cast_plan(source: Format, target: Format) -> Plan:
    return make_plan(source, target, cast_rules(source, target))


def zero_point_steps(plan: Plan, stored: Format) -> tuple[Plan, ...] | None:
    """Return the casts that bring a zero point to what the loops read; None where zero points can but be 0."""
    if plan.scaling is None or plan.scaling.zero_point is None:
        return None
    wanted = plan.scaling.zero_point
    return () if stored == wanted else (_cast_plan(stored, wanted),)


def check_zero_point(plan: Plan, scales: Scales, run: Run) -> None:
    """Raise ValueError unless every zero point is zero, where the plan has no use for another one."""
    if scales.zero_point is None or plan.scaling is None or plan.scaling.zero_point is not None:
        return
    is_other = run(Job(scales.zero_point, _cast_plan(plan.codes, BOOL)))
    if bool(namespace(is_other).any(is_other)):
        raise ValueError(f"`zero_point` must be 0 for {plan.codes.name}; got {_first(is_other, plan, scales, run)}")


def _first(is_other: Any, plan: Plan, scales: Scales, run: Run) -> str:
    """Return the first zero point that is another one, and where: of Dask arrays in its chunk, which the length tells.

    Those of several axes have no place, since a job has those of tiles repeated.
    """
    xp = namespace(is_other)
    place = tuple(int(axis[0]) for axis in xp.nonzero(is_other)) if is_other.ndim else ()
    numbers: Any = scales.zero_point
    if plan.codes.is_float:
        numbers = run(Job(numbers, _cast_plan(plan.codes, FLOAT32)))
    value = f"{float(numbers[place]):g}" if plan.codes.is_float else str(int(numbers[place]))
    return value + (f" at index {place[0]} of {is_other.shape[0]}" if len(place) == 1 < is_other.shape[0] else "")


def loop_operands(plan: Plan, scales: Scales, run: Run) -> tuple[Any, Any | None]:
    """Return the scales and the zero points as the loops read them, converted by a back end's `run`."""
    assert plan.scaling is not None  # a job has scales where its plan has a scale part
    check_zero_point(plan, scales, run)
    scale, zero_point, zero_steps = scales.scale, None, zero_point_steps(plan, plan.codes)
    for step in scale_steps(plan.scaling, scales.format):
        scale = run(Job(scale, step))
    if scales.zero_point is not None and zero_steps is not None:
        zero_point = scales.zero_point
        for step in zero_steps:
            zero_point = run(Job(zero_point, step))
    return scale, zero_point
