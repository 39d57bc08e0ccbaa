"""The number formats: one row each, everything that can be derived is a property."""

from __future__ import annotations

import difflib
import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

__all__ = [
    "FORMATS",
    "NUMBERS",
    "NUMERIC",
    "FInfo",
    "Format",
    "IInfo",
    "Kind",
    "NaNRule",
    "as_format",
    "finfo",
    "iinfo",
]


class Kind(enum.Enum):
    """What a code of the format stands for."""

    FLOAT = "float"
    INT = "int"
    BOOL = "bool"
    STRING = "string"
    COMPLEX = "complex"


NUMBERS = frozenset({Kind.FLOAT, Kind.INT, Kind.BOOL})
"""The kinds that are converted by value."""


class NaNRule(enum.Enum):
    """Which codes are NaN."""

    IEEE = "ieee"  # exponent all ones, mantissa not zero
    ALL_ONES = "all-ones"  # exponent and mantissa all ones, nothing else
    NEGATIVE_ZERO = "negative-zero"  # the one code that would be -0 (FNUZ)
    NONE = "none"


@dataclass(frozen=True, slots=True, eq=False)
class Format:
    """One number format: a row of the table, and what follows from it.

    Attributes
    ----------
    name : str
        The name shared by ml_dtypes, NumPy and DLPack, ``"float8_e4m3fn"``.
    onnx_name, onnx_enum : str, int
        The name and number in ``onnx.TensorProto.DataType``.
    kind : Kind
        Float, int, bool, string or complex.
    exponent_bits, mantissa_bits : int
        Field widths. For integers ``mantissa_bits`` are the bits beside the sign.
    bias : int
        Exponent bias.
    signed : bool
        Whether the highest bit is a sign.
    has_inf : bool
        Whether the format has codes for the infinities.
    nan : NaNRule
        Which codes are NaN.
    has_zero : bool
        Whether there is a code of value zero.
    torch_name : str or None
        The attribute of ``torch`` that is this type, if there is one.
    since : int
        The first opset whose Cast takes the format.
    source : str
        Where the format is defined.
    """

    name: str
    onnx_name: str
    onnx_enum: int
    kind: Kind
    exponent_bits: int
    mantissa_bits: int
    bias: int
    signed: bool
    has_inf: bool
    nan: NaNRule
    has_zero: bool
    torch_name: str | None
    since: int
    source: str

    @property
    def bits(self) -> int:
        """Width of one code in bits (BitCast's width; a bool is a byte)."""
        if self.kind is Kind.BOOL:
            return 8
        width = self.signed + self.exponent_bits + self.mantissa_bits
        return 2 * width if self.kind is Kind.COMPLEX else width

    @property
    def storage_bits(self) -> int:
        """Width of the integer that holds one unpacked code: 8, 16, 32 or 64."""
        return max(8, 1 << (self.bits - 1).bit_length())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy or ml_dtypes dtype of the format (``object`` for strings); its codes' where neither has one."""
        return _own_dtype(self) or self.code_dtype

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """The unsigned integer dtype of unpacked codes."""
        return _UNSIGNED[self.storage_bits]

    @property
    def is_float(self) -> bool:
        """Whether the codes are floating-point numbers."""
        return self.kind is Kind.FLOAT

    @property
    def is_integer(self) -> bool:
        """Whether the codes are integers; a bool is not."""
        return self.kind is Kind.INT

    @property
    def sign_mask(self) -> int:
        """The sign bit, or 0."""
        return 1 << (self.bits - 1) if self.signed else 0

    @property
    def code_mask(self) -> int:
        """All bits of a code."""
        return (1 << self.bits) - 1

    @property
    def magnitude_mask(self) -> int:
        """All bits of a code but the sign."""
        return self.code_mask & ~self.sign_mask

    @property
    def mantissa_mask(self) -> int:
        """The mantissa field."""
        return (1 << self.mantissa_bits) - 1

    @property
    def exponent_mask(self) -> int:
        """The exponent field, in place."""
        return self.magnitude_mask & ~self.mantissa_mask

    @property
    def has_negative_zero(self) -> bool:
        """Whether there is a code for -0."""
        return self.is_float and self.signed and self.nan is not NaNRule.NEGATIVE_ZERO

    @property
    def inf_code(self) -> int | None:
        """The code of +Inf."""
        return self.exponent_mask if self.has_inf else None

    @property
    def nan_code(self) -> int | None:
        """The canonical NaN without a sign: quiet, or the only one there is."""
        if not self.is_float:
            return None
        return {
            NaNRule.IEEE: self.exponent_mask | (self.mantissa_mask + 1) >> 1,
            NaNRule.ALL_ONES: self.magnitude_mask,
            NaNRule.NEGATIVE_ZERO: self.sign_mask,
            NaNRule.NONE: None,
        }[self.nan]

    @property
    def max_code(self) -> int:
        """The code of the largest finite value."""
        if self.has_inf:
            return self.exponent_mask - 1
        if self.nan is NaNRule.ALL_ONES:
            return self.magnitude_mask - 1
        return 1 if self.kind is Kind.BOOL else self.magnitude_mask

    @property
    def emin(self) -> int:
        """Exponent of the smallest normal value."""
        return 1 - self.bias if self.has_zero else -self.bias

    @property
    def emax(self) -> int:
        """Exponent of the largest finite value."""
        return (self.max_code >> self.mantissa_bits) - self.bias

    @property
    def eps(self) -> float:
        """Distance from 1 to the next larger value."""
        return math.ldexp(1.0, -self.mantissa_bits)

    @property
    def max(self) -> float | int:
        """The largest finite value."""
        if not self.is_float:
            return self.max_code
        significand = (self.max_code & self.mantissa_mask) + (1 << self.mantissa_bits)
        return math.ldexp(significand, self.emax - self.mantissa_bits)

    @property
    def min(self) -> float | int:
        """The smallest finite value: the most negative one where there is a sign."""
        if self.is_integer:
            return -self.sign_mask
        if self.kind is Kind.BOOL:
            return 0
        return -self.max if self.signed else self.smallest_normal

    @property
    def smallest_normal(self) -> float:
        """The smallest positive normal value."""
        return math.ldexp(1.0, self.emin)

    @property
    def smallest_subnormal(self) -> float:
        """The smallest positive value."""
        return math.ldexp(1.0, self.emin - self.mantissa_bits)

    @property
    def saturates(self) -> str:
        """What an overflow does: ``"never"`` (Inf), ``"always"`` (max), ``"asked"`` (the `saturate` attribute)."""
        if self.nan is NaNRule.NONE:
            return "always"
        return "asked" if self.bits <= 8 else "never"

    def __repr__(self) -> str:
        """Return the name as the mapping `lowprec.formats` is asked for it."""
        return f"lowprec.formats[{self.name!r}]"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Pickle by name."""
        return (as_format, (self.name,))


_UNSIGNED = {bits: np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}


@cache
def _own_dtype(fmt: Format) -> np.dtype[Any] | None:
    if fmt.kind is Kind.STRING:
        return np.dtype(object)
    found = getattr(ml_dtypes, fmt.name, None) or getattr(np, fmt.name, None)
    return None if found is None else np.dtype(found)


_IEEE = "IEEE 754-2019"
_BF16 = "ONNX TensorProto.BFLOAT16: the upper half of float32"
_OFP8 = "OCP 8-bit Floating Point Specification (OFP8) 1.0, table 1"
_FNUZ = "arXiv:2206.02915; ONNX 'Float stored in 8 bits'"
_MX = "OCP Microscaling Formats (MX) 1.0, section 5.3"
_TWOS = "ONNX TensorProto.DataType; two's complement"

_FNUZ_NAN = NaNRule.NEGATIVE_ZERO

_FLOATS = (
    # name, ONNX name, enum, (exponent_bits, mantissa_bits, bias), signed, has_inf, nan, has_zero, torch, since, source
    ("float64", "DOUBLE", 11, (11, 52, 1023), True, True, NaNRule.IEEE, True, "float64", 1, _IEEE),
    ("float32", "FLOAT", 1, (8, 23, 127), True, True, NaNRule.IEEE, True, "float32", 1, _IEEE),
    ("float16", "FLOAT16", 10, (5, 10, 15), True, True, NaNRule.IEEE, True, "float16", 1, _IEEE),
    ("bfloat16", "BFLOAT16", 16, (8, 7, 127), True, True, NaNRule.IEEE, True, "bfloat16", 13, _BF16),
    ("float8_e4m3fn", "FLOAT8E4M3FN", 17, (4, 3, 7), True, False, NaNRule.ALL_ONES, True, "float8_e4m3fn", 19, _OFP8),
    ("float8_e4m3fnuz", "FLOAT8E4M3FNUZ", 18, (4, 3, 8), True, False, _FNUZ_NAN, True, "float8_e4m3fnuz", 19, _FNUZ),
    ("float8_e5m2", "FLOAT8E5M2", 19, (5, 2, 15), True, True, NaNRule.IEEE, True, "float8_e5m2", 19, _OFP8),
    ("float8_e5m2fnuz", "FLOAT8E5M2FNUZ", 20, (5, 2, 16), True, False, _FNUZ_NAN, True, "float8_e5m2fnuz", 19, _FNUZ),
    ("float8_e8m0fnu", "FLOAT8E8M0", 24, (8, 0, 127), False, False, NaNRule.ALL_ONES, False, "float8_e8m0fnu", 24, _MX),
    ("float6_e2m3fn", "FLOAT6E2M3", 27, (2, 3, 1), True, False, NaNRule.NONE, True, None, 28, _MX),
    ("float6_e3m2fn", "FLOAT6E3M2", 28, (3, 2, 3), True, False, NaNRule.NONE, True, None, 28, _MX),
    ("float4_e2m1fn", "FLOAT4E2M1", 23, (2, 1, 1), True, False, NaNRule.NONE, True, None, 23, _MX),
)  # fmt: skip
_INTEGERS = (
    # name, ONNX name, enum, signed, bits, torch, since
    ("int2", "INT2", 26, True, 2, None, 25),
    ("uint2", "UINT2", 25, False, 2, None, 25),
    ("int4", "INT4", 22, True, 4, None, 21),
    ("uint4", "UINT4", 21, False, 4, None, 21),
    ("int8", "INT8", 3, True, 8, "int8", 1),
    ("uint8", "UINT8", 2, False, 8, "uint8", 1),
    ("int16", "INT16", 5, True, 16, "int16", 1),
    ("uint16", "UINT16", 4, False, 16, "uint16", 1),
    ("int32", "INT32", 6, True, 32, "int32", 1),
    ("uint32", "UINT32", 12, False, 32, "uint32", 1),
    ("int64", "INT64", 7, True, 64, "int64", 1),
    ("uint64", "UINT64", 13, False, 64, "uint64", 1),
)
_OTHERS = (
    # name, ONNX name, enum, kind, (exponent_bits, mantissa_bits, bias), torch, since, source
    ("bool", "BOOL", 9, Kind.BOOL, (0, 1, 0), "bool", 1, "ONNX TensorProto.BOOL: a byte, 0 or 1"),
    ("string", "STRING", 8, Kind.STRING, (0, 0, 0), None, 9, "ONNX TensorProto.STRING: UTF-8 text"),
    ("complex64", "COMPLEX64", 14, Kind.COMPLEX, (8, 23, 127), "complex64", 26, "two float32; BitCast only"),
    ("complex128", "COMPLEX128", 15, Kind.COMPLEX, (11, 52, 1023), "complex128", 26, "two float64; BitCast only"),
)


def _rows() -> list[Format]:
    floats = [
        Format(name, onnx, number, Kind.FLOAT, *fields, signed, inf, nan, zero, torch, since, source)
        for name, onnx, number, fields, signed, inf, nan, zero, torch, since, source in _FLOATS
    ]
    integers = [
        Format(
            name, onnx, number, Kind.INT, 0, bits - signed, 0, signed, False, NaNRule.NONE, True, torch, since, _TWOS
        )
        for name, onnx, number, signed, bits, torch, since in _INTEGERS
    ]
    others = [
        Format(
            name, onnx, number, kind, *fields, kind is Kind.COMPLEX, kind is Kind.COMPLEX,
            NaNRule.IEEE if kind is Kind.COMPLEX else NaNRule.NONE, True, torch, since, source,
        )
        for name, onnx, number, kind, fields, torch, since, source in _OTHERS
    ]  # fmt: skip
    return floats + integers + others


FORMATS: Mapping[str, Format] = MappingProxyType({row.name: row for row in _rows()})
"""Every format by name, in a fixed order: floats, integers, bool, string, complex."""

NUMERIC: tuple[Format, ...] = tuple(
    row for row in FORMATS.values() if row.kind in NUMBERS
)  # fmt: skip
"""The formats that Cast converts by value: all but strings and complex numbers."""

_BY_NAME = {alias: row for row in FORMATS.values() for alias in (row.name, row.onnx_name)}
_BY_ENUM = {row.onnx_enum: row for row in FORMATS.values()}
_BY_DTYPE = {_own_dtype(row): row for row in FORMATS.values() if row.kind is not Kind.STRING}


def _lookup(spec: object) -> Format | None:
    if isinstance(spec, Format):
        return spec
    if isinstance(spec, str):
        return _BY_NAME.get(spec)
    if isinstance(spec, (int, np.integer)) and not isinstance(spec, (bool, np.bool)):
        return _BY_ENUM.get(int(spec))
    if isinstance(spec, np.dtype):
        return _BY_DTYPE.get(spec.newbyteorder("="))
    if isinstance(spec, type) and issubclass(spec, np.generic):
        return _BY_DTYPE.get(np.dtype(spec))
    if isinstance(spec, type) or spec is None:  # float, int: which width is meant is anyone's guess
        return None
    # torch, array_api_strict and others print a dtype as "library.name"
    library, _, name = str(spec).rpartition(".")
    return _BY_NAME.get(name) if library.isidentifier() else None


def as_format(spec: object, /, *, parameter: str = "fmt") -> Format:
    """Return the format that `spec` names.

    Parameters
    ----------
    spec : str, int, dtype or Format
        A name (``"float8_e4m3fn"``), an ONNX name (``"FLOAT8E4M3FN"``) or enum value (``17``), a NumPy,
        ml_dtypes, CuPy, torch or other array-API dtype, or a `Format`.
    parameter : str
        The name of the caller's parameter, for the message.

    Returns
    -------
    Format
        The row of `lowprec.formats`.

    Raises
    ------
    ValueError
        If nothing in the table goes by that name.

    Notes
    -----
    Source: ``onnx.TensorProto.DataType``, opset 28.

    Examples
    --------
    >>> import lowprec as lp
    >>> lp.as_format("FLOAT8E4M3FN").name, lp.as_format(23).name
    ('float8_e4m3fn', 'float4_e2m1fn')
    """
    found = _lookup(spec)
    if found is not None:
        return found
    close = difflib.get_close_matches(spec, _BY_NAME, 3, 0.5) if isinstance(spec, str) else []
    names = f"one of {', '.join(FORMATS)}, an ONNX name or enum value, or a dtype"
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    raise ValueError(f"`{parameter}` must be {names}; got {spec!r}{hint}")


@dataclass(frozen=True, slots=True)
class FInfo:
    """Facts of a float format: the array-API fields, then the facts about codes (see `finfo`)."""

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


@dataclass(frozen=True, slots=True)
class IInfo:
    """Facts of an integer format (see `iinfo`)."""

    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]


def finfo(fmt: object, /) -> FInfo:
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

    Raises
    ------
    ValueError
        If `fmt` is no format or no float.

    Notes
    -----
    Source: the row's own ``source``; array API 2024.12, ``finfo``.

    Examples
    --------
    >>> import lowprec as lp
    >>> lp.finfo("float8_e4m3fn").max, hex(lp.finfo("float8_e4m3fn").nan_code)
    (448.0, '0x7f')
    """
    row = as_format(fmt)
    if not row.is_float:
        raise ValueError(f"`fmt` must be a float format; got {row.name} (ask iinfo for integers)")
    return FInfo(
        row.bits, row.eps, float(row.max), float(row.min), row.smallest_normal, row.dtype, row.smallest_subnormal,
        row.exponent_bits, row.mantissa_bits, row.bias, row.max_code, row.inf_code, row.nan_code, row.has_negative_zero,
    )  # fmt: skip


def iinfo(fmt: object, /) -> IInfo:
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
        raise ValueError(f"`fmt` must be an integer format; got {row.name} (ask finfo for floats)")
    return IInfo(row.bits, int(row.max), int(row.min), row.dtype)
