"""Formats that are in no table: every NaN rule with and without Inf, IEEE P3109's, and others."""

from __future__ import annotations

from itertools import product

from lowprec.spec.formats import Format, Kind, NaNRule

BY_NAME = {"ids": lambda fmt: fmt.name}

E5M2 = {
    "name": "e5m2", "onnx_name": "E5M2", "onnx_enum": 1001, "kind": Kind.FLOAT, "exponent_bits": 5, "mantissa_bits": 2,
    "bias": 15, "signed": True, "has_inf": True, "nan": NaNRule.IEEE, "has_zero": True, "torch_name": None, "since": 28,
    "reference": "this test",
}  # fmt: skip
"""The fields of a format."""


def float_format(name: str, fields: tuple[int, int, int], *, inf: bool, nan: NaNRule, signed: bool = True) -> Format:
    """Return a float of (exponent_bits, mantissa_bits, bias)."""
    return Format(name, name.upper(), 1001, Kind.FLOAT, *fields, signed, inf, nan, True, None, 28, "this test")


def p3109(width: int, precision: int, suffix: str) -> Format:
    """Return binary{width}p{precision}s{e|f} of IEEE P3109: 4.0, 3.1 and 3.2; the ends of the name say its domain."""
    exponent_bits = width - precision + (suffix[0] == "u")
    fields = (exponent_bits, precision - 1, 2 ** (exponent_bits - 1))
    nan = NaNRule.NEGATIVE_ZERO if suffix[0] == "s" else NaNRule.ALL_ONES
    return float_format(
        f"binary{width}p{precision}{suffix}", fields, inf=suffix[1] == "e", nan=nan, signed=suffix[0] == "s"
    )


def _every_rule(fields: list[tuple[int, int]]) -> list[Format]:
    """Return a format of every NaN rule, with Inf and without, for each pair of widths; the biases differ."""
    found = []
    for (exponent, mantissa), nan, inf in product(fields, NaNRule, (True, False)):
        bias = 2 ** (exponent - 1) - 1 + len(found) % 3  # IEEE's, P3109's, one more
        name = f"e{exponent}m{mantissa}b{bias}-{nan.value}{'-inf' if inf else ''}"
        found.append(float_format(name, (exponent, mantissa, bias), inf=inf, nan=nan))
    return found


SMALL = _every_rule([(5, 2), (4, 3), (2, 3), (6, 1), (1, 5), (2, 1)])
WIDE = [
    float_format("float12_e5m6_all_ones_inf", (5, 6, 15), inf=True, nan=NaNRule.ALL_ONES),
    float_format("float9_e5m3_ieee_finite", (5, 3, 16), inf=False, nan=NaNRule.IEEE),
    float_format("float16_e5m10_ieee_finite", (5, 10, 15), inf=False, nan=NaNRule.IEEE),
    float_format("float16_e6m9_none_inf", (6, 9, 31), inf=True, nan=NaNRule.NONE),
]
P3109 = [p3109(*fields) for fields in (
    (8, 3, "se"), (8, 3, "sf"), (8, 4, "se"), (8, 4, "sf"), (8, 2, "se"), (8, 6, "sf"), (7, 4, "se"), (6, 3, "se"),
    (6, 4, "sf"), (5, 2, "se"), (4, 2, "sf"), (4, 3, "se"), (3, 2, "se"), (10, 5, "se"), (14, 8, "se"),
)]  # fmt: skip
OTHERS = [
    float_format("float16_e5m10b14", (5, 10, 14), inf=True, nan=NaNRule.IEEE),
    float_format("float16_e7m8fnuz", (7, 8, 64), inf=False, nan=NaNRule.NEGATIVE_ZERO),
    float_format("float3_e1m1fn", (1, 1, 1), inf=False, nan=NaNRule.NONE),
]
CUSTOM_FORMATS = [*SMALL, *WIDE, *P3109, *OTHERS]
