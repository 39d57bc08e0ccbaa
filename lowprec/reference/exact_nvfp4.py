"""The exact oracle of NVFP4 blocks: float32 steps as fractions, each rounded once; lowprec's rule and others' rules.

Source: torchao 0.18.0, ``nvfp4_quantize``; ModelOpt, ``NVFP4QTensor``; Transformer Engine, ``core_nvfp4.cuh`` and
``quantize_transpose_nvfp4.cuh``, with the same steps in ``reference_nvfp4.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..spec.arguments import shown
from ..spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT32
from ..spec.option_names import Nvfp4RuleName, RoundingName, SpecialsName
from ..spec.rounding_rules import DEFAULT_RANDOM_BITS, FIRST
from .exact_blocks import Draws, absmax, blocks_of, decoded_blocks, draws_for, filled, scale_shape, values_of
from .exact_cast import encode
from .exact_quantize import product, quotient, rounded
from .exact_values import Value, decode, finite_count, magnitude_of
from .rounding import encode_rounded

__all__ = ["NVFP4_RULES", "global_scale_of", "nvfp4_blocks", "nvfp4_scale", "nvfp4_values"]

Array = np.ndarray[Any, Any]
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
