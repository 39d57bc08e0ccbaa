"""Which values of the fields of a row go together: a row that contradicts itself is refused."""

from __future__ import annotations

from types import NoneType
from typing import Any

from .arguments import shown
from .kinds import Kind
from .nan_rules import NaNRule

__all__ = ["check_fields"]

_TYPES: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "onnx_name": (str, NoneType),
    "onnx_enum": (int, NoneType),
    "kind": Kind,
    "exponent_bits": int,
    "mantissa_bits": int,
    "bias": int,
    "signed": bool,
    "has_inf": bool,
    "nan": NaNRule,
    "has_zero": bool,
    "torch_name": (str, NoneType),
    "since": (int, NoneType),
    "reference": str,
}
_FIXED = {
    Kind.BOOL: {(0, 1, 0, False, False, NaNRule.NONE)},
    Kind.STRING: {(0, 0, 0, False, False, NaNRule.NONE)},
    Kind.COMPLEX: {(*fields, True, True, NaNRule.IEEE) for fields in ((8, 23, 127), (11, 52, 1023))},
}
_WIDTHS = (2, 4, 8, 16, 32, 64)


def _require(holds: bool, field: str, wanted: str, came: object) -> None:
    if not holds:
        raise ValueError(f"`{field}` must be {wanted}; got {shown(came)}")


def check_fields(fmt: Any) -> None:
    """Raise ValueError, which names the field, unless the fields of a row go together."""
    for field, kind in _TYPES.items():
        value = getattr(fmt, field)
        right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        names = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        _require(right, field, f"of type {names}", value)
    _require(bool(fmt.name), "name", "a name", fmt.name)
    for field in ("onnx_enum", "since"):
        wanted = "None, as `onnx_name` is" if fmt.onnx_name is None else "a number, as there is an `onnx_name`"
        _require((getattr(fmt, field) is None) == (fmt.onnx_name is None), field, wanted, getattr(fmt, field))
    if fmt.onnx_name is not None:
        _require(fmt.onnx_enum >= 0, "onnx_enum", "0 or more", fmt.onnx_enum)
        _require(fmt.since >= 1, "since", "an opset, 1 or more", fmt.since)
    if fmt.kind is Kind.FLOAT:
        _check_float(fmt)
        return
    fields = (fmt.exponent_bits, fmt.mantissa_bits, fmt.bias, fmt.signed, fmt.has_inf, fmt.nan)
    _require(fmt.has_zero, "has_zero", "True for a format that is no float", fmt.has_zero)
    if fmt.kind is Kind.INT:
        _require(fmt.bits in _WIDTHS, "mantissa_bits", f"such that an integer has {_WIDTHS} bits", fmt.mantissa_bits)
        plain = (0, fmt.mantissa_bits, 0, fmt.signed, False, NaNRule.NONE)
        _require(fields == plain, "kind", "float for a format with an exponent, a bias, Inf or NaN", fmt.kind)
    else:
        one_of = " or ".join(map(str, sorted(_FIXED[fmt.kind], key=str)))
        _require(fields in _FIXED[fmt.kind], "kind", f"float unless its fields are {one_of}", (fmt.kind, *fields))


def _check_float(fmt: Any) -> None:
    exponent, mantissa, signed = fmt.exponent_bits, fmt.mantissa_bits, fmt.signed
    _require(1 <= exponent <= 11, "exponent_bits", "1 to 11 for a float (without exponent it is an integer)", exponent)
    _require(0 <= mantissa <= 52, "mantissa_bits", "0 to 52 for a float", mantissa)
    _require(fmt.bits >= 2, "exponent_bits", "such that a code has 2 bits or more", exponent)
    bare = not signed and mantissa == 0
    _require(fmt.has_zero or bare, "has_zero", "True for a float with a sign or a mantissa", fmt.has_zero)
    _require(signed or fmt.nan is not NaNRule.NEGATIVE_ZERO, "nan", "a rule without -0 where there is no sign", fmt.nan)
    _require(mantissa > 0 or fmt.nan is not NaNRule.IEEE, "nan", "a rule without mantissa where there is none", fmt.nan)
    field, value = ("has_inf", fmt.has_inf) if fmt.has_inf else ("nan", fmt.nan)
    _require(fmt.max_code >= fmt.has_zero, field, "such that a finite value that is not zero is left", value)
    reach = fmt.emin - mantissa >= -1074 and fmt.emax <= 1023
    _require(reach, "bias", "such that float64 holds every value", fmt.bias)
