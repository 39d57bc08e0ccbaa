"""Which described formats can be converted: those whose every finite value is a float32."""

from __future__ import annotations

from .formats import Format, is_in_table

__all__ = ["why_not_converted"]

_MOST_BITS = 16
_LARGEST_EXPONENT = 127
_SMALLEST_EXPONENT = -149
"""Of a float32: the exponents of its largest power of two and of its smallest subnormal value."""


def why_not_converted(fmt: Format) -> str:
    """Return why a float is not converted, to follow its name in a message; nothing where it is converted.

    It must have 16 bits or fewer, and float32 must hold its finite values, subnormal ones too. Rows of the table have
    no problem.

    Examples
    --------
    >>> import lowprec as lp
    >>> why_not_converted(lp.as_format("binary8p1uf"))
    ''
    >>> why_not_converted(lp.as_format("binary12p3se"))
    'whose largest value, 8.68441e+76, is not below 2^128, as those of float32 are'
    """
    if not fmt.is_float or is_in_table(fmt):
        return ""
    if fmt.bits > _MOST_BITS:
        return f"which has {fmt.bits} bits, more than {_MOST_BITS}"
    smallest = fmt.emin - fmt.mantissa_bits
    if fmt.emax > _LARGEST_EXPONENT:
        return f"whose largest value, {fmt.max:.6g}, is not below 2^{_LARGEST_EXPONENT + 1}, as those of float32 are"
    if smallest < _SMALLEST_EXPONENT:
        return f"whose smallest value, 2^{smallest}, is below 2^{_SMALLEST_EXPONENT}, the smallest of float32"
    return ""
