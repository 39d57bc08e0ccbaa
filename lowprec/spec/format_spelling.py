"""Descriptions of formats as short texts: ``e4m3,bias=8,inf=0,nan=negative-zero``, for a link or a command line."""

from __future__ import annotations

import re

from .arguments import shown
from .described_formats import float_format
from .formats import Format
from .nan_rules import NaNRule

__all__ = ["float_format_spelled", "has_spelled_shape", "spelling_of"]

_WIDTHS = re.compile(r"e([0-9]{1,4})m([0-9]{1,4})", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]{1,5}", re.ASCII)
_FLAGS = {"0": False, "1": True, "false": False, "true": True}
_FACTS = ("bias", "signed", "inf", "nan", "zero")


def has_spelled_shape(text: str) -> bool:
    """Whether a text begins as a description does: ``e``, digits, ``m``, digits, then nothing or a comma."""
    return _WIDTHS.fullmatch(_lowered(text).partition(",")[0]) is not None


def float_format_spelled(text: str) -> Format:
    """Return the format that a description describes; it has the shortest spelling of its description as its name.

    A description is the width of exponent and mantissa, ``e4m3``, and those arguments of `float_format` that are not
    the default, each after a comma: ``bias=8``, ``signed=0``, ``inf=0``, ``nan=none``, ``zero=0``. Case and spaces do
    not matter. ValueError says which part is wrong.

    Examples
    --------
    >>> float_format_spelled("E4M3, nan=all-ones, inf=0, bias=7")
    lp.float_format('e4m3,inf=0,nan=all-ones', exponent_bits=4, mantissa_bits=3, bias=7, inf=False, nan='all-ones')
    >>> float_format_spelled("e4m3,nan=some")
    Traceback (most recent call last):
        ...
    ValueError: `nan` must be one of ieee, all-ones, negative-zero, none; got 'some'
    """
    first, *parts = _lowered(text).split(",")
    widths = _WIDTHS.fullmatch(first)
    if widths is None:
        raise ValueError(f"a description must begin with the widths of its fields, as e4m3 does; got {shown(text)}")
    facts: dict[str, object] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals or name not in _FACTS:
            raise ValueError(f"each part after the widths must be one of {'=, '.join(_FACTS)}=; got {shown(part)}")
        if name in facts:
            raise ValueError(f"`{name}` must be there once; got {shown(text)}")
        facts[name] = _fact(name, value)
    exponent_bits, mantissa_bits = int(widths[1]), int(widths[2])
    described = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits, **facts}
    return float_format(spelling_of(float_format("description", **described)), **described)  # type: ignore[arg-type]


def _lowered(text: str) -> str:
    return "".join(text.split()).lower()


def _fact(name: str, value: str) -> object:
    if name == "nan":
        return value
    if name == "bias":
        if not _INTEGER.fullmatch(value):
            raise ValueError(f"`bias` must be an integer of at most 5 digits; got {shown(value)}")
        return int(value)
    if value not in _FLAGS:
        raise ValueError(f"`{name}` must be 0 or 1; got {shown(value)}")
    return _FLAGS[value]


def spelling_of(fmt: Format) -> str:
    """Return the shortest description of a float of 2 to 32 bits; it says nothing of the name.

    Examples
    --------
    >>> import lowprec as lp
    >>> spelling_of(lp.as_format("float16")), spelling_of(lp.as_format("binary8p3se"))
    ('e5m10', 'e5m2,bias=16,nan=negative-zero')
    """
    parts = [f"e{fmt.exponent_bits}m{fmt.mantissa_bits}"]
    if fmt.bias != 2 ** (fmt.exponent_bits - 1) - 1:
        parts.append(f"bias={fmt.bias}")
    parts += [f"{name}=0" for name, has in (("signed", fmt.signed), ("inf", fmt.has_inf)) if not has]
    if fmt.nan is not NaNRule.IEEE:
        parts.append(f"nan={fmt.nan.value}")
    return ",".join([*parts, *([] if fmt.has_zero else ["zero=0"])])
