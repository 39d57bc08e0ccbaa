"""What a format is: its row, the table of all rows, all that follows from a row, found by every name."""

from __future__ import annotations

import copyreg
import difflib
import enum
import math
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import NoneType
from typing import Any

import ml_dtypes
import numpy as np

from .._float_mode import default_mode
from .._notebook_display import aligned_table, html_block, html_table
from .format_text import HEADER, call_text, card_of, cells_of, code_row, one_line
from .memo import CACHED, Interned, reduced
from .p3109 import has_p3109_shape, p3109_facts, p3109_problem
from .scalar_arguments import printed, shown

__all__ = [
    "BLOCK_FORMATS",
    "FORMATS",
    "NUMBERS",
    "NUMERIC",
    "NVFP4",
    "ONNX_NAMES",
    "ONNX_NUMERIC",
    "REGISTERED",
    "ROW_NAMES",
    "TF32",
    "Format",
    "Kind",
    "NaNRule",
    "as_format",
    "described",
    "element_of",
    "has_fixed_name",
    "is_in_table",
    "is_named",
    "is_onnx_row",
    "names_near",
    "one_of",
    "own_dtype",
]


class Kind(enum.Enum):
    """What a code of the format stands for."""

    FLOAT = "float"
    INT = "int"
    BOOL = "bool"
    STRING = "string"
    COMPLEX = "complex"

    __hash__ = object.__hash__  # that of an Enum is a Python function


NUMBERS = frozenset({Kind.FLOAT, Kind.INT, Kind.BOOL})
"""The kinds that are converted by value."""


