"""Conversions that draw up the account of what is lost on the way, in one pass over memory."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import _kernels
from ..backends.program import make_program
from ..plans.cast import Plan, make_plan
from ..spec.formats import FLOAT32, Format
from ..spec.interned import CACHED
from ..spec.opsets import CastRules, cast_rules

__all__ = ["convert_compared"]

_BYTE = np.dtype(np.uint8)
_SINGLE = FLOAT32
_Programs = tuple[_kernels.Program | None, _kernels.Program, _kernels.Program]


def _to_single(fmt: Format) -> Plan:
    return make_plan(fmt, _SINGLE, cast_rules(fmt, _SINGLE))


@lru_cache(maxsize=CACHED)
def _programs(source: Format, target: Format, rules: CastRules, packed: bool) -> _Programs:
    """Return what makes float32 of the source, None where it is that; codes of it; and float32 of those."""
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
) -> tuple[Any, ...] | None:
    """Convert codes of a float of up to 32 bits on one thread, and count what float32 sees of the loss.

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
        Dense bytes for the codes, written in any case.

    Returns
    -------
    tuple or None
        What `_kernels.compare` does; None where a value is NaN or Inf.
    """
    return _kernels.run_compared(*_programs(source, target, rules, packed), x.view(_BYTE), out, x.size)
