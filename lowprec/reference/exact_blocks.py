"""The oracle of MX and NVFP4 blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, FLOAT32, INT8, Format, as_format
from ..spec.rounding_modes import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    Rounding,
    RoundingName,
    RoundingOptions,
    check_rounding,
    check_stream,
)
from ..spec.scalar_arguments import shown
from ..spec.scale_rules import Nvfp4RuleName, ScaleRuleName, SpecialsName
from .exact_cast import Place, encode, encode_rounded, goes_away
from .exact_quantize import product, quotient, rounded
from .philox import random_words
from .values import Value, decode, finite_count, magnitude_of

__all__ = [
    "MXINT8_LARGEST",
    "floor_log2",
    "mx_blocks",
    "mx_exponent",
    "mx_values",
    "nvfp4_blocks",
    "nvfp4_scale",
    "nvfp4_values",
    "rounded_to_bits",
]


Array = np.ndarray[Any, Any]
_HALF = Fraction(1, 2)
_UNIT = 64
"""MXINT8: the element is its integer over this."""

MXINT8_LARGEST = Fraction(127, _UNIT)
"""The largest element of MXINT8."""


# ---- blocks of an array


def blocks_of(shape: tuple[int, ...], axis: int, size: int) -> Iterator[tuple[int, list[int]]]:
    """Return every block: its place among the scales and the places of its elements, both in C order."""
    rows = np.moveaxis(np.arange(int(np.prod(shape))).reshape(shape), axis, -1)
    counts = scale_shape(shape, axis, size)
    places = np.moveaxis(np.arange(int(np.prod(counts))).reshape(counts), axis, -1)
    for index in np.ndindex(rows.shape[:-1]):
        for block in range(places.shape[-1]):
            yield int(places[index][block]), rows[index][block * size : (block + 1) * size].tolist()


def scale_shape(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    """Return the shape of an array with the axis divided by the block size and rounded up."""
    lengths = list(shape)
    lengths[axis] = -(-lengths[axis] // size)
    return tuple(lengths)


class Draws(NamedTuple):
    """A rounding and the random numbers of all elements in C order, None where it takes none."""

    rounding: Rounding
    words: Array | None

    def number(self, place: int) -> int | None:
        """Return the random number of an element."""
        return None if self.words is None else int(self.words[place])


def draws_for(count: int, fmt: Format, rounding: str, seed: int | None, random_bits: int, offset: int) -> Draws:
    """Return the rounding to a format of elements, what is beyond its range becoming the largest value; or raise."""
    stream = check_stream(rounding, seed, random_bits, offset)
    bits = DEFAULT_RANDOM_BITS if stream is None else random_bits
    rules = check_rounding(RoundingOptions(rounding, "sat_finite", None, bits), fmt, "element")
    return Draws(rules, None if stream is None else random_words(*stream, count, rules.random_bits))


def values_of(x: Array) -> list[Value]:
    """Return the exact values of an array of floats of up to 64 bits, in C order."""
    array = np.asarray(x)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return [Value.of(value) for value in array.astype(np.float64).reshape(-1).tolist()]


def absmax(values: list[Value]) -> Fraction:
    """Return the largest finite magnitude, 0 where there is none."""
    return max((value.magnitude for value in values if not value.special), default=Fraction(0))


def filled(codes: dict[int, int], shape: tuple[int, ...], fmt: Format) -> Array:
    """Return codes by their places in C order as an array of unsigned integers."""
    found = [codes[place] for place in range(int(np.prod(shape)))]
    return np.array(found, fmt.code_dtype).reshape(shape)


# ---- scales


def floor_log2(number: Fraction) -> int:
    """Return the exponent of the largest power of two up to a positive number."""
    top, bottom = number.as_integer_ratio()
    exponent = top.bit_length() - bottom.bit_length()
    return exponent if number >= Fraction(2) ** exponent else exponent - 1


def _ceil_log2(number: Fraction) -> int:
    exponent = floor_log2(number)
    return exponent if number == Fraction(2) ** exponent else exponent + 1


def rounded_to_bits(number: Fraction, bits: int) -> Fraction:
    """Return a positive number rounded to so many bits after the first one, ties away from zero."""
    unit = Fraction(2) ** (floor_log2(number) - bits)
    return (number / unit + _HALF) // 1 * unit


def mx_exponent(largest: Fraction, element: object, scale_rule: ScaleRuleName) -> int:
    """Return E of the scale 2**E of a block by its largest magnitude, above 0; without the ends of the scale's range.

    Examples
    --------
    >>> rules = ("floor", "ceil", "rceil", "even", "nearest")
    >>> [mx_exponent(Fraction(7), "float4_e2m1fn", rule) for rule in rules]
    [0, 1, 1, 1, 1]
    """
    fmt = as_format(element, parameter="element")
    end, mantissa_bits = (MXINT8_LARGEST, 6) if fmt == INT8 else (_largest(fmt), fmt.mantissa_bits)
    emax, exponent = floor_log2(end), floor_log2(largest)
    if scale_rule == "floor":
        return exponent - emax
    if scale_rule == "ceil":
        return _ceil_log2(largest) - emax
    if scale_rule == "rceil":
        return _ceil_log2(largest / end)
    if scale_rule == "even":  # rounded to the mantissa bits of the element, ties away from zero
        return floor_log2(rounded_to_bits(largest, mantissa_bits)) - emax
    if scale_rule == "nearest":  # of the logarithm: up from the square root of 2 on
        return exponent + (largest**2 >= 2 * Fraction(4) ** exponent) - emax
    raise ValueError(f"`scale_rule` must be one of floor, ceil, rceil, even, nearest; got {shown(scale_rule)}")


def _largest(fmt: Format) -> Fraction:
    return magnitude_of(finite_count(fmt) - 1, fmt)


# ---- quantization


def _integer_code(value: Value, rounding: Rounding, random: int | None) -> int:
    """Return the code of MXINT8 for a value over its scale: two's complement of at most 127 units."""
    if value.special == "nan":
        return 0
    magnitude = 127
    if not value.special:
        units = value.magnitude * _UNIT
        whole = units // 1
        away, _ = goes_away(Place(whole, units - whole), value.negative, rounding, random)
        magnitude = min(whole + away, 127)
    return (-magnitude if value.negative else magnitude) % 256


