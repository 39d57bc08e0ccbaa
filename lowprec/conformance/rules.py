"""The rules that libraries are held to: a row of the report each, in its order."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..spec.formats import ONNX_NUMERIC, Format
from ..spec.rounding_rules import OVERFLOWS
from ..spec.scale_rules import SCALE_RULES
from .rounding_cases import FAMILIES, MODES

__all__ = ["DECIDED", "DISPUTED", "ONNX", "P3109", "RULES", "Rule"]

ONNX = "ONNX"
DECIDED = "decided"
DISPUTED = "disputed"
P3109 = "P3109"


class Rule(NamedTuple):
    """One row: what is converted and what must come out."""

    group: str
    text: str
    basis: str = ONNX
    """Who says so: the operator's page; docs/semantics.md where the page is silent; the page, but not ONNX's data."""


def _names(chosen: Callable[[Format], bool]) -> str:
    return ", ".join(fmt.name for fmt in ONNX_NUMERIC if chosen(fmt))


_WIDE = f"to {_names(lambda fmt: fmt.is_float and fmt.bits >= 16)}"
_FLOAT8 = f"to {_names(lambda fmt: fmt.is_float and fmt.bits == 8 and fmt.has_zero)}"
_SMALL = f"to {_names(lambda fmt: fmt.is_float and fmt.bits < 8)}"
_POWER = f"to {_names(lambda fmt: fmt.is_float and not fmt.has_zero)}"
_INTEGERS = "to integers and bool"
_TEXT = "the same format, text, bits"
_ONCE = "64-bit floats, 32- and 64-bit integers where two roundings differ from one"
_NARROW = _names(lambda fmt: fmt.is_integer and fmt.bits < 8)
_WITH_INF = _names(lambda fmt: fmt.is_float and fmt.bits == 8 and fmt.has_inf)

_HALVES = " or ".join(fmt.name for fmt in ONNX_NUMERIC if fmt.is_float and fmt.bits == 16)
_QUANTIZE = "QuantizeLinear"
_DEQUANTIZE = "DequantizeLinear"

RULES: dict[str, Rule] = {
    "wide exact": Rule(_WIDE, "every code of a narrower format: its exact value"),
    "wide nearest": Rule(_WIDE, "to nearest, ties to even, subnormals, signed zeros"),
    "wide once": Rule(_WIDE, _ONCE, DECIDED),
    "wide overflow": Rule(_WIDE, "overflow and Inf: Inf"),
    "wide NaN": Rule(_WIDE, "NaN: quiet, with the sign", DECIDED),
    "wide payload": Rule(_WIDE, "NaN with a payload: the canonical NaN", DECIDED),
    "float8 nearest": Rule(_FLOAT8, "to nearest, ties to even, subnormals, signed zeros"),
    "float8 once": Rule(_FLOAT8, _ONCE, DECIDED),
    "float8 overflow saturate": Rule(_FLOAT8, "overflow, saturate=1: the largest value"),
    "float8 overflow": Rule(_FLOAT8, "overflow, saturate=0: Inf or NaN"),
    "float8 Inf saturate": Rule(_FLOAT8, "Inf, saturate=1: the largest value"),
    "float8 Inf": Rule(_FLOAT8, "Inf, saturate=0: Inf or NaN"),
    "FNUZ Inf": Rule(
        _FLOAT8, "Inf, saturate=1, FNUZ at opset 19 to 23: NaN by the text, the largest value in ONNX's data", DISPUTED
    ),
    "float8 NaN": Rule(_FLOAT8, "NaN: the canonical NaN, with the sign if there is one", DECIDED),
    "small nearest": Rule(_SMALL, "to nearest, ties to even, subnormals, signed zeros"),
    "small once": Rule(_SMALL, _ONCE, DECIDED),
    "small overflow": Rule(_SMALL, "overflow and Inf: the largest value", DECIDED),
    "small NaN": Rule(_SMALL, "NaN: zero of the opposite sign, as in ONNX's node data", DECIDED),
    "power up": Rule(_POWER, "2^-127 to 2^127, round_mode up"),
    "power down": Rule(_POWER, "2^-127 to 2^127, round_mode down"),
    "power nearest": Rule(_POWER, "2^-127 to 2^127, round_mode nearest (ties up)"),
    "power once": Rule(_POWER, _ONCE, DECIDED),
    "power below saturate": Rule(_POWER, "below 2^-127, zero, saturate=1: 00"),
    "power below": Rule(_POWER, "below 2^-127, zero, saturate=0: NaN"),
    "power above saturate": Rule(_POWER, "above 2^127, saturate=1: FE"),
    "power above": Rule(_POWER, "above 2^127, saturate=0: NaN"),
    "power Inf saturate": Rule(_POWER, "Inf, saturate=1: FE"),
    "power Inf": Rule(_POWER, "Inf, saturate=0: NaN"),
    "power NaN": Rule(_POWER, "NaN: FF"),
    "power negative": Rule(_POWER, "negative numbers: the sign is ignored", DECIDED),
    "whole low bits": Rule(_INTEGERS, "integer to integer of 8 bits and more: the low bits"),
    "narrow low bits": Rule(_INTEGERS, f"integer to {_NARROW}: the low bits"),
    "whole truncate": Rule(_INTEGERS, "float to integer of 8 bits and more, in range: toward zero"),
    "narrow truncate": Rule(_INTEGERS, f"float to {_NARROW}, in range: toward zero"),
    "whole beyond": Rule(_INTEGERS, "float to integer, out of range: modulo 2^n", DECIDED),
    "whole special": Rule(_INTEGERS, "NaN, Inf to integer: 0", DECIDED),
    "bool": Rule(_INTEGERS, "to bool: not zero"),
    "same": Rule(_TEXT, "a format to itself: the bits are copied", DECIDED),
    "same saturate": Rule(_TEXT, f"{_WITH_INF} to itself, saturate=1: Inf and NaN by the table", DECIDED),
    "text to float": Rule(_TEXT, "decimal text to float: rounded once", DECIDED),
    "text to integer": Rule(_TEXT, "decimal text to 64-bit integer: exact"),
    "text from float": Rule(_TEXT, "float to text: the fewest digits that give it back", DECIDED),
    "bit cast": Rule(_TEXT, "BitCast between formats of 8 bits and more"),
    "bit cast narrow": Rule(_TEXT, "BitCast between formats of 2 and 4 bits"),
    "quantize even": Rule(_QUANTIZE, "to integers: half to even, plus the zero point"),
    "quantize clamp": Rule(_QUANTIZE, "to integers, beyond the range (300, 3e9, 1e30): clamped"),
    "quantize special": Rule(_QUANTIZE, "to integers: Inf gives the ends, NaN the lower end", DECIDED),
    "quantize precision": Rule(_QUANTIZE, f"{_HALVES} operands: the quotient is rounded to that, where it matters"),
    "quantize attribute": Rule(_QUANTIZE, f"precision={_HALVES}: the quotient is rounded to that, where it matters"),
    "quantize int32": Rule(_QUANTIZE, "int32 with a float32 scale: converted to float32", DECIDED),
    "quantize power": Rule(_QUANTIZE, "scales that are powers of two: float32 arithmetic", DECIDED),
    "quantize float8 saturate": Rule(_QUANTIZE, "to float8, saturate=1"),
    "quantize float8": Rule(_QUANTIZE, "to float8, saturate=0"),
    "quantize small": Rule(_QUANTIZE, "to float6, float4; their zero point is added", DECIDED),
    "quantize axis": Rule(_QUANTIZE, "a scale for each index of an axis"),
    "quantize block": Rule(_QUANTIZE, "blocks"),
    "quantize short": Rule(_QUANTIZE, "blocks, the last one short"),
    "quantize refuses": Rule(_QUANTIZE, "shapes and attributes that do not fit: an error"),
    "dequantize codes": Rule(_DEQUANTIZE, "every code of up to 8 bits, float32 scale, zero points"),
    "dequantize narrow scale": Rule(_DEQUANTIZE, f"{_HALVES} scale: the product in float32, rounded to that", DECIDED),
    "dequantize output": Rule(_DEQUANTIZE, f"output_dtype={_HALVES}"),
    "dequantize power": Rule(_DEQUANTIZE, "scales that are powers of two"),
    "dequantize zero point": Rule(_DEQUANTIZE, "from float6, float4: the zero point is taken away"),
    "dequantize axis": Rule(_DEQUANTIZE, "a scale for each index of an axis"),
    "dequantize block": Rule(_DEQUANTIZE, "blocks"),
    "dequantize short": Rule(_DEQUANTIZE, "blocks, the last one short"),
    "dequantize refuses": Rule(_DEQUANTIZE, "shapes that do not fit: an error"),
}

_MODE_TEXTS = {
    "nearest_even": "to nearest, ties to the even code",
    "nearest_away": "to nearest, ties away from zero",
    "nearest_zero": "to nearest, ties toward zero",
    "toward_zero": "the neighbour nearer to zero",
    "away_from_zero": "the neighbour farther from zero",
    "toward_positive": "the greater neighbour",
    "toward_negative": "the lesser neighbour",
    "to_odd": "the neighbour with the odd code",
    "stochastic_a": "floor(v * 2^N) + R >= 2^N",
    "stochastic_b": "floor(v * 2^(N+1)) + 2R + 1 >= 2^(N+1)",
    "stochastic_c": "round(v * 2^N) + R >= 2^N",
}
_NOT_IN_P3109 = ("nearest_zero", "away_from_zero")
_SCALE_TEXTS = {
    "floor": ("floor(log2 a) - emax", "OCP MX"),
    "ceil": ("ceil(log2 a) - emax", "torchao"),
    "rceil": ("the least exponent with a <= M * 2^E", "cuBLAS"),
    "even": ("floor(log2 a') - emax, a' rounded to the mantissa of the elements", "torchao"),
    "nearest": ("floor(log2 a + 1/2) - emax", "FBGEMM"),
}


def _rounding_rules() -> dict[str, Rule]:
    """Return the rows of the rounding modes, of overflow and of scale rules."""
    rules = {}
    for family, targets in FAMILIES.items():
        names = ", ".join(fmt.name for fmt in targets)
        group = f"rounding= to {'8-bit formats of IEEE P3109' if family == P3109 else names}"
        for mode in MODES:
            basis = DECIDED if mode in _NOT_IN_P3109 else P3109
            rules[f"round {family} {mode}"] = Rule(group, f"{mode}: {_MODE_TEXTS[mode]}", basis)
        for overflow in OVERFLOWS:
            rules[f"round {family} over {overflow}"] = Rule(group, f"beyond the largest value, Inf: {overflow}", P3109)
        for overflow in OVERFLOWS if any(not fmt.signed for fmt in targets) else ():
            rules[f"round {family} below {overflow}"] = Rule(group, f"below the range: {overflow}", P3109)
    for name in SCALE_RULES:
        text, basis = _SCALE_TEXTS[name]
        rules[f"scale {name}"] = Rule("scales of MX blocks", f"{name}: {text}", basis)
    return rules


RULES |= _rounding_rules()
