"""The scale and the zero point at the door: arrays beside `x`, made of Python numbers if need be."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays.libraries import beside, format_of, handed_over, namespace
from ..backends.dispatch import convert
from ..plans.cast import Plan, make_plan
from ..spec.arguments import shown
from ..spec.float_mode import default_mode
from ..spec.formats import FORMATS, Format, as_format
from ..spec.interned import CACHED
from ..spec.opsets import cast_rules, unless_undefined

__all__ = ["check_zero", "number_format", "scale_beside", "zero_point_beside"]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic))


def _code_of(value: float, fmt: Format, parameter: str) -> np.ndarray[Any, Any]:
    """Return the code of a Python number, 0-d, rounded to the format where that is a float; for reading only."""
    return (_remembered if value else _made)(value, fmt, parameter)  # 0.0 would be found where -0.0 was left


@default_mode
def _made(value: float, fmt: Format, parameter: str) -> np.ndarray[Any, Any]:
    if fmt.is_integer and not (fmt.min <= value <= fmt.max and int(value) == value):
        wanted = f"an integer from {fmt.min} to {fmt.max} for {fmt.name}"
        raise ValueError(f"`{parameter}` must be {wanted}; got {shown(value)}")
    if abs(value) > FORMATS["float64"].max and abs(value) != math.inf:
        raise ValueError(f"`{parameter}` must be a number that float64 holds; got {shown(value)}")
    held = FORMATS["int64" if fmt.is_integer else "float64"]
    found: np.ndarray[Any, Any] = convert(
        np.asarray(value, held.dtype), make_plan(held, fmt, cast_rules(held, fmt)), codes=True
    )
    return found


_remembered = lru_cache(maxsize=1024)(_made)


def number_format(dtype: Any, source: object, scale_format: object) -> Format:
    """Return the format of a scale that is a Python number, for `x` of that dtype, which holds `source`."""
    if scale_format is not None:
        return as_format(scale_format, parameter="scale_format")
    held = format_of(dtype, source)
    return held if held.is_float and held.bits >= 16 else FORMATS["float32"]


def scale_beside(scale: Any, x: Any, source: object, scale_format: object) -> tuple[Any, object]:
    """Return the scale as an array beside `x`, and what names its format if its dtype does not.

    A Python number takes the type of `x`, which holds `source`, where that is a float of 16 or 32 bits.
    """
    if not _is_number(scale):
        return beside(scale, x, "scale"), scale_format
    fmt = number_format(x.dtype, source, scale_format)
    return handed_over(_code_of(scale, fmt, "scale"), fmt, x), fmt


def zero_point_beside(zero_point: Any, x: Any, wanted: object, shape: tuple[int, ...]) -> Any:
    """Return the zero point as an array beside `x`; of a Python number one for every scale, of the `wanted` format."""
    if not _is_number(zero_point):
        return beside(zero_point, x, "zero_point")
    wanted = unless_undefined(wanted)
    fmt = FORMATS["uint8"] if wanted is None else as_format(wanted, parameter="output_dtype")
    code = _code_of(zero_point, fmt, "zero_point")
    return handed_over(np.broadcast_to(code, shape).copy(), fmt, x)


@lru_cache(maxsize=CACHED)
def _truth_plan(fmt: Format) -> Plan:
    truth = FORMATS["bool"]
    return make_plan(fmt, truth, cast_rules(fmt, truth))


def check_zero(zero_point: Any, fmt: Format) -> None:
    """Raise ValueError unless every zero point is zero."""
    found = convert(zero_point, _truth_plan(fmt))
    if bool(namespace(found).any(found)):
        raise ValueError(f"`zero_point` must be 0 for {fmt.name}; got another value")