class NaNRule(enum.Enum):
    """Which codes are NaN."""

    IEEE = "ieee"  # exponent all ones, mantissa not zero
    ALL_ONES = "all-ones"  # exponent and mantissa all ones, nothing else
    NEGATIVE_ZERO = "negative-zero"  # the one code that would be -0 (FNUZ)
    NONE = "none"

    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class Format(metaclass=Interned):
    """One number format: a row of the table, and what follows from it.

    Equal descriptions are one object, unpickled ones too. A description that contradicts itself is a ValueError.

    The NaN rule says how many of the topmost magnitude codes are NaN: all with the exponent all ones and a mantissa
    that is not 0, the last one alone, or none. Inf, where there is one, is the highest code below those, and the
    largest finite value comes next.

    Attributes
    ----------
    name : str
        The name shared by ml_dtypes, NumPy and DLPack, ``"float8_e4m3fn"``.
    onnx_name, onnx_enum : str, int, or both None
        The name and number in ``onnx.TensorProto.DataType``; None where ONNX lacks the format.
    kind : Kind
        Float, int, bool, string or complex.
    exponent_bits, mantissa_bits : int
        Field widths: of a float 1 to 11, and 0 to 52. For integers ``mantissa_bits`` are the bits without the sign.
    bias : int
        Exponent bias; float64 must hold every value.
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
    since : int or None
        The first opset whose Cast takes the format; None where ONNX lacks it.
    reference : str
        Where the format is defined.
    """

    name: str
    onnx_name: str | None
    onnx_enum: int | None
    kind: Kind
    exponent_bits: int
    mantissa_bits: int
    bias: int
    signed: bool
    has_inf: bool
    nan: NaNRule
    has_zero: bool
    torch_name: str | None
    since: int | None
    reference: str

    def __post_init__(self) -> None:
        """Raise ValueError for fields that are no format."""
        check_fields(self)

    @property
    def source(self) -> str:
        """The old name of `reference`; it warns."""
        warnings.warn("Format.source is Format.reference now", DeprecationWarning, stacklevel=2)
        return self.reference

    @cached_property
    def bits(self) -> int:
        """Width of one code in bits (BitCast's width; a bool is a byte)."""
        if self.kind is Kind.BOOL:
            return 8
        width = self.signed + self.exponent_bits + self.mantissa_bits
        return 2 * width if self.kind is Kind.COMPLEX else width

    @cached_property
    def storage_bits(self) -> int:
        """Width of the integer that holds one unpacked code: 8, 16, 32 or 64."""
        return max(8, 1 << (self.bits - 1).bit_length())

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy or ml_dtypes dtype of the format (``object`` for strings); its codes' where neither has one."""
        return own_dtype(self) or self.code_dtype

    @cached_property
    def code_dtype(self) -> np.dtype[Any]:
        """The unsigned integer dtype of unpacked codes."""
        return _CODE_DTYPES[self.storage_bits]

    @cached_property
    def is_float(self) -> bool:
        """Whether the codes are floating-point numbers."""
        return self.kind is Kind.FLOAT

    @cached_property
    def is_integer(self) -> bool:
        """Whether the codes are integers; a bool is not."""
        return self.kind is Kind.INT

    @cached_property
    def sign_mask(self) -> int:
        """The sign bit, or 0."""
        return 1 << (self.bits - 1) if self.signed else 0

    @cached_property
    def code_mask(self) -> int:
        """All bits of a code."""
        return (1 << self.bits) - 1

    @cached_property
    def magnitude_mask(self) -> int:
        """All bits of a code but the sign."""
        return self.code_mask & ~self.sign_mask

    @cached_property
    def mantissa_mask(self) -> int:
        """The mantissa field."""
        return (1 << self.mantissa_bits) - 1

    @cached_property
    def exponent_mask(self) -> int:
        """The exponent field, in place."""
        return self.magnitude_mask & ~self.mantissa_mask

    @cached_property
    def has_negative_zero(self) -> bool:
        """Whether there is a code for -0."""
        return self.is_float and self.signed and self.nan is not NaNRule.NEGATIVE_ZERO

    @cached_property
    def nan_count(self) -> int:
        """How many of the topmost magnitude codes are NaN."""
        return {NaNRule.IEEE: self.mantissa_mask, NaNRule.ALL_ONES: 1}.get(self.nan, 0)

    @cached_property
    def inf_code(self) -> int | None:
        """The code of +Inf: the highest magnitude code that is no NaN."""
        return self.magnitude_mask - self.nan_count if self.has_inf else None

    @cached_property
    def nan_code(self) -> int | None:
        """The canonical NaN without a sign: quiet, or the only one there is; None without NaN."""
        if not self.is_float:
            return None
        codes = {
            NaNRule.IEEE: self.exponent_mask | (self.mantissa_mask + 1) >> 1,
            NaNRule.ALL_ONES: self.magnitude_mask,
            NaNRule.NEGATIVE_ZERO: self.sign_mask,
        }
        return codes.get(self.nan)

    @cached_property
    def max_code(self) -> int:
        """The code of the largest finite value."""
        return 1 if self.kind is Kind.BOOL else self.magnitude_mask - self.nan_count - self.has_inf

    def magnitude(self, code: int) -> float:
        """Return the value of a magnitude code of a float as if none were NaN or Inf, also of the one past them all."""
        field = code >> self.mantissa_bits
        hidden = 0 if field == 0 and self.has_zero else 1 << self.mantissa_bits
        unit = max(field, self.has_zero) - self.bias - self.mantissa_bits
        return math.ldexp((code & self.mantissa_mask) + hidden, unit)

    def value(self, code: int) -> float:
        """Return the value of a code of a float."""
        magnitude = code & self.magnitude_mask
        if code == self.nan_code or magnitude > self.magnitude_mask - self.nan_count:
            return math.nan
        value = math.inf if magnitude == self.inf_code else self.magnitude(magnitude)
        return -value if code & self.sign_mask else value

    @cached_property
    def emin(self) -> int:
        """Exponent of the smallest normal value."""
        return 1 - self.bias if self.has_zero else -self.bias

    @cached_property
    def emax(self) -> int:
        """Exponent of the largest finite value; where all values are subnormal, `emin`."""
        return max(self.max_code >> self.mantissa_bits, self.has_zero) - self.bias

    @cached_property
    def eps(self) -> float:
        """Distance from 1 to the next larger value."""
        return math.ldexp(1.0, -self.mantissa_bits)

    @cached_property
    def max(self) -> float | int:
        """The largest finite value."""
        return self.magnitude(self.max_code) if self.is_float else self.max_code

    @cached_property
    def min(self) -> float | int:
        """The smallest finite value: the most negative one where there is a sign."""
        if self.is_integer:
            return -self.sign_mask
        if self.kind is Kind.BOOL:
            return 0
        if self.signed:
            return -self.max
        return 0.0 if self.has_zero else self.smallest_normal

    @cached_property
    def smallest_normal(self) -> float:
        """The smallest positive normal value."""
        return math.ldexp(1.0, self.emin)

    @cached_property
    @default_mode  # that of float64 is a subnormal itself
    def smallest_subnormal(self) -> float:
        """The smallest positive value."""
        return math.ldexp(1.0, self.emin - self.mantissa_bits)

    @cached_property
    def saturates(self) -> str:
        """What an overflow does: ``"never"`` (Inf), ``"always"`` (max), ``"asked"`` (the `saturate` attribute)."""
        if self.nan is NaNRule.NONE and not self.has_inf:
            return "always"
        return "asked" if self.bits <= 8 else "never"

    def __repr__(self) -> str:
        """Return the facts of a row of the table; of any other format the call that makes it again."""
        if is_in_table(self):
            return f"<Format {self.name}: {one_line(self)}>"
        if not has_fixed_name(self.name):
            return call_text(self, True)
        return f"lp.as_format({self.name!r})" if is_named(self) else call_text(self, False)

    def _repr_html_(self) -> str:
        """Return the fields as a drawing and the facts as a table, for notebooks."""
        return html_block(code_row(self), html_table([(), *card_of(self)], self.name))


