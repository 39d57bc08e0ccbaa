"""Describe a format: the parts of a description, one of them changed, and what is known of the format it makes."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, replace
from typing import Any

import lowprec as lp
from lowprec import Format, reference, teaching
from lowprec.spec.custom_formats import description_of, spelling_of, why_not_converted
from lowprec.spec.format_text import MOST_BITS
from lowprec.spec.formats import NUMERIC, NaNRule

from ...shared.codes import has_binades

__all__ = [
    "DESCRIBABLE",
    "NAN_HELP",
    "P3109_PRECISIONS",
    "P3109_WIDTHS",
    "WELL_KNOWN",
    "P3109Parts",
    "Parts",
    "Ruler",
    "WellKnown",
    "default_bias",
    "describable",
    "facts",
    "p3109_like",
    "p3109_name",
    "parts_of",
    "rows_beside",
    "ruler",
    "ruler_end",
    "same_codes",
    "shows_binades",
    "with_part",
]

DESCRIBABLE: tuple[Format, ...] = tuple(fmt for fmt in NUMERIC if fmt.is_float and fmt.bits <= MOST_BITS)
"""The rows that a description can have the codes and values of: floats of up to 32 bits."""

P3109_WIDTHS, P3109_PRECISIONS = range(3, 17), range(1, 17)
"""K and P in the names of IEEE P3109; not every pair is a format."""

NAN_HELP = {
    "ieee": "exponent all ones, mantissa not 0",
    "all-ones": "exponent and mantissa all ones",
    "negative-zero": "the code that would be −0",
    "none": "no code",
}
"""Which codes are NaN, by the name of the rule."""


_MOST_BINADES = 512


@dataclass(frozen=True, slots=True)
class Parts:
    """The arguments of `lowprec.float_format` but the name, each with a control of its own."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    signed: bool
    inf: bool
    nan: str
    zero: bool


@dataclass(frozen=True, slots=True)
class P3109Parts:
    """What the name of a format of IEEE P3109 says: K, P, whether there is a sign, and whether there is Inf."""

    width: int
    precision: int
    signed: bool
    extended: bool


@dataclass(frozen=True, slots=True)
class WellKnown:
    """A format that is known by another name: its name here, a label, and where it comes from."""

    name: str
    label: str
    about: str


WELL_KNOWN = (
    WellKnown("tf32", "TF32", "what NVIDIA tensor cores read of a float32: 19 bits"),
    WellKnown("e4m3", "E4M3 with Inf", "IEEE rules in 8 bits: float8_e4m3 of ml_dtypes"),
    WellKnown("e3m4", "E3M4 with Inf", "IEEE rules in 8 bits: float8_e3m4 of ml_dtypes"),
    WellKnown("e4m3,bias=11,inf=0,nan=negative-zero", "E4M3 B11 FNUZ", "float8_e4m3b11fnuz of ml_dtypes"),
    WellKnown("e4m3,signed=0,inf=0,nan=all-ones", "UE4M3", "a scale without sign: 7 bits"),
    WellKnown("binary8p3se", "binary8p3se", "IEEE P3109: 8 bits, precision 3, signed, with Inf"),
    WellKnown("binary8p1uf", "binary8p1uf", "IEEE P3109: powers of two without sign"),
)
"""Formats to begin with."""


def describable(fmt: Format) -> str:
    """Return what is wrong with a format whose parts are to be changed; nothing where it is a float of 2 to 32 bits."""
    return "" if fmt.is_float and fmt.bits <= MOST_BITS else f"must be a float of up to {MOST_BITS} bits"


def parts_of(fmt: Format) -> Parts:
    """Return the parts of a float."""
    description = description_of(fmt)
    return Parts(**{name: description[name] for name in Parts.__dataclass_fields__})  # type: ignore[arg-type]


def _described(parts: Parts, bias: int | None) -> Format:
    return lp.float_format("description", **{**asdict(parts), "bias": bias})


def default_bias(fmt: Format) -> int:
    """Return the bias of a float's description if it gave none."""
    return _described(parts_of(fmt), None).bias


def with_part(fmt: Format, part: str, value: Any) -> str:
    """Return the shortest description of a float with one part changed; ValueError if there is no such format.

    A bias that is the default stays the default when the exponent gets another width.
    """
    follows = part == "exponent_bits" and fmt.bias == default_bias(fmt)
    parts = replace(parts_of(fmt), **{part: value})
    return spelling_of(_described(parts, None if follows else parts.bias))


