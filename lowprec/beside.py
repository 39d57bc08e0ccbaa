"""The scale and the zero point at the door: arrays of the caller's library, or Python numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import beside, carrier, format_of, handed_over, namespace, native
from .dispatch import convert
from .formats import FORMATS, Format, as_format
from .opsets import cast_rules
from .plan import make_plan

__all__ = ["check_shape", "check_zero", "scale_of", "zero_point_of"]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic))


def _code_of(value: float, fmt: Format, parameter: str) -> np.ndarray[Any, Any]:
    """Return the code of a Python number, 0-d, rounded to the format where that is a float."""
    if fmt.is_integer and not (fmt.min <= value <= fmt.max and int(value) == value):
        raise ValueError(f"`{parameter}` must be an integer from {fmt.min} to {fmt.max} for {fmt.name}; got {value!r}")
    if abs(value) > FORMATS["float64"].max and abs(value) != math.inf:
        raise ValueError(f"`{parameter}` must be a number that float64 holds; got {value!r}")
    held = FORMATS["int64" if fmt.is_integer else "float64"]
    found: np.ndarray[Any, Any] = convert(
        np.asarray(value, held.dtype), make_plan(held, fmt, cast_rules(held, fmt)), codes=True
    )
    return found


def scale_of(scale: Any, x: Any, source: Format, scale_format: object) -> tuple[Any, Format]:
    """Return the scale as an array beside `x`, and its format; a Python number takes the type of a float `x`."""
    if _is_number(scale):
        is_wide = source.is_float and source.bits >= 16
        fmt = source if is_wide else FORMATS["float32"]
        if scale_format is not None:
            fmt = as_format(scale_format, parameter="scale_format")
        return handed_over(_code_of(scale, fmt, "scale"), fmt, x), fmt
    scale = beside(scale, x, "scale")
    return scale, format_of(scale.dtype, scale_format, ("scale", "scale_format"))


def zero_point_of(zero_point: Any, x: Any, wanted: object, shape: tuple[int, ...]) -> tuple[Any, Format]:
    """Return the zero point as an array beside `x`, and its format.

    `wanted` is the format it must have, None where its own dtype decides. A Python number is taken for all scales.
    """
    if _is_number(zero_point):
        fmt = FORMATS["uint8"] if wanted is None else as_format(wanted, parameter="output_dtype")
        code = _code_of(zero_point, fmt, "zero_point")
        return handed_over(np.broadcast_to(code, shape).copy(), fmt, x), fmt
    zero_point = beside(zero_point, x, "zero_point")
    held = format_of(zero_point.dtype, names=("zero_point", "zero_point"))
    if wanted is None:
        return zero_point, held
    fmt = as_format(wanted, parameter="output_dtype")
    xp = namespace(x)
    carried = native(fmt, xp) is None and zero_point.dtype == carrier(fmt, xp)
    if held is not fmt and not carried:
        raise ValueError(f"`zero_point` must be {fmt.name}, the type of the quantized array; got {zero_point.dtype}")
    return zero_point, fmt


def check_shape(zero_point: Any, scale: Any) -> None:
    """Raise ValueError unless the two have one shape, or one element each."""
    if tuple(zero_point.shape) != tuple(scale.shape) and not math.prod(zero_point.shape) == math.prod(scale.shape) == 1:
        raise ValueError(
            f"`zero_point` must have the shape of `scale`, {tuple(scale.shape)}; got {tuple(zero_point.shape)}"
        )


def check_zero(zero_point: Any, fmt: Format) -> None:
    """Raise ValueError unless every zero point is zero."""
    truth = FORMATS["bool"]
    found = convert(zero_point, make_plan(fmt, truth, cast_rules(fmt, truth)))
    if bool(namespace(found).any(found)):
        raise ValueError(f"`zero_point` must be 0 for {fmt.name}; got another value")