_CODE_DTYPES = {bits: np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}


# ---- which values of the fields go together

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
        fixed = " or ".join(map(str, sorted(_FIXED[fmt.kind], key=str)))
        _require(fields in _FIXED[fmt.kind], "kind", f"float unless its fields are {fixed}", (fmt.kind, *fields))


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


# ---- the dtypes of NumPy and ml_dtypes


@lru_cache(maxsize=CACHED)
def own_dtype(fmt: Format) -> np.dtype[Any] | None:
    """Return the dtype that NumPy or ml_dtypes has for a format, or None; the name and every fact must agree."""
    if fmt.kind is Kind.STRING:
        return np.dtype(object)
    scalar_type = getattr(ml_dtypes, fmt.name, None) or getattr(np, fmt.name, None)
    if not (isinstance(scalar_type, type) and issubclass(scalar_type, np.generic)):
        return None
    dtype = np.dtype(scalar_type)
    return dtype if dtype.name == fmt.name and _agrees(fmt, dtype) else None  # np.half is another name of float16


def _agrees(fmt: Format, dtype: np.dtype[Any]) -> bool:
    """Whether the codes of a dtype have the values that the row says."""
    if 8 * dtype.itemsize != (fmt.bits if fmt.kind is Kind.COMPLEX else fmt.storage_bits):
        return False
    if fmt.kind is Kind.INT:
        if dtype.kind not in "iuV":  # V: the integers of ml_dtypes
            return False
        info = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
        return (info.min, info.max) == (fmt.min, fmt.max)
    if fmt.kind is not Kind.FLOAT:
        return dtype.kind == {Kind.BOOL: "b", Kind.COMPLEX: "c"}[fmt.kind]
    if dtype.kind not in "fV":
        return False
    # Where the step between two codes changes for the first time, and where a code begins to be special.
    hidden, top = 1 << fmt.mantissa_bits, fmt.magnitude_mask - fmt.nan_count
    edges = {0, 1, hidden - 1, hidden, hidden + 1, 2 * hidden + 1, top - 1, top, top + 1, fmt.magnitude_mask}
    magnitudes = [code for code in sorted(edges) if 0 <= code <= fmt.magnitude_mask]
    codes = [code | sign for sign in {0, fmt.sign_mask} for code in magnitudes]
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = np.array(codes, fmt.code_dtype).view(dtype).astype(np.float64)
    wanted = np.array([fmt.value(code) for code in codes])
    return np.array_equal(values, wanted, equal_nan=True) and np.array_equal(
        np.signbit(values[wanted == 0]), np.signbit(wanted[wanted == 0])
    )


# ---- the rows

_IEEE = "IEEE 754-2019"
_BF16 = "ONNX TensorProto.BFLOAT16: the upper half of float32"
_OFP8 = "OCP 8-bit Floating Point Specification (OFP8) 1.0, table 1"
_AMD = "arXiv:2206.02915; ONNX 'Float stored in 8 bits'"
_MX = "OCP Microscaling Formats (MX) 1.0, section 5.3"
_ML = "README of ml_dtypes 0.6, 'Specifications of implemented floating point formats'"
_NVIDIA = "NVIDIA A100 Tensor Core GPU Architecture (2020), TF32"
_TWOS = "ONNX TensorProto.DataType; two's complement"

# signed, has_inf, nan, has_zero: what the end of a name says
_IEEE_LIKE = True, True, NaNRule.IEEE, True
_FN = True, False, NaNRule.ALL_ONES, True  # finite, with NaN
_FNUZ = True, False, NaNRule.NEGATIVE_ZERO, True  # and its zero has no sign
_FINITE = True, False, NaNRule.NONE, True
_FNU = False, False, NaNRule.ALL_ONES, False  # unsigned, powers of two
_SIGNED = True, False, NaNRule.NONE, True
_UNSIGNED = False, False, NaNRule.NONE, True

