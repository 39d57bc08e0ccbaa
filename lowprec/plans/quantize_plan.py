"""The plan of a quantization: types, precision and rules at an opset -> Plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

from ..spec.formats import FLOAT32, FLOAT64, INT32, ONNX_NUMERIC, UINT8, Format, NaNRule, as_format
from ..spec.opset_rules import (
    NEWEST,
    VERSIONS,
    CastRules,
    check_alone,
    check_attribute,
    check_opset,
    check_saturate,
    first_opset,
    version_of,
)
from ..spec.rounding_rules import RoundingOptions, check_rounding
from .cast_plan import Plan, Rule, Scaling, check_convertible, make_plan

__all__ = [
    "DEQUANTIZE", "QUANTIZE", "QuantizeOptions", "dequantize_plan", "quantize_plan", "scale_plans", "takes_codes",
    "takes_type",
]  # fmt: skip

QUANTIZE = "QuantizeLinear"
DEQUANTIZE = "DequantizeLinear"


class QuantizeOptions(NamedTuple):
    """The options of a QuantizeLinear or a DequantizeLinear, as the caller spelled them."""

    axis: object = 1
    block_size: object = 0
    output_dtype: object = None
    precision: object = None
    saturate: object = True
    packed: bool = False
    opset: int = NEWEST
    source: object = None
    scale_format: object = None
    rounding: RoundingOptions | None = None
    float64_x: bool = False


# ---- types by operator and parameter: the first version that takes a format, None if no version does


def _code_since(fmt: Format) -> int | None:
    if fmt.is_integer and fmt.bits <= 16:
        return max(first_opset(fmt), 21 if fmt.bits == 16 else 10)
    is_narrow = fmt.bits <= 8 or fmt.since is None  # formats that ONNX lacks may have up to 16 bits
    return first_opset(fmt) if fmt.is_float and is_narrow and fmt.has_zero else None


def takes_codes(fmt: Format) -> bool:
    """Whether quantized arrays may have a format."""
    return _code_since(fmt) is not None


def _wide_since(fmt: Format) -> int | None:
    """int32, and the floats of 16 and 32 bits."""
    if fmt.is_float and fmt.bits in (16, 32):
        return 10 if fmt.bits == 32 else 19
    return _int32_since(fmt)


def _int32_since(fmt: Format) -> int | None:
    return 10 if fmt.is_integer and fmt.signed and fmt.bits == 32 else None


def _scale_since(fmt: Format) -> int | None:
    return first_opset(fmt) if fmt.is_float and not fmt.has_zero else _wide_since(fmt)


_Since = Callable[[Format], int | None]
_TYPES: Mapping[tuple[str, str], _Since] = {
    (QUANTIZE, "x"): _wide_since,
    (QUANTIZE, "scale"): lambda fmt: 19 if _int32_since(fmt) else _scale_since(fmt),
    (QUANTIZE, "output_dtype"): _code_since,
    (QUANTIZE, "precision"): lambda fmt: 23 if fmt.is_float and fmt.bits >= 16 else None,
    (DEQUANTIZE, "x"): lambda fmt: _code_since(fmt) or _int32_since(fmt),
    (DEQUANTIZE, "scale"): lambda fmt: None if _int32_since(fmt) else _scale_since(fmt),
    (DEQUANTIZE, "output_dtype"): lambda fmt: 23 if fmt.is_float and fmt.bits in (16, 32) else None,
}


def takes_type(operator: str, parameter: str, fmt: Format) -> bool:
    """Whether the newest version of an operator takes a format for a parameter, one of those in `_TYPES`."""
    return _TYPES[operator, parameter](fmt) is not None


def _check(fmt: Format, opset: int, operator: str, parameter: str, name: str | None = None) -> None:
    """Raise ValueError unless the operator, in its version at an opset, takes the format for the parameter."""
    version = version_of(opset, operator)
    check_opset(fmt, opset)
    since_of = _TYPES[operator, parameter]
    since = since_of(fmt)
    if since is not None and since <= version:
        check_convertible(fmt, name or parameter)
        return
    taken = ", ".join(row.name for row in ONNX_NUMERIC if (first := since_of(row)) is not None and first <= version)
    later = "" if since is None else f", which it has since opset {min(v for v in VERSIONS[operator] if v >= since)}"
    has = f"a type that {operator}-{version} has there: {taken}"
    codes = parameter == "scale" and fmt.is_integer and not fmt.signed
    hint = " (if it holds codes, say of which format with `scale_format=`)" if codes else ""
    if (operator, parameter) == (QUANTIZE, "x") and (fmt == FLOAT64 or fmt.is_integer):
        hint = ": cast it to float32 first, or use `lp.quantize`"
    elif parameter == "scale" and fmt == FLOAT64:
        hint = ": cast it to float32 first"
    raise ValueError(f"`{name or parameter}` must be {has}; got {fmt.name}{later}{hint}")


def _float32() -> Format:
    return FLOAT32


def quantize_plan(source: Format, scale: Format, zero_point: Format | None, options: QuantizeOptions) -> Plan:
    """Check the types of a QuantizeLinear against its version at the opset, and return its plan.

    `zero_point` and `output_dtype` name the target; they have been checked to agree.
    """
    output_dtype, precision, saturate, opset = options.output_dtype, options.precision, options.saturate, options.opset
    version = version_of(opset, QUANTIZE)
    check_saturate(saturate, opset, QUANTIZE)
    check_attribute("output_dtype", output_dtype, None, opset, QUANTIZE)
    check_attribute("precision", precision, None, opset, QUANTIZE)
    if not (options.float64_x and source == FLOAT64):
        _check(source, opset, QUANTIZE, "x")
    _check(scale, opset, QUANTIZE, "scale")
    if version in (19, 21) and scale != source:
        raise ValueError(f"`scale` must be {source.name}, as `x` is, before opset 23; got {scale.name}")
    if zero_point is not None:
        target, name = zero_point, "zero_point"
    else:
        chosen = UINT8 if output_dtype is None else output_dtype
        target, name = as_format(chosen, parameter="output_dtype"), "output_dtype"
    _check(target, opset, QUANTIZE, "output_dtype", name)
    if precision is not None:
        working = as_format(precision, parameter="precision")
        _check(working, opset, QUANTIZE, "precision")
    elif scale.is_integer:
        working = FLOAT64
    else:
        working = scale if scale.has_zero else _float32()
    if not (working.has_inf and working.nan in (NaNRule.IEEE, NaNRule.ALL_ONES)):
        came = f"of `scale`, {working.name}" if precision is None else working.name
        raise ValueError(f"`precision` must be a float that has Inf, -0 and NaN; got {came}")
    has_zero = zero_point is not None and (target.is_integer or target.saturates == "always")
    added = None if not has_zero else INT32 if target.is_integer else _float32()
    cast_version = version_of(opset)
    rounding = None
    if options.rounding is not None:
        check_alone(options.rounding, {"saturate": (saturate, True), "opset": (opset, NEWEST)})
        rounding = check_rounding(options.rounding, target, name)
    rules = CastRules(cast_version, bool(saturate), "up", rounding)
    wide = working.bits == 64 and added is None
    last = make_plan(FLOAT64 if wide else _float32(), target, rules)
    return Plan(Rule.QUANTIZE, source, target, scaling=Scaling(working, added, last))


def dequantize_plan(source: Format, scale: Format, zero_point: Format | None, options: QuantizeOptions) -> Plan:
    """Check the types of a DequantizeLinear against its version at the opset, and return its plan."""
    output_dtype, opset = options.output_dtype, options.opset
    version_of(opset, DEQUANTIZE)  # raises for what is no opset
    check_attribute("output_dtype", output_dtype, None, opset, DEQUANTIZE)
    _check(source, opset, DEQUANTIZE, "x")
    _check(scale, opset, DEQUANTIZE, "scale")
    if output_dtype is not None:
        target = as_format(output_dtype, parameter="output_dtype")
        _check(target, opset, DEQUANTIZE, "output_dtype")
    elif scale.has_zero:
        target = scale
    else:
        raise ValueError(f"`output_dtype` must be given where `scale` is {scale.name}; got None")
    single = _float32()
    # Zero points of float8 and int32 can but be 0.
    has_zero = zero_point is not None and source.saturates != "asked" and source.bits < 32
    last = make_plan(single, target, CastRules(version_of(opset), True, "up"))
    return Plan(Rule.DEQUANTIZE, source, target, scaling=Scaling(single, single if has_zero else None, last))


def scale_plans(scaling: Scaling, scale: Format) -> tuple[Plan, ...]:
    """Return the casts that bring a scale to what the loops read: to the precision, and on to float32 from 16 bits."""
    rules = CastRules(version_of(NEWEST), True, "up")
    steps = [scale, scaling.precision, FLOAT64 if scaling.precision.bits == 64 else FLOAT32]
    return tuple(make_plan(a, b, rules) for a, b in pairwise(steps) if a != b)