def p3109_name(parts: P3109Parts) -> str:
    """Return the name of IEEE P3109 that parts make; there may be no such format."""
    return f"binary{parts.width}p{parts.precision}{'s' if parts.signed else 'u'}{'e' if parts.extended else 'f'}"


def p3109_like(fmt: Format) -> P3109Parts:
    """Return the parts of the format of P3109 with the field widths of a float; of binary8p3se where there is none."""
    parts = P3109Parts(fmt.bits, fmt.mantissa_bits + 1, fmt.signed, fmt.has_inf)
    try:
        lp.as_format(p3109_name(parts))
    except ValueError:
        return P3109Parts(8, 3, True, True)
    return parts


def _codes_key(fmt: Format) -> tuple[object, ...]:
    """Return what decides the value of every code: rules of the same NaN codes are one."""
    fields = (fmt.exponent_bits, fmt.mantissa_bits, fmt.bias, fmt.signed, fmt.has_inf, fmt.has_zero)
    return (*fields, fmt.nan_count, fmt.nan is NaNRule.NEGATIVE_ZERO)


def same_codes(fmt: Format) -> tuple[Format, ...]:
    """Return the other formats with a name whose codes have the same values: rows, tf32, one of P3109."""
    named = [*DESCRIBABLE, lp.as_format("tf32"), lp.as_format(p3109_name(p3109_like(fmt)))]
    return tuple(other for other in named if other is not fmt and _codes_key(other) == _codes_key(fmt))


def facts(fmt: Format) -> tuple[tuple[str, str], ...]:
    """Return (name, text) of what a float's card lacks: its description, whether it is converted, what it is like."""
    reason = why_not_converted(fmt)
    arrays = f"not converted: {fmt.name}, {reason}" if reason else "converted by lp.cast, lp.encode and lp.decode"
    same = same_codes(fmt)
    names = "; ".join(f"{other.name} ({'not ' if other.onnx_enum is None else ''}in ONNX)" for other in same)
    return (
        ("description", spelling_of(fmt)),
        ("arrays", arrays),
        ("same codes and values", names or "no other format with a name"),
    )


def shows_binades(fmt: Format) -> bool:
    """Whether a format has too many codes to show them all, and few enough binades."""
    return has_binades(fmt) and 1 << (fmt.bits - fmt.mantissa_bits) <= _MOST_BINADES


# ---- the format next to rows of the table


_ROWS = 5
"""Rows of the table next to the described format."""

_DENSE = 1 / 220
"""Of the ruler: values that lie nearer to each other are drawn as a block."""


@dataclass(frozen=True, slots=True)
class Ruler:
    """A format's values from 0 to a power of two: shares of the way, one by one, and (first, last) of dense blocks."""

    format: Format
    marks: tuple[float, ...]
    blocks: tuple[tuple[float, float], ...]


def rows_beside(fmt: Format) -> tuple[Format, ...]:
    """Return the rows of the table to draw next to a format: those whose codes are about as wide."""
    others = [row for row in DESCRIBABLE if row is not fmt and row.has_zero]
    nearest = sorted(others, key=lambda row: abs(row.bits - fmt.bits))[:_ROWS]
    return tuple(row for row in others if row in nearest)


def ruler_end(fmt: Format) -> int:
    """Return the exponent of the power of two where the ruler ends: that of 4 where the format has values there."""
    facts = teaching.format_facts(fmt)
    lowest, highest = (reference.binade_of(value) for value in (facts.smallest, facts.largest))
    return min(max(1, lowest + 1), highest) + 1


@functools.lru_cache(maxsize=64)
def ruler(fmt: Format, end: int) -> Ruler:
    """Return the values of a format from 0 to a power of two."""
    marks, blocks = [0.0] * fmt.has_zero, []
    for binade in teaching.binades(fmt):
        if binade.exponent >= end:
            continue
        start, step = 2.0 ** (binade.exponent - end), float(binade.step) / 2.0**binade.exponent
        if start * step < _DENSE:
            blocks.append((start, start * (1 + step * (binade.values - 1))))
        else:
            marks += [start * (1 + step * place) for place in range(binade.values)]
    return Ruler(fmt, tuple(marks), tuple(blocks))