_FLOAT, _INT, _COMPLEX = Kind.FLOAT, Kind.INT, Kind.COMPLEX

# The rows. A format is found by its name in FORMATS, and in this package by the constant that is its name in capitals.
# name, ONNX name, enum, kind, exponent_bits, mantissa_bits, bias, *the four above, torch, since, reference
FLOAT64 = Format("float64", "DOUBLE", 11, _FLOAT, 11, 52, 1023, *_IEEE_LIKE, "float64", 1, _IEEE)
FLOAT32 = Format("float32", "FLOAT", 1, _FLOAT, 8, 23, 127, *_IEEE_LIKE, "float32", 1, _IEEE)
FLOAT16 = Format("float16", "FLOAT16", 10, _FLOAT, 5, 10, 15, *_IEEE_LIKE, "float16", 1, _IEEE)
BFLOAT16 = Format("bfloat16", "BFLOAT16", 16, _FLOAT, 8, 7, 127, *_IEEE_LIKE, "bfloat16", 13, _BF16)
FLOAT8_E4M3FN = Format("float8_e4m3fn", "FLOAT8E4M3FN", 17, _FLOAT, 4, 3, 7, *_FN, "float8_e4m3fn", 19, _OFP8)
FLOAT8_E4M3FNUZ = Format("float8_e4m3fnuz", "FLOAT8E4M3FNUZ", 18, _FLOAT, 4, 3, 8, *_FNUZ, "float8_e4m3fnuz", 19, _AMD)
FLOAT8_E5M2 = Format("float8_e5m2", "FLOAT8E5M2", 19, _FLOAT, 5, 2, 15, *_IEEE_LIKE, "float8_e5m2", 19, _OFP8)
FLOAT8_E5M2FNUZ = Format("float8_e5m2fnuz", "FLOAT8E5M2FNUZ", 20, _FLOAT, 5, 2, 16, *_FNUZ, "float8_e5m2fnuz", 19, _AMD)
FLOAT8_E4M3 = Format("float8_e4m3", None, None, _FLOAT, 4, 3, 7, *_IEEE_LIKE, None, None, _ML)
FLOAT8_E3M4 = Format("float8_e3m4", None, None, _FLOAT, 3, 4, 3, *_IEEE_LIKE, None, None, _ML)
FLOAT8_E4M3B11FNUZ = Format("float8_e4m3b11fnuz", None, None, _FLOAT, 4, 3, 11, *_FNUZ, None, None, _ML)
FLOAT8_E8M0FNU = Format("float8_e8m0fnu", "FLOAT8E8M0", 24, _FLOAT, 8, 0, 127, *_FNU, "float8_e8m0fnu", 24, _MX)
FLOAT6_E2M3FN = Format("float6_e2m3fn", "FLOAT6E2M3", 27, _FLOAT, 2, 3, 1, *_FINITE, None, 28, _MX)
FLOAT6_E3M2FN = Format("float6_e3m2fn", "FLOAT6E3M2", 28, _FLOAT, 3, 2, 3, *_FINITE, None, 28, _MX)
FLOAT4_E2M1FN = Format("float4_e2m1fn", "FLOAT4E2M1", 23, _FLOAT, 2, 1, 1, *_FINITE, None, 23, _MX)
INT2 = Format("int2", "INT2", 26, _INT, 0, 1, 0, *_SIGNED, None, 25, _TWOS)
UINT2 = Format("uint2", "UINT2", 25, _INT, 0, 2, 0, *_UNSIGNED, None, 25, _TWOS)
INT4 = Format("int4", "INT4", 22, _INT, 0, 3, 0, *_SIGNED, None, 21, _TWOS)
UINT4 = Format("uint4", "UINT4", 21, _INT, 0, 4, 0, *_UNSIGNED, None, 21, _TWOS)
INT8 = Format("int8", "INT8", 3, _INT, 0, 7, 0, *_SIGNED, "int8", 1, _TWOS)
UINT8 = Format("uint8", "UINT8", 2, _INT, 0, 8, 0, *_UNSIGNED, "uint8", 1, _TWOS)
INT16 = Format("int16", "INT16", 5, _INT, 0, 15, 0, *_SIGNED, "int16", 1, _TWOS)
UINT16 = Format("uint16", "UINT16", 4, _INT, 0, 16, 0, *_UNSIGNED, "uint16", 1, _TWOS)
INT32 = Format("int32", "INT32", 6, _INT, 0, 31, 0, *_SIGNED, "int32", 1, _TWOS)
UINT32 = Format("uint32", "UINT32", 12, _INT, 0, 32, 0, *_UNSIGNED, "uint32", 1, _TWOS)
INT64 = Format("int64", "INT64", 7, _INT, 0, 63, 0, *_SIGNED, "int64", 1, _TWOS)
UINT64 = Format("uint64", "UINT64", 13, _INT, 0, 64, 0, *_UNSIGNED, "uint64", 1, _TWOS)
BOOL = Format("bool", "BOOL", 9, Kind.BOOL, 0, 1, 0, *_UNSIGNED, "bool", 1, "ONNX TensorProto.BOOL: a byte, 0 or 1")
STRING = Format("string", "STRING", 8, Kind.STRING, 0, 0, 0, *_UNSIGNED, None, 9, "ONNX TensorProto.STRING: UTF-8 text")
COMPLEX64 = Format(
    "complex64", "COMPLEX64", 14, _COMPLEX, 8, 23, 127, *_IEEE_LIKE, "complex64", 26, "two float32; BitCast only"
)
COMPLEX128 = Format(
    "complex128", "COMPLEX128", 15, _COMPLEX, 11, 52, 1023, *_IEEE_LIKE, "complex128", 26, "two float64; BitCast only"
)


