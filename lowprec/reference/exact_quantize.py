"""The exact oracle of the linear operators: one value at a time, in fractions, with the arithmetic of `reference`.

Every step is the exact result rounded once to the format of that step. A NaN operand keeps its sign, the first one's
where both are NaN; an invalid operation (0 / 0, Inf / Inf, 0 * Inf) gives a NaN without sign. Source: ONNX
QuantizeLinear and DequantizeLinear 10 to 28, DynamicQuantizeLinear 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..spec.formats import FLOAT32, FLOAT64, UINT8, Format, Kind, NaNRule, as_format
from ..spec.operator_versions import NEWEST
from ..spec.scalar_arguments import shortened
from .exact_cast import encode
from .values import Value, decode

__all__ = [
    "dequantize",
    "dynamic_quantize",
    "precision_of",
    "product",
    "quantize",
    "quotient",
    "rounded",
    "scale_index",
]


def precision_of(scale_format: object) -> Format:
    """Return the format of the division where `precision` is not given: the scale's, or one that holds every scale.

    Examples
    --------
    >>> precision_of("float16").name, precision_of("float8_e8m0fnu").name, precision_of("int32").name
    ('float16', 'float32', 'float64')
    """
    row = as_format(scale_format, parameter="scale_format")
    if row.kind is Kind.INT:
        return FLOAT64
    return row if row.has_zero else FLOAT32


def scale_index(
    index: Sequence[int], scale_shape: Sequence[int], axis: int | Sequence[int] = 1, block_size: int | Sequence[int] = 0
) -> tuple[int, ...]:
    """Return the index of the scale that the element at an index of an array has.

    Two axes with two block sizes are tiles; they and block sizes need a scale with the rank of the array.

    Examples
    --------
    >>> scale_index((3, 5), (), 1), scale_index((3, 5), (6,), 1), scale_index((3, 5), (4, 2), 1, 4)
    ((), (5,), (3, 1))
    >>> scale_index((3, 5), (2, 2), (0, 1), (2, 4))
    (1, 1)
    """
    axes, blocks = (list(one) if isinstance(one, Sequence) else [one] for one in (axis, block_size))
    lengths = {number % len(index) if index else 0: block for number, block in zip(axes, blocks, strict=True)}
    if all(lengths.values()):
        return tuple(place // lengths.get(number, 1) for number, place in enumerate(index))
    if all(length == 1 for length in scale_shape):
        return (0,) * len(scale_shape)
    return (index[next(iter(lengths))],)


def _invalid() -> Value:
    return Value(Fraction(0), False, "nan")


def _is_zero(value: Value) -> bool:
    return not value.special and not value.magnitude


def _nan_of(*operands: Value) -> Value | None:
    return next((value for value in operands if value.special == "nan"), None)


def quotient(x: Value, y: Value) -> Value:
    """Return x / y, exact."""
    nan = _nan_of(x, y)
    if nan is not None:
        return nan
    if (x.special and y.special) or (_is_zero(x) and _is_zero(y)):
        return _invalid()
    negative = x.negative != y.negative
    if x.special or _is_zero(y):
        return Value(Fraction(0), negative, "inf")
    return Value(Fraction(0) if y.special else x.magnitude / y.magnitude, negative)


def product(x: Value, y: Value) -> Value:
    """Return x * y, exact."""
    nan = _nan_of(x, y)
    if nan is not None:
        return nan
    if (x.special and _is_zero(y)) or (_is_zero(x) and y.special):
        return _invalid()
    special = x.special or y.special
    return Value(Fraction(0) if special else x.magnitude * y.magnitude, x.negative != y.negative, special)


def _sum(x: Value, y: Value) -> Value:
    nan = _nan_of(x, y)
    if nan is not None:
        return nan
    if x.special and y.special and x.negative != y.negative:
        return _invalid()
    if x.special or y.special:
        return x if x.special else y
    total = x.number + y.number
    return Value(abs(total), total < 0 or (x.negative and y.negative))  # a zero is negative only from two of them


def _minus(value: Value) -> Value:
    return Value(value.magnitude, not value.negative, value.special)


def rounded(value: Value, fmt: Format) -> Value:
    """Return a value rounded once, to nearest even, to a format."""
    return decode(encode(value, fmt), fmt)


def _zero_point(zero_point: object, fmt: Format) -> Value | None:
    """Return the zero point, None where there is none or, as for floats with NaN or Inf, it changes nothing."""
    if zero_point is None:
        return None
    value = Value.of(zero_point, parameter="zero_point")
    if fmt.kind is Kind.FLOAT and (fmt.nan is not NaNRule.NONE or fmt.has_inf):
        if not _is_zero(value):
            raise ValueError(f"`zero_point` must be zero for {fmt.name}; got {shortened(str(value))}")
        return None
    if value.special or decode(encode(value, fmt), fmt).number != value.number:
        raise ValueError(f"`zero_point` must be a value of {fmt.name}; got {shortened(str(value))}")
    return value


def _clamped(value: Value, offset: Value | None, fmt: Format) -> int:
    """Return the code of an integer format: half to even, the zero point, then the range; NaN is the smallest."""
    smallest = -(1 << (fmt.bits - 1)) if fmt.signed else 0
    largest = smallest + (1 << fmt.bits) - 1
    if value.special:
        result = largest if value.special == "inf" and not value.negative else smallest
    else:
        result = round(value.number) + int(offset.number if offset else 0)  # round() of a Fraction: half to even
    return max(smallest, min(largest, result)) % (1 << fmt.bits)


def _check_precision(precision: object, parameter: str) -> Format:
    row = as_format(precision, parameter=parameter)
    if row.kind is not Kind.FLOAT or row.bits < 16:
        raise ValueError(f"`{parameter}` must be a float format of 16 bits or more; got {row.name}")
    return row


def quantize(
    x: object,
    scale: object,
    zero_point: object,
    target: object,
    *,
    precision: object,
    saturate: bool = True,
    opset: int = NEWEST,
) -> int:
    """Return the code that QuantizeLinear gives a value (`x`, `scale` and `zero_point` are anything `Value.of` takes).

    `precision` is the format of the division (see `precision_of`); `zero_point` is a value of the target, or None,
    which adds nothing. Integers: NaN becomes the smallest, ±Inf the ends of the range. Floats: as Cast does.

    Examples
    --------
    >>> quantize(7, 2, 128, "uint8", precision="float32"), quantize("-inf", 2, 3, "int4", precision="float32")
    (132, 8)
    >>> hex(quantize(100000, 2, 0, "float8_e4m3fn", precision="float32"))
    '0x7e'
    """
    fmt, working = as_format(target, parameter="target"), _check_precision(precision, "precision")
    offset = _zero_point(zero_point, fmt)
    operands = (Value.of(x), Value.of(scale, parameter="scale"))
    found = rounded(quotient(*(rounded(value, working) for value in operands)), working)
    if fmt.kind is Kind.INT:
        return _clamped(found, offset, fmt)
    if offset is not None:
        found = rounded(_sum(rounded(found, FLOAT32), offset), FLOAT32)
    return encode(found, fmt, saturate=saturate, opset=opset)


def dequantize(
    code: int, source: object, scale: object, zero_point: object = None, *, output_dtype: object = "float32"
) -> int:
    """Return the code of `output_dtype` that DequantizeLinear gives a code of `source`.

    The difference is exact and rounded to float32, the product too, and that once more to `output_dtype`. NaN stays
    NaN, Inf Inf, and a zero has the sign of the product.

    Examples
    --------
    >>> decode(dequantize(3, "uint8", 2, 128), "float32").number == -250
    True
    >>> hex(dequantize(0x80, "float8_e5m2", 2, output_dtype="float16"))
    '0x8000'
    """
    row, result = as_format(source, parameter="source"), _check_precision(output_dtype, "output_dtype")
    value, offset = decode(code, row), _zero_point(zero_point, row)
    if offset is not None:
        exact = row.kind is Kind.INT  # integers have no -0: their difference is a number
        value = Value.of(value.number - offset.number) if exact else _sum(value, _minus(offset))
    factor = rounded(Value.of(scale, parameter="scale"), FLOAT32)
    return encode(rounded(product(rounded(value, FLOAT32), factor), FLOAT32), result)


def dynamic_quantize(x: Sequence[object]) -> tuple[list[int], Value, int]:
    """Return the codes, the scale and the zero point of DynamicQuantizeLinear, by its function body in float32.

    Every operation is rounded to float32. A NaN in `x`, like a range of zero, makes the zero point 0: Cast's NaN.

    Examples
    --------
    >>> codes, scale, zero_point = dynamic_quantize([0, 255, 127.5])
    >>> codes, str(scale), zero_point
    ([0, 255, 128], '1', 0)
    """
    if not x:
        raise ValueError("`x` must have at least one element; got none")
    values, zero = [rounded(Value.of(value), FLOAT32) for value in x], Value(Fraction(0))

    def order(value: Value) -> float | Fraction:
        return float(value) if value.special else value.number

    nan = _nan_of(*values)
    high = nan or max([zero, *values], key=order)
    low = nan or min([zero, *values], key=order)
    full = rounded(_sum(high, _minus(low)), FLOAT32)
    scale = _invalid() if nan else rounded(quotient(full, Value.of(255)), FLOAT32)
    start = rounded(_sum(zero, _minus(rounded(quotient(low, scale), FLOAT32))), FLOAT32)
    zero_point = _clamped(start, None, UINT8)
    return [quantize(value, scale, zero_point, UINT8, precision=FLOAT32) for value in values], scale, zero_point
