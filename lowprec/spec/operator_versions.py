"""What each version of an ONNX operator takes: types and attributes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .custom_formats import check_convertible
from .formats import FLOAT64, FORMATS, NUMBERS, ONNX_NUMERIC, Format, Kind
from .rounding_modes import Rounding, RoundingOptions, check_round_mode, check_rounding
from .scalar_arguments import as_flag, as_integer, shown

__all__ = [
    "Caller",
    "CastRules",
    "DEQUANTIZE",
    "NEWEST",
    "QUANTIZE",
    "cast_rules",
    "check_alone",
    "check_attribute",
    "check_operand",
    "check_opset",
    "check_saturate",
    "check_type",
    "first_opset",
    "takes_codes",
    "takes_type",
    "unless_undefined",
    "version_of",
]


NEWEST = 28
"""The newest opset this table knows, and the default everywhere."""

QUANTIZE = "QuantizeLinear"
DEQUANTIZE = "DequantizeLinear"

VERSIONS = {
    "Cast": (1, 6, 9, 13, 19, 21, 23, 24, 25, 28),
    "CastLike": (15, 19, 21, 23, 24, 25),
    "BitCast": (26,),
    "QuantizeLinear": (10, 13, 19, 21, 23, 24, 25, 28),
    "DequantizeLinear": (10, 13, 19, 21, 23, 24, 25, 28),
    "DynamicQuantizeLinear": (11,),
}
"""The opsets that changed each operator; those between use the newest one not above them."""

ATTRIBUTE_SINCE = {
    "Cast": {"saturate": 19, "round_mode": 24},
    "CastLike": {"saturate": 19, "round_mode": 24},
    "QuantizeLinear": {"axis": 13, "saturate": 19, "block_size": 21, "output_dtype": 21, "precision": 23},
    "DequantizeLinear": {"axis": 13, "block_size": 21, "output_dtype": 23},
}
"""The first opset in which the operator has the attribute."""

INF_IS_NAN = range(19, 24)
"""The versions whose saturating table sends Inf to NaN in formats where -0 is the NaN code (FNUZ)."""


@dataclass(frozen=True, slots=True)
class CastRules:
    """The resolved options of one Cast: what the version of the operator leaves of them."""

    version: int
    saturate: bool
    round_mode: str
    rounding: Rounding | None = None
    """The rules beyond ONNX; None where those of the operator hold."""

    @property
    def inf_is_nan(self) -> bool:
        """Whether a saturating cast sends Inf to NaN in the FNUZ formats."""
        return self.version in INF_IS_NAN


def version_of(opset: int, operator: str = "Cast") -> int:
    """Return the version of an operator that `opset` uses."""
    first = VERSIONS[operator][0]
    number = opset if type(opset) is int else as_integer(opset)
    if number is None:
        raise ValueError(f"`opset` must be an integer from {first} to {NEWEST}; got {shown(opset)}")
    if not first <= number <= NEWEST:
        raise ValueError(f"`opset` must be from {first} to {NEWEST} for {operator}; got {shown(number)}")
    return VERSIONS[operator][bisect_right(VERSIONS[operator], number) - 1]


def first_opset(fmt: Format) -> int:
    """Return the first opset whose Cast takes a format; of formats that ONNX lacks the default is the only one."""
    return NEWEST if fmt.since is None else fmt.since


def check_opset(fmt: Format, opset: int) -> None:
    """Raise ValueError for a format that ONNX lacks unless the opset is the default."""
    if fmt.since is None and opset != NEWEST:
        raise ValueError(f"`opset` must be {NEWEST}, the default, for {fmt.name}, which ONNX lacks; got {opset}")


def check_type(
    fmt: Format, version: int, parameter: str, operator: str = "Cast", kinds: frozenset[Kind] = NUMBERS
) -> None:
    """Raise ValueError unless that version of the operator takes the format, and the caller its kind.

    Of a format that ONNX lacks the version says nothing: see `check_opset`.
    """
    if fmt.kind not in kinds:
        names = ", ".join(row.name for row in FORMATS.values() if row.kind in kinds and first_opset(row) <= version)
        raise ValueError(f"`{parameter}` must be one of {names}; got {fmt.name}")
    if fmt.since is not None and fmt.since > version:
        later = [known for known in VERSIONS[operator] if known >= fmt.since]
        has = f"which {operator} has since opset {later[0]}" if later else f"which no version of {operator} has"
        raise ValueError(f"`{parameter}` must be a type that {operator}-{version} has; got {fmt.name}, {has}")


def check_attribute(attribute: str, value: object, default: object, opset: int, operator: str) -> None:
    """Raise ValueError if an attribute that the operator lacks at `opset` is set to something else than its default."""
    since = ATTRIBUTE_SINCE[operator][attribute]
    if opset < since and value is not default and (default is None or value != default):
        raise ValueError(f"`{attribute}` must be {default} before opset {since}; got opset {opset}")


def unless_undefined(fmt: object) -> object:
    """Return the type that an attribute names; None for 0, ONNX's UNDEFINED."""
    is_number = isinstance(fmt, (int, np.integer)) and not isinstance(fmt, bool)
    return None if is_number and fmt == 0 else fmt


