"""Conversions whose error statistics are counted on the way, in one pass over memory."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import _kernels
from ..backends.program import make_program
from ..plans.cast_plan import Plan, make_plan
from ..spec.formats import FLOAT32, Format
from ..spec.interned import CACHED
from ..spec.opset_rules import CastRules, cast_rules

__all__ = ["convert_compared"]

_BYTE = np.dtype(np.uint8)
_SINGLE = FLOAT32
_Programs = tuple[_kernels.Program | None, _kernels.Program, _kernels.Program]


def _to_single(fmt: Format) -> Plan:
    return make_plan(fmt, _SINGLE, cast_rules(fmt, _SINGLE))


@lru_cache(maxsize=CACHED)
def _programs(source: Format, target: Format, rules: CastRules, packed: bool) -> _Programs:
    """Return the programs source to float32, None where it is that; source to target; and target to float32."""
    load = None if source == _SINGLE else make_program(_to_single(source))
    there = make_program(make_plan(source, target, rules), packed=packed)
    return load, there, make_program(_to_single(target), unpacked=packed)


def convert_compared(
    x: np.ndarray[Any, Any],
    source: Format,
    target: Format,
    rules: CastRules,
    packed: bool,
    out: np.ndarray[Any, Any],
) -> tuple[Any, ...]:
    """Convert codes of a float of up to 32 bits on one thread, decode the result and compare both in float32.

    Parameters
    ----------
    x : numpy.ndarray
        Unsigned codes of `source`, 1-D, dense, in native byte order; one or more.
    source, target : Format
        The rows.
    rules : CastRules
        The options, resolved.
    packed : bool
        Whether `out` is packed.
    out : numpy.ndarray
        Dense bytes for the codes.

    Returns
    -------
    tuple
        As `_kernels.compare` returns it, for `ErrorStats.add_counts`.
    """
    return _kernels.run_compared(*_programs(source, target, rules, packed), x.view(_BYTE), out, x.size)