def mx_blocks(
    x: Array,
    element: object = FLOAT4_E2M1FN,
    *,
    axis: int = -1,
    block_size: int = 32,
    scale_rule: ScaleRuleName = "floor",
    rounding: RoundingName = "nearest_even",
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
    specials: SpecialsName = "nan",
) -> tuple[Array, Array]:
    """Return the codes of the elements and of the scales of MX blocks, in unsigned integers.

    The scale is 2**E in float8_e8m0fnu with E from -127 to 127, code 00 where all are zeros. Elements are x / 2**E,
    rounded once; beyond the largest value they are that value. `element` is a float with a zero, or int8, whose value
    is the integer over 64. A block with NaN or Inf has the scale FF and elements +0; with ``specials="ignore"`` they
    count as 0 for the scale, NaN is what encode_rounded makes of it (0 of int8), Inf the largest value.

    Examples
    --------
    >>> elements, scales = mx_blocks(np.array([0.3, -1, 5, 13, 0, 100, np.nan]), block_size=4)
    >>> [hex(code) for code in elements.tolist()], [hex(code) for code in scales.tolist()]
    (['0x0', '0x9', '0x4', '0x7', '0x0', '0x0', '0x0'], ['0x80', '0xff'])
    """
    fmt, x = as_format(element, parameter="element"), np.asarray(x)
    values = values_of(x)
    draws = draws_for(len(values), FLOAT32 if fmt == INT8 else fmt, rounding, seed, random_bits, offset)
    elements, scales = {}, {}
    for place, members in blocks_of(x.shape, axis, block_size):
        block = [values[member] for member in members]
        if specials == "nan" and any(value.special for value in block):
            scales[place] = 0xFF
            elements.update(dict.fromkeys(members, 0))
            continue
        largest = absmax(block)
        exponent = max(-127, min(127, mx_exponent(largest, fmt, scale_rule))) if largest else -127
        scales[place] = exponent + 127
        for member, value in zip(members, block, strict=True):
            scaled = Value(value.magnitude / Fraction(2) ** exponent, value.negative, value.special)
            if fmt == INT8:
                elements[member] = _integer_code(scaled, draws.rounding, draws.number(member))
            else:
                elements[member] = encode_rounded(scaled, fmt, draws.rounding, draws.number(member))
    shapes = x.shape, scale_shape(x.shape, axis, block_size)
    return filled(elements, shapes[0], fmt), filled(scales, shapes[1], FLOAT8_E8M0FNU)


# ---- dequantization


def decoded_blocks(
    elements: Array, factors: list[Value], place: tuple[int, int], fmt: Format, output_dtype: object
) -> Array:
    """Return the codes of elements times the factor of their block: rounded to float32, then to `output_dtype`.

    `place` is the axis and the block size.
    """
    codes, target = np.asarray(elements), as_format(output_dtype, parameter="output_dtype")
    flat, found = codes.reshape(-1).tolist(), {}
    for block, members in blocks_of(codes.shape, *place):
        for member in members:
            value = decode(flat[member], fmt)
            if fmt == INT8:
                value = Value(value.magnitude / _UNIT, value.negative)
            exact = rounded(product(value, factors[block]), FLOAT32)
            found[member] = encode_rounded(exact, target, Rounding("nearest_even", "ovf_inf", "signed"))
    return filled(found, codes.shape, target)