def check_saturate(saturate: object, opset: int, operator: str) -> None:
    """Raise ValueError unless `saturate` is a truth value, and True where the operator has no such attribute."""
    check_attribute("saturate", as_flag(saturate, "saturate"), True, opset, operator)


_SAME = {
    ("saturate", "False"): ": `overflow` 'ovf_inf' means the same",
    ("round_mode", "up"): ": `rounding` 'away_from_zero' means the same",
    ("round_mode", "down"): ": `rounding` 'toward_zero' means the same",
    ("round_mode", "nearest"): ": `rounding` 'nearest_away' means the same",
}
"""What an attribute of ONNX is called by a rule beyond ONNX, to follow a message."""


def check_alone(options: RoundingOptions, attributes: Mapping[str, tuple[object, object]]) -> None:
    """Raise ValueError, which names both, if an attribute of ONNX is set where a rule beyond ONNX is given.

    `attributes` are by name their values and their defaults.
    """
    rule = "rounding" if options.rounding is not None else "overflow" if options.overflow is not None else "nan"
    for name, (value, default) in attributes.items():
        if type(value) is not type(default) or value != default:
            same = _SAME.get((name, str(value)), "") if isinstance(value, (bool, str)) else ""
            raise ValueError(
                f"`{name}` must be {default}, its default, where `{rule}` is given; got {shown(value)}{same}"
            )


class Caller(NamedTuple):
    """The function whose arguments are checked: names of its parameters, its operator, the kinds of format it takes."""

    source: str = "source"
    target: str = "to"
    operator: str = "Cast"
    kinds: frozenset[Kind] = NUMBERS
    array: str = "x"
    moves_bits: bool = False  # whether codes are moved as they are, whatever a cast of the format to itself does


_CAST = Caller()


def cast_rules(
    source: Format,
    target: Format,
    saturate: bool = True,
    round_mode: str | None = None,
    opset: int = NEWEST,
    caller: Caller = _CAST,
    options: RoundingOptions | None = None,
) -> CastRules:
    """Check types and attributes against the version of Cast, or CastLike, in force at `opset`.

    Attributes that do not concern the target are ignored, as ONNX does; an attribute that the version lacks is an
    error as soon as it is set to something else than its default. `options` are rules beyond ONNX: no attribute of the
    operator goes with them.
    """
    rounding = None
    if options is not None:
        check_alone(options, {"saturate": (saturate, True), "round_mode": (round_mode, None), "opset": (opset, NEWEST)})
        rounding = check_rounding(options, target, caller.target)
    version = version_of(opset, caller.operator)
    check_type(source, version, caller.source, caller.operator, caller.kinds)
    check_type(target, version, caller.target, caller.operator, caller.kinds)
    check_opset(source, opset)
    check_opset(target, opset)
    check_saturate(saturate, opset, caller.operator)
    mode = check_round_mode(round_mode)
    check_attribute("round_mode", round_mode, None, opset, caller.operator)
    return CastRules(version, bool(saturate), mode, rounding)


# ---- types of the linear operators by parameter: the first version that takes a format, None if no version does


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


def check_operand(
    fmt: Format, opset: int, version: int, operator: str, parameter: str, name: str | None = None
) -> None:
    """Raise ValueError unless the operator, in its version at an opset, takes the format for the parameter."""
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