class FormatTable(Mapping[str, Format]):
    """Every format by name, in a fixed order; shown as the table that `lowprec formats` prints.

    Lookups, `in` too, also find tf32, the formats of IEEE P3109 and registered ones by their names; loops and `len`,
    which could not list them, have the rows.

    Examples
    --------
    >>> FormatTable([INT4, BOOL])
    format  ONNX  enum  bits  s/e/m  bias  max  smallest  Inf  NaN codes  -0  Cast since
    int4    INT4  22    4                  7    -8                            21
    bool    BOOL  9     8                  1    0                             1
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: Iterable[Format]) -> None:
        self._rows = {row.name: row for row in rows}

    def __getitem__(self, name: str) -> Format:
        """Return the format of that name; the KeyError of another one suggests names."""
        fmt = self._rows.get(name) or _beyond_rows(name)
        if fmt is None:
            raise KeyError(_no_name(name, self._rows))
        return fmt

    def __contains__(self, name: object) -> bool:
        return name in self._rows or _beyond_rows(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return aligned_table([HEADER, *map(cells_of, self.values())])

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        rows = [HEADER, *(cells_of(fmt, "–") for fmt in self.values())]
        return html_table(rows, "formats", right=(2, 3, 5, 6, 7, 11))


FORMATS = FormatTable(row for row in tuple(globals().values()) if isinstance(row, Format))
"""Every format by name: floats, integers, bool, string, complex; shown as the table that ``lowprec formats`` prints.

