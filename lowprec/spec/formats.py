"""The number formats: one row each, found by every name they go by."""

from __future__ import annotations

import copyreg
import difflib
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from .arguments import printed, shown
from .format import NUMBERS, Format, Kind, NaNRule, own_dtype
from .interned import reduced

__all__ = ["FORMATS", "NUMBERS", "NUMERIC", "Format", "Kind", "NaNRule", "as_format", "is_in_table"]

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
_BY_DTYPE = {own_dtype(row): row for row in FORMATS.values() if row.kind is not Kind.STRING}


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
    raise ValueError(f"`{parameter}` must be {names}; got {shown(spec)}{hint}")


def is_in_table(fmt: Format) -> bool:
    """Whether a format is a row of the table, not only named like one."""
    return FORMATS.get(fmt.name) == fmt


def _reduce(fmt: Format) -> tuple[object, tuple[object, ...]]:
    """Pickle a row of the table by its name, any other by its fields."""
    return (as_format, (fmt.name,)) if is_in_table(fmt) else reduced(fmt)


copyreg.pickle(Format, _reduce)  # type: ignore[arg-type]  # the stub asks for str arguments
