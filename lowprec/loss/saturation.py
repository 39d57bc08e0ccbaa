"""Which elements of an array saturate: those that round, over their scale, to something beyond a format's range."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.array_words import array_kind
from ..arrays.libraries import namespace
from ..ops.cast import cast
from ..spec.arguments import as_flag
from ..spec.float_mode import default_mode
from ..spec.formats import FLOAT64, Format, as_format
from ..spec.option_names import RoundingName
from ..spec.rounding_rules import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    Rounding,
    RoundingOptions,
    check_rounding,
    check_stream,
)
from .rounded_range import random_numbers_of, reaches_next, rounds_beyond

__all__ = ["saturates"]

Array = np.ndarray[Any, Any]


@default_mode
def saturates(
    x: Array,
    fmt: object,
    scale: Any = 1.0,
    zero_point: Any = 0,
    *,
    precision: object = "float32",
    symmetric: bool = False,
    rounding: RoundingName = "nearest_even",
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
) -> Array:
    """Return which finite elements round, over their scale, to something beyond the range of a format.

    That is so whatever becomes of them there: the largest value, Inf or NaN. Ties go where they would if the range
    went on.

    Parameters
    ----------
    x : numpy.ndarray
        Floats of up to 64 bits.
    fmt : str, int, dtype or Format
        An integer, or a float that has a zero.
    scale : array or number
        Of each element, of a shape that spreads to that of `x`. Where it is NaN, nothing saturates.
    zero_point : array or number
        What is added to the rounded quotient; for integers.
    precision : str, int, dtype or Format, optional
        The float in which the quotient is rounded once, as by `quantize_linear`; float64 divides exactly by powers of
        two.
    symmetric : bool
        For signed integers: the range ends at minus the largest value, as that of MXINT8 does.
    rounding, seed, random_bits, offset
        As in `cast`, for floats and symmetric integers; other integers are rounded to nearest even.

    Returns
    -------
    numpy.ndarray
        Booleans in the shape of `x`.

    Raises
    ------
    TypeError
        If `x` is no NumPy array.
    ValueError
        If `fmt` is no such format, or a parameter is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([6.9, 7.0, -8.0, np.inf])
    >>> saturates(x, "float4_e2m1fn").tolist()  # 6 is the largest value, 8 would be the next
    [False, True, True, False]
    >>> saturates(x, "float4_e2m1fn", rounding="toward_zero").tolist()
    [False, False, True, False]
    >>> saturates(x, "int4", 0.5, 3).tolist()
    [True, True, True, False]
    """
    if namespace(x) is not np:
        raise TypeError(f"`x` must be a NumPy array; got {array_kind(namespace(x))}: pass `lp.to_numpy(x)`")
    row = as_format(fmt)
    if not (row.is_integer or (row.is_float and row.has_zero)):
        raise ValueError(f"`fmt` must be an integer or a float that has a zero; got {row.name}")
    is_symmetric = as_flag(symmetric, "symmetric")
    if is_symmetric and not (row.is_integer and row.signed):
        raise ValueError(f"`symmetric` must be False unless `fmt` is a signed integer; got True for {row.name}")
    values, rounded_to = np.asarray(cast(x, FLOAT64)), as_format(precision, parameter="precision")
    if not rounded_to.is_float:
        raise ValueError(f"`precision` must be a float format; got {rounded_to.name}")
    with np.errstate(all="ignore"):
        quotient = values / np.asarray(scale, np.float64)
    if rounded_to != FLOAT64:
        quotient = np.asarray(cast(cast(quotient, rounded_to), FLOAT64))
    stream = check_stream(rounding, seed, random_bits, offset)
    options = RoundingOptions(rounding, "sat_finite", None, DEFAULT_RANDOM_BITS if stream is None else random_bits)
    rules = check_rounding(options, FLOAT64 if row.is_integer else row, "fmt")
    random = None if stream is None else random_numbers_of(rules, stream, x.size).reshape(x.shape)
    beyond = _beyond(quotient, row, zero_point, rules, random, is_symmetric)
    return np.asarray(beyond & np.isfinite(values))


def _beyond(
    quotient: Array, fmt: Format, zero_point: Any, rules: Rounding, random: Array | None, symmetric: bool
) -> Array:
    if not fmt.is_integer:
        return rounds_beyond(quotient, fmt, rules, random)
    if symmetric:
        return reaches_next(np.abs(quotient), np.signbit(quotient), int(fmt.max), rules, random)
    with np.errstate(invalid="ignore"):
        whole = np.rint(quotient) + zero_point
    return np.asarray((whole < fmt.min) | (whole > fmt.max))
