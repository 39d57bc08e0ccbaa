"""The error of a result: how far it is from the number that was rounded, exactly, in three measures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..reference.exact_cast import ulp
from ..reference.exact_values import Value
from ..spec.formats import as_format

__all__ = ["ResultError", "error_of"]


@dataclass(frozen=True, slots=True)
class ResultError:
    """How far a result is from x: exact, None where either is no number; `relative` also where x is 0.

    `ulps` are units in the last place of x in the format (`lowprec.reference.ulp`).
    """

    absolute: Fraction | None = None
    relative: Fraction | None = None
    ulps: Fraction | None = None


def error_of(x: object, result: object, fmt: object) -> ResultError:
    """Return how far the result of a conversion to a format is from the number.

    Parameters
    ----------
    x : number, str or Value
        What was converted.
    result : number, str or Value
        What it became: a value of the format.
    fmt : str, int, dtype or Format
        The format, which says what a unit in the last place of x is.

    Returns
    -------
    ResultError
        ``|result - x|``, that over ``|x|``, and that over the unit in the last place, as fractions.

    Examples
    --------
    >>> from lowprec.teaching import error_of
    >>> error = error_of("0.3", "0.3125", "float8_e4m3fn")
    >>> str(error.absolute), str(error.relative), str(error.ulps)
    ('1/80', '1/24', '2/5')
    """
    row = as_format(fmt, parameter="fmt")
    before, after = Value.of(x, parameter="x"), Value.of(result, parameter="result")
    if before.special or after.special:
        return ResultError()
    absolute = abs(after.number - before.number)
    relative = absolute / before.magnitude if before.magnitude else None
    return ResultError(absolute, relative, absolute / ulp(before, row))
