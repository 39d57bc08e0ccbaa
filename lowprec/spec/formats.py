"""The number formats: one row each, found by every name they go by."""

from __future__ import annotations

import copyreg
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache

import numpy as np

from .arguments import printed, shown
from .format import NUMBERS, TABLE_ROWS, Format, Kind, NaNRule, own_dtype
from .format_hints import near_names, one_of
from .format_text import HEADER, cells_of
from .interned import CACHED, reduced
from .named_floats import NAMED_FLOATS
from .notebook_html import html_table
from .p3109 import has_p3109_shape, p3109_facts, p3109_problem
from .text_tables import aligned_table

__all__ = [
    "FORMATS",
    "NUMBERS",
    "NUMERIC",
    "ONNX_NAMES",
    "ONNX_NUMERIC",
    "REGISTERED",
    "ROW_NAMES",
    "Format",
    "Kind",
    "NaNRule",
    "as_format",
    "described",
    "is_in_table",
    "is_named",
    "is_onnx_row",
    "names_near",
]

_IEEE = "IEEE 754-2019"
_BF16 = "ONNX TensorProto.BFLOAT16: the upper half of float32"
_OFP8 = "OCP 8-bit Floating Point Specification (OFP8) 1.0, table 1"
_AMD = "arXiv:2206.02915; ONNX 'Float stored in 8 bits'"
_MX = "OCP Microscaling Formats (MX) 1.0, section 5.3"
_ML = "README of ml_dtypes 0.6, 'Specifications of implemented floating point formats'"
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

TABLE_ROWS.update(FORMATS.values())

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
"""The described formats that can be named, which `described_formats.register` enters; none is ever removed."""

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
"""What formats are called elsewhere; ``float8`` is also ``fp8`` and ``mxfp8``, see `format_hints`."""

_BLOCK_NAME = re.compile("(?:mx|nv)[a-z]*([0-9]{1,9})", re.IGNORECASE)
"""What names of block formats begin with, and the width of their elements."""

_BY_ENUM = {row.onnx_enum: row for row in FORMATS.values() if row.onnx_enum is not None}
_BY_DTYPE = {own_dtype(row): row for row in FORMATS.values() if row.kind is not Kind.STRING}


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
    fields = (exponent_bits, mantissa_bits, bias, signed, has_inf, nan, has_zero)
    row = ROW_NAMES.get(name)
    if row is not None and row.onnx_name is None and fields == _facts(row):
        return row
    return Format(name, None, None, Kind.FLOAT, *fields, None, None, reference)


def _facts(fmt: Format) -> tuple[object, ...]:
    layout = (fmt.exponent_bits, fmt.mantissa_bits, fmt.bias, fmt.signed)
    return (*layout, fmt.has_inf, fmt.nan, fmt.has_zero)


@lru_cache(maxsize=CACHED)
def _p3109_format(name: str) -> Format:
    return described(*p3109_facts(name))


def _p3109(name: str) -> Format | None:
    """Return the format of IEEE P3109 that a name is that of, in any case."""
    return _p3109_format(name.lower()) if has_p3109_shape(name) and not p3109_problem(name) else None


_NAMED_FLOATS = {name: described(*facts) for name, facts in NAMED_FLOATS.items()}


def _named(name: str) -> Format | None:
    return ROW_NAMES.get(name) or REGISTERED.get(name) or _NAMED_FLOATS.get(name.lower()) or _p3109(name)


def _beyond_rows(name: object) -> Format | None:
    """Return the format that has exactly this name and is no row: tf32, one of IEEE P3109 or a registered one."""
    fmt = _named(name) if isinstance(name, str) and name not in ROW_NAMES else None
    return fmt if fmt is not None and fmt.name == name else None


def _lookup(spec: object) -> Format | None:
    if isinstance(spec, Format):
        return spec
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
    fmt = _lookup(spec)
    if fmt is not None:
        return fmt
    if isinstance(spec, str) and has_p3109_shape(spec):
        raise ValueError(f"`{parameter}` {p3109_problem(spec)}; got {shown(spec)}")
    others = "an ONNX name or enum value, tf32, a name of IEEE P3109 or a registered one, or a dtype"
    hint = _hint(spec) if isinstance(spec, str) else ""
    may_be = f"It may be one of {', '.join(FORMATS)}, {others}"
    raise ValueError(f"`{parameter}` must be a format; got {shown(spec)}{hint}. {may_be}")


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
    return f" ({one_of(near)})" if near else ""


def _no_name(name: object, rows: Collection[str]) -> str:
    """Return what is wrong with a name that a table of formats does not find."""
    if isinstance(name, str) and has_p3109_shape(name) and (problem := p3109_problem(name)):
        return f"`name` {problem}; got {shown(name)}"
    known = _lookup(name)
    hint = f" ({one_of([known.name])})" if known else _hint(name) if isinstance(name, str) else ""
    others = "tf32, a name of IEEE P3109 or a registered one; lp.as_format takes ONNX names and dtypes too"
    return f"`name` must be that of a format; got {shown(name)}{hint}. It may be one of {', '.join(rows)}, {others}"


def is_in_table(fmt: Format) -> bool:
    """Whether a format is a row of the table, not only named like one."""
    return fmt in TABLE_ROWS


def is_onnx_row(fmt: Format) -> bool:
    """Whether a format is a row of the table that ONNX has a number for."""
    return fmt in TABLE_ROWS and fmt.onnx_name is not None


def is_named(fmt: Format) -> bool:
    """Whether the name of a format finds it: of rows, tf32, the formats of IEEE P3109 and registered ones."""
    return _named(fmt.name) is fmt


def _reduce(fmt: Format) -> tuple[object, tuple[object, ...]]:
    """Pickle a row of the table by its name, any other by its fields."""
    return (as_format, (fmt.name,)) if is_in_table(fmt) else reduced(fmt)


copyreg.pickle(Format, _reduce)  # type: ignore[arg-type]  # the stub asks for str arguments