def mx_values(
    elements: Array,
    scales: Array,
    element: object = FLOAT4_E2M1FN,
    *,
    axis: int = -1,
    block_size: int = 32,
    output_dtype: object = "float32",
) -> Array:
    """Return the codes of `output_dtype` that elements and scales of MX blocks stand for; a scale FF makes all NaN.

    Examples
    --------
    >>> codes = mx_values(np.array([1, 0x9, 7]), np.array([0x80, 0xFF]), block_size=2)
    >>> codes.view(np.float32).tolist()
    [1.0, -1.0, nan]
    """
    factors = [decode(code, FLOAT8_E8M0FNU) for code in np.asarray(scales).reshape(-1).tolist()]
    return decoded_blocks(elements, factors, (axis, block_size), as_format(element), output_dtype)


_TENSOR_LARGEST = Value.of(6 * 448)
_LARGEST = Value(magnitude_of(finite_count(FLOAT32) - 1, FLOAT32))
_LEAST = Value(magnitude_of(1, FLOAT32))
_NAN_SCALE = 0x7F


def _over(x: Value, y: Value) -> Value:
    return rounded(quotient(x, y), FLOAT32)


def _times(x: Value, y: Value) -> Value:
    return rounded(product(x, y), FLOAT32)


def _least(x: Value, y: Value) -> Value:
    return x if not x.special and x.number < y.number else y


def _scale_code(scale: Value, low: Fraction = Fraction(0)) -> int:
    """Return the code of a scale in float8_e4m3fn, kept between `low` and 448."""
    number = Fraction(448) if scale.special == "inf" else max(low, min(scale.magnitude, Fraction(448)))
    return encode(number, FLOAT8_E4M3FN)


class Factors(NamedTuple):
    """What a rule makes of a tensor: its global scale g, and that scale's inverse where the rule starts from that."""

    scale: Value
    inverse: Value


Scaled = tuple[int, Callable[[Value], Value]]
"""The code of a block's scale, and what an element is before it is rounded to float4_e2m1fn."""


def _divided(x: Value, by: Value) -> Value:
    """Return x / by in float32; a zero with the sign of x where that is 0."""
    return Value(Fraction(0), x.negative) if not (by.magnitude or by.special) else _over(x, by)


def _own(largest: Value, factors: Factors) -> Scaled:
    code = _scale_code(_over(_over(largest, Value.of(6)), factors.scale))
    code = max(code, 1) if largest.magnitude else 0
    step = _times(factors.scale, decode(code, FLOAT8_E4M3FN))
    return code, lambda x: _divided(x, step)


def _torchao(largest: Value, factors: Factors) -> Scaled:
    code = _scale_code(_over(_over(largest, Value.of(6)), factors.scale), Fraction(1, 2**6))
    inverse = _over(_over(Value.of(1), factors.scale), decode(code, FLOAT8_E4M3FN))
    return code, lambda x: _times(x, inverse)


def _modelopt(largest: Value, factors: Factors) -> Scaled:
    scale = _over(largest, _times(Value.of(6), factors.scale))
    is_zero = not (scale.magnitude or scale.special)
    code = _scale_code(Value.of(1) if is_zero else scale, Fraction(1, 2**9))
    step = _times(decode(code, FLOAT8_E4M3FN), factors.scale)

    def scaled(x: Value) -> Value:
        found = _divided(x, step)  # whose sign is that of a comparison with 0
        return Value(Fraction(0)) if not (found.magnitude or found.special) else found

    return code, scaled


def _transformer_engine(largest: Value, factors: Factors) -> Scaled:
    sixth = _over(Value.of(1), Value.of(6))
    code = _scale_code(_least(_times(largest, _times(factors.inverse, sixth)), _LARGEST))
    step = _times(decode(code, FLOAT8_E4M3FN), _over(Value.of(1), factors.inverse))
    inverse = _least(_over(Value.of(1), step), _LARGEST)
    return code, lambda x: _times(x, inverse)


_RULES = {None: _own, "torchao": _torchao, "modelopt": _modelopt, "transformer_engine": _transformer_engine}
NVFP4_RULES = tuple(name for name in _RULES if name is not None)
"""Whose bits the oracle has beside lowprec's own."""


def nvfp4_scale(largest: Value, global_scale: Value) -> int:
    """Return the code of the scale of a block by lowprec's own rule; both are float32.

    Examples
    --------
    >>> str(decode(nvfp4_scale(Value.of(3), Value.of(0.25)), FLOAT8_E4M3FN))
    '2'
    """
    code, _ = _own(largest, Factors(global_scale, Value.of(1)))
    return code


