"""The facts of a format as text: one line, cells of the table of formats, a card, the call that makes it, a drawing."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from .._notebook_display import bit_row

__all__ = [
    "HEADER",
    "MOST_BITS",
    "call_text",
    "card_of",
    "cells_of",
    "code_row",
    "facts_of",
    "fields_of",
    "nan_codes",
    "one_line",
]

MOST_BITS = 32
"""How many bits a described format may have."""

HEADER = ("format", "ONNX", "enum", "bits", "s/e/m", "bias", "max", "smallest", "Inf", "NaN codes", "-0", "Cast since")
"""The columns of the table of formats; `smallest` is the smallest positive float, the least integer."""


def nan_codes(fmt: Any, to: str = "-") -> str:
    """Return the NaN codes in hexadecimal, ranges as first-last; `to` stands between (a terminal may lack the –)."""
    width = fmt.storage_bits // 4
    if not fmt.is_float or fmt.nan.value == "none":
        return "none"
    if fmt.nan.value == "ieee":
        if fmt.bits > 16:
            return "IEEE"
        first, last = fmt.exponent_mask + 1, fmt.magnitude_mask
        ends = [(first | sign, last | sign) for sign in sorted({0, fmt.sign_mask})]
        second = f"{to}{{1:0{width}X}}" if first < last else ""
        return ", ".join(f"{{0:0{width}X}}{second}".format(*pair) for pair in ends)
    codes = [fmt.nan_code] + ([fmt.nan_code | fmt.sign_mask] if fmt.nan.value == "all-ones" and fmt.signed else [])
    return ", ".join(f"{code:0{width}X}" for code in codes)


def _number(value: float | int) -> str:
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1 << 17):
        return str(int(value))
    return f"{value:.6g}"


def _or_nothing(number: int | None) -> str:
    return "" if number is None else str(number)


def _power(exponent: int) -> str:
    return f"2^{exponent}"


def _layout(fmt: Any, between: str) -> str:
    return between.join(map(str, (int(fmt.signed), fmt.exponent_bits, fmt.mantissa_bits)))


def cells_of(fmt: Any, to: str = "-") -> tuple[str, ...]:
    """Return the cells of a format's row in the table of formats; `to` stands between the ends of a range."""
    names = (fmt.name, fmt.onnx_name or "", _or_nothing(fmt.onnx_enum))
    since = _or_nothing(fmt.since)
    if fmt.kind.value == "string":
        return (*names, "", "", "", "", "", "", "", "", since)
    if fmt.kind.value == "complex":
        return (*names, str(fmt.bits), "", "", "", "", "", "", "", "never")
    if not fmt.is_float:
        return (*names, str(fmt.bits), "", "", _number(fmt.max), _number(fmt.min), "", "", "", since)
    smallest, inf = _power(fmt.emin - fmt.mantissa_bits), "yes" if fmt.has_inf else "none"
    negative_zero = "yes" if fmt.has_negative_zero else "no"
    fields = (str(fmt.bits), _layout(fmt, "/"), str(fmt.bias), _number(fmt.max), smallest)
    return (*names, *fields, inf, nan_codes(fmt, to), negative_zero, since)


def facts_of(fmt: Any) -> list[tuple[str, str]]:
    """Return the names of one format's facts, each with its text; those that it has not are left out."""
    pairs = list(zip(HEADER, cells_of(fmt), strict=True))
    if fmt.is_float:
        beyond = "to Inf" if fmt.has_inf else "to NaN"
        pairs += [
            ("max code", f"{fmt.max_code:0{fmt.storage_bits // 4}X}"),
            ("smallest normal", f"{_power(fmt.emin)} = {fmt.smallest_normal!r}"),
            ("eps", repr(fmt.eps)),
            ("overflow", {"never": beyond, "always": "to max", "asked": "by saturate"}[fmt.saturates]),
        ]
    pairs.append(("defined by", fmt.reference))
    return [(name, text) for name, text in pairs if text]


def fields_of(fmt: Any) -> list[tuple[str, int]]:
    """Return the fields of a code and their widths, from the highest bit down; none of texts and complex numbers.

    Examples
    --------
    >>> from lowprec.spec.formats import FLOAT8_E4M3FN, INT4
    >>> fields_of(FLOAT8_E4M3FN), fields_of(INT4)
    ([('sign', 1), ('exponent', 4), ('mantissa', 3)], [("two's complement", 4)])
    """
    if fmt.is_float:
        widths = {"sign": int(fmt.signed), "exponent": fmt.exponent_bits, "mantissa": fmt.mantissa_bits}
        return [(name, width) for name, width in widths.items() if width]
    names = {"int": "two's complement" if fmt.signed else "unsigned", "bool": "bool"}
    return [(names[fmt.kind.value], fmt.bits)] if fmt.kind.value in names else []


