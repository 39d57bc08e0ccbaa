"""From the options at a public function's door to a plan, checked once and remembered."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from numpy import ndarray

from .arrays import format_of, namespace
from .formats import Format, as_format
from .opsets import NEWEST, cast_rules
from .plan import Plan, make_plan

__all__ = ["CAST", "CAST_LIKE", "DECODE", "ENCODE", "PACK", "UNPACK", "settle", "unpacking"]

_Door = tuple[str, str, str, str]
"""The caller's parameters (the array, its format, the target) and the ONNX operator whose rules hold."""

CAST: _Door = ("x", "source", "to", "Cast")
CAST_LIKE: _Door = ("x", "source", "like", "CastLike")
ENCODE: _Door = ("x", "source", "fmt", "Cast")
DECODE: _Door = ("codes", "fmt", "to", "Cast")
PACK: _Door = ("x", "fmt", "fmt", "Cast")
UNPACK: _Door = ("packed", "fmt", "fmt", "Cast")


def _make(
    dtype: Any, source: object, to: object, door: _Door, saturate: bool, round_mode: str | None, opset: int
) -> Plan:
    held = format_of(dtype, source, door[:2])
    target = as_format(to, parameter=door[2])
    return _shared(held, target, cast_rules(held, target, saturate, round_mode, opset, door[1:3], door[3]))


_shared = cache(make_plan)
_cached = lru_cache(maxsize=4096, typed=True)(_make)  # typed: True must not find what 1, the enum of float32, left


def settle(
    x: Any,
    source: object,
    to: object,
    door: _Door,
    saturate: bool = True,
    round_mode: str | None = None,
    opset: int = NEWEST,
) -> Plan:
    """Return the plan of a conversion of `x`, or raise what its door promises."""
    if type(x) is not ndarray:
        namespace(x, door[0])
    try:
        return _cached(x.dtype, source, to, door, saturate, round_mode, opset)
    except TypeError:  # an option that cannot be a key of the cache cannot be right: let the checks name it
        return _make(x.dtype, source, to, door, saturate, round_mode, opset)


def unpacking(source: Format, to: object, door: _Door) -> Plan:
    """Return the plan of a conversion from packed codes, whose dtype says nothing."""
    target = as_format(to, parameter=door[2])
    return _shared(source, target, cast_rules(source, target, names=door[1:3]))
