"""`finfo` and `iinfo`: the array API's facts of a format, and some about its codes."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .._notebook_display import bit_row, html_block, html_table
from .formats import as_format

__all__ = ["FInfo", "IInfo", "finfo", "iinfo"]


@dataclass(frozen=True, slots=True)
class FInfo:
    """Facts of a float format: the array-API fields, then the facts about codes (see `finfo`).

    `tiny`, `nmant`, `nexp`, `minexp` and `maxexp` are NumPy's names of some of them.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]
    smallest_subnormal: float
    exponent_bits: int
    mantissa_bits: int
    bias: int
    max_code: int
    inf_code: int | None
    nan_code: int | None
    has_negative_zero: bool

    @property
    def tiny(self) -> float:
        """The smallest normal value."""
        return self.smallest_normal

    @property
    def nmant(self) -> int:
        """The bits of the mantissa."""
        return self.mantissa_bits

    @property
    def nexp(self) -> int:
        """The bits of the exponent."""
        return self.exponent_bits

    @property
    def minexp(self) -> int:
        """The exponent of the smallest normal value, a power of two."""
        return math.frexp(self.smallest_normal)[1] - 1

    @property
    def maxexp(self) -> int:
        """The exponent of the smallest power of two beyond the largest value."""
        return math.frexp(self.max)[1]

    def _repr_html_(self) -> str:
        """Return the fields of a code as a drawing and the facts as a table, for notebooks."""
        widths = {"exponent": self.exponent_bits, "mantissa": self.mantissa_bits}
        widths = {"sign": self.bits - sum(widths.values()), **widths}
        fields = [(name, name[0].upper() * width) for name, width in widths.items()]
        label = ", ".join(f"{name} {width}" for name, width in widths.items() if width)
        return html_block(bit_row(fields, f"bits: {label}"), _facts_table(self))


@dataclass(frozen=True, slots=True)
class IInfo:
    """Facts of an integer format (see `iinfo`)."""

    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        return html_block(_facts_table(self))


def _facts_table(info: FInfo | IInfo) -> str:
    """Return the facts as HTML: codes in hexadecimal, numbers so that Python reads them back."""
    rows = [(field.name, _fact(field.name, getattr(info, field.name), info.bits)) for field in fields(info)]
    return html_table([(), *rows], f"{type(info).__name__.lower()}, {info.bits} bits")


def _fact(name: str, value: Any, bits: int) -> str:
    if value is None:
        return "none"
    return f"0x{value:0{-(-bits // 4)}x}" if name.endswith("_code") else str(value)


def finfo(fmt: object) -> FInfo:
    """Return the facts of a float format, as the array API's ``finfo`` does and some about its codes.

    Parameters
    ----------
    fmt : str, int, dtype or Format
        Any alias of a float format.

    Returns
    -------
    FInfo
        ``bits eps max min smallest_normal dtype``, then ``smallest_subnormal exponent_bits mantissa_bits bias
        max_code inf_code nan_code has_negative_zero``. ``inf_code`` and ``nan_code`` are None where there is none.
        NumPy's ``tiny nmant nexp minexp maxexp`` are there too.

    Raises
    ------
    ValueError
        If `fmt` is no format or no float.

    Notes
    -----
    Source: the row's own ``reference``; array API 2024.12, ``finfo``.

    Examples
    --------
    >>> import lowprec as lp
    >>> lp.finfo("float8_e4m3fn").max, hex(lp.finfo("float8_e4m3fn").nan_code)
    (448.0, '0x7f')
    """
    row = as_format(fmt)
    if not row.is_float:
        raise ValueError(f"`fmt` must be a float format; got {row.name} (use iinfo for integers)")
    return FInfo(**{field.name: getattr(row, field.name) for field in fields(FInfo)})


def iinfo(fmt: object) -> IInfo:
    """Return the facts of an integer format, as the array API's ``iinfo`` does.

    Parameters
    ----------
    fmt : str, int, dtype or Format
        Any alias of an integer format.

    Returns
    -------
    IInfo
        ``bits max min dtype``.

    Raises
    ------
    ValueError
        If `fmt` is no format or no integer.

    Notes
    -----
    Source: ``onnx.TensorProto.DataType``; array API 2024.12, ``iinfo``.

    Examples
    --------
    >>> import lowprec as lp
    >>> lp.iinfo("int4").min, lp.iinfo("int4").max
    (-8, 7)
    """
    row = as_format(fmt)
    if not row.is_integer:
        raise ValueError(f"`fmt` must be an integer format; got {row.name} (use finfo for floats)")
    return IInfo(**{field.name: getattr(row, field.name) for field in fields(IInfo)})
