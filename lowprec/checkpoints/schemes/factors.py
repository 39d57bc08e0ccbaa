"""Products and quotients of a weight and factors in float32, cast to a format in the same pass: what tools compute."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...backends.cpu import run
from ...backends.job import Job, Scales
from ...plans.cast_plan import make_plan
from ...plans.plan import Plan, Rule, Scaling
from ...plans.scale_shapes import granularity_of
from ...spec.formats import FLOAT32, Format
from ...spec.memo import CACHED
from ...spec.operator_versions import cast_rules

__all__ = ["divide", "multiply"]

Array = np.ndarray[Any, Any]


@lru_cache(maxsize=CACHED)
def _plan(rule: Rule, source: Format, target: Format) -> Plan:
    """Return the plan of a quantization or a dequantization that has floats at both ends."""
    last = make_plan(FLOAT32, target, cast_rules(FLOAT32, target))
    return Plan(rule, source, target, scaling=Scaling(FLOAT32, None, last))


def _run(rule: Rule, x: Array, fmt: Format, factors: Array, target: Format, width: int) -> Array:
    granularity = granularity_of(x.shape, factors.shape, 1, width, blocks=True, axes=True)
    scales = Scales(factors, FLOAT32, None, granularity)
    return np.asarray(run(Job(x, _plan(rule, fmt, target), scales, codes=True)))


def multiply(x: Array, fmt: Format, factors: Array, target: Format, width: int = 0) -> Array:
    """Return codes of the products, which are rounded to float32 and then cast to a format.

    Parameters
    ----------
    x : numpy.ndarray
        Rows of unsigned codes of `fmt`, dense.
    fmt, target : Format
        Floats of up to 32 bits: the formats before and after.
    factors : numpy.ndarray
        float32: one for all, or a row to each row and a column to every `width` columns.
    width : int, optional
        How many columns share a factor.
    """
    return _run(Rule.DEQUANTIZE, x, fmt, factors, target, width)


def divide(x: Array, fmt: Format, divisor: np.float32, target: Format) -> Array:
    """Return codes of the quotients by a number, which are rounded to float32 and then cast to a format."""
    return _run(Rule.QUANTIZE, x, fmt, np.asarray(divisor), target, 0)
