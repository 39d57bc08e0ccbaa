"""One operation in a format, rounded once, and its error."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..explanation import Explanation, explain
from ..reference.exact_cast import ulp
from ..reference.values import Value
from ..spec.formats import Format, as_format
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, FIRST, NaNName, OverflowName, RoundingName

__all__ = [
    "OPERATIONS",
    "Operation",
    "ResultError",
    "error_of",
    "exact_product",
    "exact_sum",
    "operate",
    "relative_error",
    "rounded_as",
]


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


OPERATIONS = {"add": 2, "subtract": 2, "multiply": 2, "divide": 2, "fused_multiply_add": 3}
"""How many operands each operation has."""

_NAN = Value(Fraction(0), False, "nan")
_INVALID = "the operation is invalid and gives NaN"

Exact = tuple[Value, str]
"""An exact result, and what decided it where that is no number."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation in a format: its exact result, and how that was rounded.

    `note` says why the exact result is Inf or NaN, or where the zero has its sign from; it is empty otherwise.
    `explanation` is that of the rounding, with the neighbours of the exact result.
    """

    name: str
    operands: tuple[Value, ...]
    exact: Value
    note: str
    explanation: Explanation

    @property
    def format(self) -> Format:
        """The format of the result."""
        return self.explanation.format

    @property
    def code(self) -> int:
        """The code of the result."""
        return self.explanation.code

    @property
    def value(self) -> Value:
        """The value of the result."""
        return self.explanation.value

    @property
    def lost(self) -> Fraction | None:
        """The exact result less the rounded one; None where one of them is no number."""
        return None if self.exact.special or self.value.special else self.exact.number - self.value.number


def _zero(negative: bool) -> Value:
    return Value(Fraction(0), negative)


def _with_sign(value: Value, negative: bool) -> Value:
    return Value(value.magnitude, negative, value.special)


def exact_sum(a: Value, b: Value, mode: str) -> Exact:
    """Return the sum of two values; the sign of a zero depends on the rounding."""
    nan = next((value for value in (a, b) if value.special == "nan"), None)
    if nan is not None:
        return nan, "an operand is NaN"
    if a.special and b.special and a.negative != b.negative:
        return _NAN, f"Inf - Inf: {_INVALID}"
    if a.special or b.special:
        return (a if a.special else b), "an operand is Inf"
    number = a.number + b.number
    if number:
        return Value(abs(number), number < 0), ""
    if a.negative == b.negative:
        return _zero(a.negative), ""
    negative = mode == "toward_negative"
    return _zero(negative), f"operands of opposite signs cancel: {'-0 with toward_negative' if negative else '+0'}"


def exact_product(a: Value, b: Value) -> Exact:
    """Return the product of two values."""
    nan = next((value for value in (a, b) if value.special == "nan"), None)
    if nan is not None:
        return nan, "an operand is NaN"
    negative = a.negative != b.negative
    if a.special or b.special:
        if any(not value.special and not value.magnitude for value in (a, b)):
            return _NAN, f"0 × Inf: {_INVALID}"
        return Value(Fraction(0), negative, "inf"), "an operand is Inf"
    return Value(a.magnitude * b.magnitude, negative), ""


def _quotient(a: Value, b: Value) -> Exact:
    nan = next((value for value in (a, b) if value.special == "nan"), None)
    if nan is not None:
        return nan, "an operand is NaN"
    negative = a.negative != b.negative
    if a.special and b.special:
        return _NAN, f"Inf / Inf: {_INVALID}"
    if a.special:
        return Value(Fraction(0), negative, "inf"), "the dividend is Inf"
    if b.special:
        return _zero(negative), "the divisor is Inf"
    if not b.magnitude:
        if not a.magnitude:
            return _NAN, f"0 / 0: {_INVALID}"
        return Value(Fraction(0), negative, "inf"), "division by zero gives Inf"
    return Value(a.magnitude / b.magnitude, negative), ""


def _exact(name: str, values: tuple[Value, ...], mode: str) -> Exact:
    if name == "add":
        return exact_sum(values[0], values[1], mode)
    if name == "subtract":
        a, b = values
        return exact_sum(a, b if b.special == "nan" else _with_sign(b, not b.negative), mode)
    if name == "multiply":
        return exact_product(values[0], values[1])
    if name == "divide":
        return _quotient(values[0], values[1])
    product, why = exact_product(values[0], values[1])
    if product.special == "nan":
        return product, why
    return exact_sum(product, values[2], mode)


def rounded_as(exact: Value, fmt: Format) -> Value:
    """Return what stands for an exact result where it is rounded: zero for a negative one, if the format has no zero.

    Conversions to such a format ignore signs; a difference below zero is below its range, not a power of two.
    """
    is_below = exact.negative and not fmt.has_zero and exact.special != "nan"
    return _zero(False) if is_below else exact


def operate(
    name: str,
    operands: object,
    fmt: object,
    /,
    *,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
) -> Operation:
    """Return an operation on exact values, rounded once to a float format.

    Parameters
    ----------
    name : str
        ``"add"``, ``"subtract"``, ``"multiply"``, ``"divide"``, or ``"fused_multiply_add"``: a × b + c.
    operands : sequence
        Two, or three, of what `Value.of` takes: numbers, or their texts. They need not be values of the format;
        `lowprec.reference.decode` gives the value of a code.
    fmt : str, int, dtype or Format
        A float format, that of the result.
    rounding, overflow, nan, seed, random_bits, offset
        As in `lowprec.cast`; without `rounding` to the nearest, ties to even.

    Returns
    -------
    Operation
        The exact result, and the explanation of its rounding with code and value.

    Raises
    ------
    ValueError
        If an operand is no number, their count is wrong, `fmt` is no float, or a parameter is out of its range.

    Notes
    -----
    Special values are those of IEEE 754: a NaN operand gives NaN; Inf - Inf, 0 × Inf, 0 / 0 and Inf / Inf are invalid
    and give NaN; x / 0 is Inf. A sum of opposite numbers is +0, with ``"toward_negative"`` -0; a product or quotient
    that is zero has the sign of its operands. The exact result is then rounded as a conversion would: Inf, and what
    rounds beyond the largest value, follow `overflow`, NaN follows `nan`. A format without Inf has NaN or its largest
    value in that place; one without NaN has a zero in the place of NaN. Below the range of a format without sign are
    all negative results: zero, or NaN with ``"ovf_inf"``; a format without zero has its smallest value instead.

    Source: IEEE 754-2019, 6.1 to 6.3, 7.2 and 7.3; the rounding rules are those of IEEE P3109 4.0.

    Examples
    --------
    >>> sum_ = operate("add", (256, 1), "bfloat16")
    >>> str(sum_.exact), str(sum_.value), sum_.explanation.rule
    ('257', '256', 'tie: the lower neighbour is even')
    >>> str(operate("add", (240, 240), "float8_e4m3fn").value), operate("divide", (0, 0), "float16").note
    ('448', '0 / 0: the operation is invalid and gives NaN')
    >>> str(operate("fused_multiply_add", ("1.5", "1.5", -2), "float4_e2m1fn").exact)
    '0.25'
    """
    row = as_format(fmt)
    if name not in OPERATIONS:
        raise ValueError(f"`name` must be one of {', '.join(OPERATIONS)}; got {name!r:.60}")
    values = tuple(Value.of(value, parameter="operands") for value in operands)  # type: ignore[attr-defined]
    if len(values) != OPERATIONS[name]:
        raise ValueError(f"`operands` must be {OPERATIONS[name]} numbers for {name}; got {len(values)}")
    if not row.is_float:
        raise ValueError(f"`fmt` must be a float format; got {row.name}")
    mode = "nearest_even" if rounding is None else rounding
    exact, note = _exact(name, values, mode)
    explanation = explain(
        rounded_as(exact, row),
        row,
        rounding=mode,
        overflow=overflow,
        nan=nan,
        seed=seed,
        random_bits=random_bits,
        offset=offset,
    )
    return Operation(name, values, exact, note, explanation)


def relative_error(value: object, exact: object) -> Fraction | None:
    """Return ``|value - exact| / |exact|``; None where one of them is no number, or `exact` is 0.

    Examples
    --------
    >>> relative_error("0.28125", "0.3")
    Fraction(1, 16)
    """
    found, wanted = Value.of(value, parameter="value"), Value.of(exact, parameter="exact")
    if found.special or wanted.special or not wanted.magnitude:
        return None
    return abs(found.number - wanted.number) / wanted.magnitude