def code_row(fmt: Any, code: int | None = None) -> str:
    """Return the fields of a format as a drawing, with the bits of a code or without; nothing where it has no fields.

    Parameters
    ----------
    fmt : Format
        The format.
    code : int, optional
        Without one, each bit is the first letter of its field.

    Returns
    -------
    str
        An SVG element, or an empty text.
    """
    fields, shown, at = fields_of(fmt), [], 0
    if not fields:
        return ""
    for name, width in fields:
        if code is None:
            bits = (name[0].upper() if fmt.is_float else " ") * width
        else:
            bits = f"{code:0{fmt.bits}b}"[at : at + width]
        shown.append((name, bits))
        at += width
    if code is None:
        return bit_row(shown, f"bits of {fmt.name}: {', '.join(f'{name} {width}' for name, width in fields)}")
    return bit_row(shown, f"code of {fmt.name}: {', '.join(f'{name} {bits}' for name, bits in shown)}")


_CARD = (
    "ONNX", "enum", "Cast since", "bits", "s/e/m", "bias", "max", "max code", "smallest normal", "smallest",
    "smallest subnormal", "Inf", "NaN codes", "-0", "eps", "overflow", "defined by",
)  # fmt: skip
"""The order of facts on a card."""


def card_of(fmt: Any) -> list[tuple[str, str]]:
    """Return the facts of a format in the order of a card: names, layout, range, special values, rules, reference."""
    facts = dict(facts_of(fmt))
    if fmt.is_float and fmt.has_zero and fmt.mantissa_bits:
        facts["smallest subnormal"] = f"{facts.pop('smallest')} = {fmt.smallest_subnormal!r}"
    return [(name, facts[name]) for name in _CARD if name in facts]


def one_line(fmt: Any) -> str:
    """Return the facts that tell formats apart, in one line.

    Examples
    --------
    >>> from lowprec.spec.formats import FLOAT8_E4M3FN, INT4
    >>> one_line(FLOAT8_E4M3FN)
    '8 bits 1-4-3, bias 7, max 448, smallest normal 2^-6, smallest subnormal 2^-9, NaN 7F FF, no Inf'
    >>> one_line(INT4)
    '4 bits, -8 to 7'
    """
    if fmt.kind.value == "string":
        return "text"
    if fmt.kind.value == "complex":
        return f"{fmt.bits} bits, two floats"
    if not fmt.is_float:
        return f"{fmt.bits} bits, {_number(fmt.min)} to {_number(fmt.max)}"
    facts = [f"{fmt.bits} bits {_layout(fmt, '-')}", f"bias {fmt.bias}", f"max {_number(fmt.max)}"]
    if fmt.smallest_normal <= fmt.max:
        facts.append(f"smallest normal {_power(fmt.emin)}")
    if fmt.has_zero and fmt.mantissa_bits:
        facts.append(f"smallest subnormal {_power(fmt.emin - fmt.mantissa_bits)}")
    facts.append("no NaN" if fmt.nan.value == "none" else f"NaN {nan_codes(fmt).replace(',', '')}")
    return ", ".join([*facts, "Inf" if fmt.has_inf else "no Inf", *([] if fmt.has_zero else ["no zero"])])


def call_text(fmt: Any, has_free_name: bool) -> str:
    """Return the call that makes a format again: by `float_format` where that may give it its name.

    Examples
    --------
    >>> from lowprec.spec.custom_formats import float_format
    >>> call_text(float_format("e4m3", exponent_bits=4, mantissa_bits=3, nan="all-ones"), True)
    "lp.float_format('e4m3', exponent_bits=4, mantissa_bits=3, bias=7, nan='all-ones')"
    """
    if has_free_name and fmt.onnx_name is None and fmt.is_float and fmt.bits <= MOST_BITS and fmt.torch_name is None:
        return _description_text(fmt)
    values = ((field.name, getattr(fmt, field.name)) for field in dataclasses.fields(fmt))
    named = (f"{name}={value if isinstance(value, enum.Enum) else repr(value)}" for name, value in values)
    return f"Format({', '.join(named)})"


def _description_text(fmt: Any) -> str:
    """Return the call that makes a described format, arguments at their defaults left out."""
    usual = {"signed": (fmt.signed, True), "inf": (fmt.has_inf, True), "nan": (fmt.nan.value, "ieee")}
    usual |= {"zero": (fmt.has_zero, True), "reference": (fmt.reference, "")}
    named = [f"{name}={getattr(fmt, name)}" for name in ("exponent_bits", "mantissa_bits", "bias")]
    named += [f"{name}={value!r}" for name, (value, default) in usual.items() if value != default]
    return f"lp.float_format({fmt.name!r}, {', '.join(named)})"
