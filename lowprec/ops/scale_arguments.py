"""Scale and zero point arguments: arrays of the library of `x`, made of Python numbers if need be."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays.libraries import format_of, match_library, to_library
from ..backends.dispatch import dispatch
from ..backends.job import Job
from ..plans.cast import make_plan
from ..spec.arguments import shown
from ..spec.float_mode import default_mode
from ..spec.formats import FLOAT32, FLOAT64, INT64, UINT8, Format, as_format
from ..spec.opsets import cast_rules, unless_undefined

__all__ = ["number_format", "scale_argument", "zero_point_argument"]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic))


def _code_of(value: float, fmt: Format, parameter: str) -> np.ndarray[Any, Any]:
    """Return the code of a Python number, 0-d, rounded to the format where that is a float; for reading only."""
    return (_cached_code if value else _new_code)(value, fmt, parameter)  # 0.0 would be found where -0.0 was left


@default_mode
def _new_code(value: float, fmt: Format, parameter: str) -> np.ndarray[Any, Any]:
    if fmt.is_integer and not (fmt.min <= value <= fmt.max and int(value) == value):
        wanted = f"an integer from {fmt.min} to {fmt.max} for {fmt.name}"
        raise ValueError(f"`{parameter}` must be {wanted}; got {shown(value)}")
    if abs(value) > FLOAT64.max and abs(value) != math.inf:
        raise ValueError(f"`{parameter}` must be a number that float64 holds; got {shown(value)}")
    number = INT64 if fmt.is_integer else FLOAT64
    plan = make_plan(number, fmt, cast_rules(number, fmt))
    code: np.ndarray[Any, Any] = dispatch(Job(np.asarray(value, number.dtype), plan, codes=True))
    return code


_cached_code = lru_cache(maxsize=1024)(_new_code)


def number_format(dtype: Any, source: object, scale_format: object) -> Format:
    """Return the format of a scale that is a Python number, for `x` of that dtype, which holds `source`."""
    if scale_format is not None:
        return as_format(scale_format, parameter="scale_format")
    fmt = format_of(dtype, source)
    return fmt if fmt.is_float and fmt.bits >= 16 else FLOAT32


def scale_argument(scale: Any, x: Any, source: object, scale_format: object) -> tuple[Any, object]:
    """Return the scale as an array of the library of `x`, and what names its format if its dtype does not.

    A Python number takes the type of `x`, which holds `source`, where that is a float of 16 or 32 bits.
    """
    if not _is_number(scale):
        return match_library(scale, x, "scale"), scale_format
    fmt = number_format(x.dtype, source, scale_format)
    return to_library(_code_of(scale, fmt, "scale"), fmt, x), fmt


def zero_point_argument(zero_point: Any, x: Any, wanted: object, shape: tuple[int, ...]) -> Any:
    """Return the zero point as an array of the library of `x`; a Python number serves every scale, in `wanted`."""
    if not _is_number(zero_point):
        return match_library(zero_point, x, "zero_point")
    wanted = unless_undefined(wanted)
    fmt = UINT8 if wanted is None else as_format(wanted, parameter="output_dtype")
    code = _code_of(zero_point, fmt, "zero_point")
    return to_library(np.broadcast_to(code, shape).copy(), fmt, x)