def global_scale_of(largest: Fraction) -> Value:
    """Return the global scale of a tensor by its largest finite magnitude: that over 2688, 1 where it is 0.

    Examples
    --------
    >>> str(global_scale_of(Fraction(672))), str(global_scale_of(Fraction(0)))
    ('0.25', '1')
    """
    if not largest:
        return Value.of(1)
    found = _over(Value(largest), _TENSOR_LARGEST)
    return found if found.magnitude else _LEAST


def _factors(largest: Fraction, global_scale: object) -> Factors:
    """Return both factors; Transformer Engine starts from the inverse, 2688 over the largest magnitude."""
    if global_scale is not None:
        scale = rounded(Value.of(global_scale), FLOAT32)
        return Factors(scale, _least(_over(Value.of(1), scale), _LARGEST))
    inverse = _least(_over(_TENSOR_LARGEST, Value(largest)), _LARGEST) if largest else Value.of(1)
    return Factors(global_scale_of(largest), inverse)


def nvfp4_blocks(
    x: Array,
    *,
    axis: int = -1,
    block_size: int = 16,
    global_scale: object = None,
    scale_rule: Nvfp4RuleName | None = None,
    rounding: RoundingName = "nearest_even",
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
    specials: SpecialsName = "nan",
) -> tuple[Array, Array, float]:
    """Return the codes of float4_e2m1fn elements, of float8_e4m3fn scales, and the global scale.

    x is rounded to float32 first. A block with NaN or Inf has the scale 7F and elements +0; with ``specials="ignore"``
    they count as 0 for the scales, NaN is what encode_rounded makes of it, Inf the largest value. Zeros keep their
    sign, except by the rule of ModelOpt. Where others compute 0 * Inf, or divide by 0, an element is a zero with the
    sign of x. With Transformer Engine's rule the global scale is the inverse of its own.

    Examples
    --------
    >>> x = np.array([0.5, -1, 3, 0.25, 96, 0, -24, 48])
    >>> elements, scales, scale = nvfp4_blocks(x, block_size=4, global_scale=0.25)
    >>> [hex(code) for code in elements.tolist()], [hex(code) for code in scales.tolist()], scale
    (['0x2', '0xc', '0x7', '0x1', '0x7', '0x0', '0xb', '0x5'], ['0x40', '0x68'], 0.25)
    """
    if scale_rule not in _RULES:
        raise ValueError(f"`scale_rule` must be one of {', '.join(NVFP4_RULES)} or None; got {shown(scale_rule)}")
    x = np.asarray(x)
    values = [rounded(value, FLOAT32) for value in values_of(x)]
    draws = draws_for(len(values), FLOAT4_E2M1FN, rounding, seed, random_bits, offset)
    factors = _factors(absmax(values), global_scale)
    elements, scales = {}, {}
    for place, members in blocks_of(x.shape, axis, block_size):
        block = [values[member] for member in members]
        if specials == "nan" and any(value.special for value in block):
            scales[place] = _NAN_SCALE
            elements.update(dict.fromkeys(members, 0))
            continue
        scales[place], scaled = _RULES[scale_rule](Value(absmax(block)), factors)
        for member, value in zip(members, block, strict=True):
            elements[member] = _element(value, scaled, draws, member)
    returned = _over(Value.of(1), factors.inverse) if scale_rule == "transformer_engine" else factors.scale
    shapes = x.shape, scale_shape(x.shape, axis, block_size)
    return filled(elements, shapes[0], FLOAT4_E2M1FN), filled(scales, shapes[1], FLOAT8_E4M3FN), float(returned)


def _element(value: Value, scaled: Callable[[Value], Value], draws: Draws, place: int) -> int:
    found = value if value.special else scaled(value)
    if found.special == "nan" and not value.special:
        found = Value(Fraction(0), value.negative)
    return encode_rounded(found, FLOAT4_E2M1FN, draws.rounding, draws.number(place))


def nvfp4_values(
    elements: Array,
    scales: Array,
    global_scale: object,
    *,
    axis: int = -1,
    block_size: int = 16,
    output_dtype: object = "float32",
) -> Array:
    """Return the codes of `output_dtype` for elements times float32(scale * global scale); a NaN scale makes all NaN.

    Examples
    --------
    >>> codes = nvfp4_values(np.array([1, 0xF, 3, 5]), np.array([0x38, 0x40]), 0.5, block_size=2)
    >>> codes.view(np.float32).tolist()
    [0.25, -3.0, 1.5, 3.0]
    """
    factor = rounded(Value.of(global_scale), FLOAT32)
    steps = [_times(decode(code, FLOAT8_E4M3FN), factor) for code in np.asarray(scales).reshape(-1).tolist()]
    return decoded_blocks(elements, steps, (axis, block_size), FLOAT4_E2M1FN, output_dtype)