``formats[name]`` and ``name in formats`` also find tf32, the formats of IEEE P3109 (``"binary8p3se"``) and registered
ones, which loops do not list."""

_ROWS = frozenset(FORMATS.values())
"""A described format may have the name of one of them."""


def is_in_table(fmt: Format) -> bool:
    """Whether a format is a row of the table, not only named like one."""
    return fmt in _ROWS


def is_onnx_row(fmt: Format) -> bool:
    """Whether a format is a row of the table that ONNX has a number for."""
    return fmt in _ROWS and fmt.onnx_name is not None


NUMERIC: tuple[Format, ...] = tuple(row for row in FORMATS.values() if row.kind in NUMBERS)
"""The formats that `cast` converts by value: all but strings and complex numbers."""

ONNX_NUMERIC: tuple[Format, ...] = tuple(row for row in NUMERIC if row.onnx_name is not None)
"""Those for which ONNX has a number."""

ROW_NAMES: dict[str, Format] = {
    alias: row for row in FORMATS.values() for alias in (row.name, row.onnx_name) if alias is not None
}
"""The rows by all of their names."""

ONNX_NAMES: dict[str, Format] = {alias: row for alias, row in ROW_NAMES.items() if row.onnx_name is not None}
"""The rows that ONNX has by all of their names: none of them can be described."""

REGISTERED: dict[str, Format] = {}
"""The described formats that can be named, which `custom_formats.register` enters; none is ever removed."""

_BY_ENUM = {row.onnx_enum: row for row in FORMATS.values() if row.onnx_enum is not None}
_BY_DTYPE = {own_dtype(row): row for row in FORMATS.values() if row.kind is not Kind.STRING}


# ---- formats beyond the rows, and the format of every name

TF32 = Format("tf32", None, None, _FLOAT, 8, 10, 127, *_IEEE_LIKE, None, None, _NVIDIA)
"""No row: neither ONNX nor an array library has it."""


def has_fixed_name(name: str) -> bool:
    """Whether a name is tf32 or spelled as those of IEEE P3109, in any case: no other format can have it."""
    return name.lower() == TF32.name or has_p3109_shape(name)


def described(
    name: str,
    exponent_bits: int,
    mantissa_bits: int,
    bias: int,
    signed: bool,
    has_inf: bool,
    nan: NaNRule,
    reference: str,
    has_zero: bool = True,
) -> Format:
    """Return a float that neither ONNX nor torch has: the row of that name with these facts, else one of its own."""
    fields = (exponent_bits, mantissa_bits, bias, signed, has_inf, nan, has_zero, None, None)
    row = ROW_NAMES.get(name)
    if row is not None and row is Format(name, None, None, Kind.FLOAT, *fields, row.reference):
        return row
    return Format(name, None, None, Kind.FLOAT, *fields, reference)


@lru_cache(maxsize=CACHED)
def _p3109_format(name: str) -> Format:
    facts = p3109_facts(name)
    return described(**{**facts._asdict(), "nan": NaNRule(facts.nan)})


def _p3109(name: str) -> Format | None:
    """Return the format of IEEE P3109 that a name is that of, in any case."""
    return _p3109_format(name.lower()) if has_p3109_shape(name) and not p3109_problem(name) else None


def _named(name: str) -> Format | None:
    return ROW_NAMES.get(name) or REGISTERED.get(name) or (TF32 if name.lower() == TF32.name else _p3109(name))


def _beyond_rows(name: object) -> Format | None:
    """Return the format that has exactly this name and is no row: tf32, one of IEEE P3109 or a registered one."""
    fmt = _named(name) if isinstance(name, str) and name not in ROW_NAMES else None
    return fmt if fmt is not None and fmt.name == name else None


def _lookup(spec: object) -> Format | None:
    if isinstance(spec, str):
        return _named(spec)
    if isinstance(spec, (int, np.integer)) and not isinstance(spec, (bool, np.bool)):
        return _BY_ENUM.get(int(spec))
    if isinstance(spec, np.dtype):
        return _BY_DTYPE.get(spec.newbyteorder("="))
    if isinstance(spec, type) and issubclass(spec, np.generic):
        try:
            return _BY_DTYPE.get(np.dtype(spec))
        except TypeError:  # np.floating: no type of its own
            return None
    if isinstance(spec, type) and isinstance(dtype := getattr(spec, "dtype", None), np.dtype):  # jax.numpy.bfloat16
        return _lookup(dtype)
    if isinstance(spec, type) or spec is None:  # float, int: which width is meant is anyone's guess
        return None
    # torch, array_api_strict and others print a dtype as "library.name"
    library, _, name = printed(spec).rpartition(".")
    return ROW_NAMES.get(name) if library.isidentifier() else None


def as_format(spec: object, /, *, parameter: str = "fmt") -> Format:
    """Return the format that `spec` names.

    Parameters
    ----------
    spec : str, int, dtype or Format
        A name (``"float8_e4m3fn"``), an ONNX name (``"FLOAT8E4M3FN"``) or enum value (``17``), a NumPy,
        ml_dtypes, CuPy, torch or other array-API dtype, or a `Format`; the name of a format of IEEE P3109,
        ``binary{K}p{P}{s|u}{e|f}`` with 3 to 16 bits K, or ``tf32``, in any case; a name given to `register`.
    parameter : str
        The name of the caller's parameter, for the message.

    Returns
    -------
    Format
        The row of `lowprec.formats`, or the described format.

    Raises
    ------
    ValueError
        If nothing goes by that name. Of P3109's formats, 50 of 12 bits and more have exponents that float64 lacks.

    Notes
    -----
    Source: ``onnx.TensorProto.DataType``, opset 28; IEEE P3109 interim report 4.0, 3.1, 3.2 and 4.7.1; TF32 as NVIDIA's
    A100 white paper has it.

    Examples
    --------
    >>> import lowprec as lp
    >>> lp.as_format("FLOAT8E4M3FN").name, lp.as_format(23).name
    ('float8_e4m3fn', 'float4_e2m1fn')
    >>> lp.as_format("Binary8p3se").max
    49152.0
    """
    fmt = ROW_NAMES.get(spec) if type(spec) is str else spec if isinstance(spec, Format) else None
    fmt = fmt if fmt is not None else _lookup(spec)
    if fmt is not None:
        return fmt
    if isinstance(spec, str) and has_p3109_shape(spec):
        raise ValueError(f"`{parameter}` {p3109_problem(spec)}; got {shown(spec)}")
    others = "an ONNX name or enum value, tf32, a name of IEEE P3109 or a registered one, or a dtype"
    hint = _hint(spec) if isinstance(spec, str) else ""
    may_be = f"It may be one of {', '.join(FORMATS)}, {others}"
    raise ValueError(f"`{parameter}` must be a format; got {shown(spec)}{hint}. {may_be}")


def is_named(fmt: Format) -> bool:
    """Whether the name of a format finds it: of rows, tf32, the formats of IEEE P3109 and registered ones."""
    return _named(fmt.name) is fmt


def _reduce(fmt: Format) -> tuple[object, tuple[object, ...]]:
    """Pickle a row of the table by its name, any other by its fields."""
    return (as_format, (fmt.name,)) if is_in_table(fmt) else reduced(fmt)


copyreg.pickle(Format, _reduce)  # type: ignore[arg-type]  # the stub asks for str arguments


# ---- the names that somebody may mean who wrote another one

_MOST = 3
"""Names that a message suggests."""

_LONGEST = 64
"""Characters of a text that is compared with names: what is longer is none, and comparing takes its square."""

_SPELLINGS = (
    (re.compile(r"^[a-z0-9_.]*\."), ""),
    (re.compile("[^a-z0-9]"), ""),
    (re.compile("^(mx|nv)(?=fp|float|int)"), ""),
    (re.compile("^fp?(?=[0-9])"), "float"),
    (re.compile("^(u?)i(?=[0-9])"), r"\1int"),
    (re.compile("^u(?=[0-9])"), "uint"),
)
"""Case, marks, libraries, abbreviations that do not count: F8_E4M3, fp8-e4m3, torch.Float8_e4m3 are spelled alike."""

_INTEGER_NAME = re.compile("(u?int)([0-9]{1,4})")


def _plain(text: str) -> str:
    plain = text.lower()
    for pattern, replacement in _SPELLINGS:
        plain = pattern.sub(replacement, plain)
    return plain


def _neighbours(prefix: str, width: int, names: Iterable[str]) -> list[str]:
    """Return the integers of the next smaller and the next larger width."""
    found = [(match[1], int(match[2]), name) for name in names if (match := _INTEGER_NAME.fullmatch(name))]
    widths = {bits: name for kind, bits, name in found if kind == prefix}
    below, above = [bits for bits in widths if bits < width], [bits for bits in widths if bits > width]
    return [widths[bits] for bits in (max(below, default=0), min(above, default=0)) if bits]


def near_names(text: str, names: Iterable[str], nicknames: Mapping[str, Sequence[str]]) -> list[str]:
    """Return those of `names`, at most three, that a text which is none of them may mean; the likeliest first.

    `nicknames` are what formats are called elsewhere, in lower case without marks, and the names that each stands for.

    Examples
    --------
    >>> names = ["float16", "float8_e4m3fn", "float8_e5m2", "float8_e5m2fnuz", "int2", "int4"]
    >>> [near_names(text, names, {"half": ["float16"]}) for text in ("Half", "E4M3", "e5m2", "int3", "flaot16", "")]
    [['float16'], ['float8_e4m3fn'], ['float8_e5m2'], ['int2', 'int4'], ['float16'], []]
    """
    key = _plain(text[: _LONGEST + 1])
    if not key or len(text) > _LONGEST:
        return []
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(_plain(name), name)
    meant = nicknames.get(key) or nicknames.get(re.sub("^float[0-9]+(?=e)", "", key))
    if meant:
        return list(meant)
    if key in plain:
        return [plain[key]]
    if integer := _INTEGER_NAME.fullmatch(key):
        return _neighbours(integer[1], int(integer[2]), plain.values())
    found = [one for one in plain if one.endswith(key)] or [one for one in plain if key in one]
    found = found or difflib.get_close_matches(key, plain, _MOST, 0.5)
    return [plain[one] for one in found[:_MOST]]


def one_of(names: Sequence[str]) -> str:
    """Return the question that suggests names.

    Examples
    --------
    >>> one_of(["int2", "int4"])
    'did you mean int2 or int4?'
    """
    return f"did you mean {' or '.join(names)}?"


_NICKNAMES: dict[str, tuple[Format, ...]] = {
    "e4m3": (FLOAT8_E4M3FN, FLOAT8_E4M3),
    "float8": (FLOAT8_E4M3FN, FLOAT8_E5M2),
    "float6": (FLOAT6_E2M3FN, FLOAT6_E3M2FN),
    "float4": (FLOAT4_E2M1FN,),
    "ue8m0": (FLOAT8_E8M0FNU,),
    "half": (FLOAT16,),
    "binary16": (FLOAT16,),
    "bf16": (BFLOAT16,),
    "single": (FLOAT32,),
    "binary32": (FLOAT32,),
    "float": (FLOAT32, FLOAT64),
    "double": (FLOAT64,),
    "binary64": (FLOAT64,),
    "int": (INT8, INT32, INT64),
    "uint": (UINT8, UINT32, UINT64),
}
"""What formats are called elsewhere; ``float8`` is also ``fp8`` and ``mxfp8``, see `_SPELLINGS`."""

_BLOCK_NAME = re.compile("(?:mx|nv)[a-z]*([0-9]{1,9})", re.IGNORECASE)
"""What names of block formats begin with, and the width of their elements."""


def names_near(text: str) -> list[str]:
    """Return the names, at most three, that a text which names no format may mean.

    Examples
    --------
    >>> names_near("e4m3"), names_near("mxfp4"), names_near("Float16"), names_near("int3")
    (['float8_e4m3fn', 'float8_e4m3'], ['float4_e2m1fn'], ['float16'], ['int2', 'int4'])
    >>> names_near("mxfp5")  # a block format: nothing of another width
    []
    """
    if text in ROW_NAMES:
        return [ROW_NAMES[text].name]
    nicknames = {nickname: [fmt.name for fmt in formats] for nickname, formats in _NICKNAMES.items()}
    near = near_names(text, [*FORMATS, *REGISTERED], nicknames)
    blocks = _BLOCK_NAME.match(text)
    return [name for name in near if re.search(f"[a-z]{blocks[1]}(?![0-9])", name)] if blocks else near


def _hint(text: str) -> str:
    near = names_near(text)
    blocks = f" `lowprec.quantize` takes {text}" if text in BLOCK_FORMATS else ""
    return f" ({one_of(near)}{blocks})" if near else ""


def _no_name(name: object, rows: Collection[str]) -> str:
    """Return what is wrong with a name that a table of formats does not find."""
    if isinstance(name, str) and has_p3109_shape(name) and (problem := p3109_problem(name)):
        return f"`name` {problem}; got {shown(name)}"
    known = _lookup(name)
    hint = f" ({one_of([known.name])})" if known else _hint(name) if isinstance(name, str) else ""
    others = "tf32, a name of IEEE P3109 or a registered one; lp.as_format takes ONNX names and dtypes too"
    return f"`name` must be that of a format; got {shown(name)}{hint}. It may be one of {', '.join(rows)}, {others}"


# ---- the names of block formats: elements that share a scale, by OCP MX and NVFP4

NVFP4 = "nvfp4"
"""The block format with scales in float8_e4m3fn and a global scale; the others are MX."""

BLOCK_FORMATS: dict[str, Format] = {
    "mxfp8_e4m3": FLOAT8_E4M3FN,
    "mxfp8_e5m2": FLOAT8_E5M2,
    "mxfp6_e2m3": FLOAT6_E2M3FN,
    "mxfp6_e3m2": FLOAT6_E3M2FN,
    "mxfp4": FLOAT4_E2M1FN,
    "mxint8": INT8,
    NVFP4: FLOAT4_E2M1FN,
}
"""The formats of blocks by name, and the format of their elements."""


def element_of(spec: object, parameter: str) -> Format:
    """Return the format of the elements of a block format, or the format that `spec` names; else raise ValueError.

    Examples
    --------
    >>> element_of("mxfp8_e5m2", "to").name, element_of("int4", "to").name
    ('float8_e5m2', 'int4')
    """
    if isinstance(spec, str):
        if spec in BLOCK_FORMATS:
            return BLOCK_FORMATS[spec]
        if spec.lower().startswith(("mx", "nv")):
            near = near_names(spec, BLOCK_FORMATS, {})
            hint = f" ({one_of(near)})" if near else ""
            names = ", ".join(BLOCK_FORMATS)
            raise ValueError(f"`{parameter}` must be a format, or one of blocks: {names}; got {shown(spec)}{hint}")
    return as_format(spec, parameter=parameter)
