"""What a format is: the facts that a row of the table stores, and everything that follows from them."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from .float_mode import default_mode
from .format_checks import check_fields
from .format_text import call_text, card_of, one_line
from .interned import CACHED, Interned
from .kinds import NUMBERS, Kind
from .nan_rules import NaNRule, is_nan, nan_code, nan_count
from .notebook_html import code_row, html_block, html_table

__all__ = ["NUMBERS", "Format", "Kind", "NaNRule", "own_dtype"]


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
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
        return own_dtype(self) or self.code_dtype

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
    def nan_count(self) -> int:
        """How many of the topmost magnitude codes are NaN."""
        return nan_count(self)

    @property
    def inf_code(self) -> int | None:
        """The code of +Inf: the highest magnitude code that is no NaN."""
        return self.magnitude_mask - self.nan_count if self.has_inf else None

    @property
    def nan_code(self) -> int | None:
        """The canonical NaN without a sign: quiet, or the only one there is."""
        return nan_code(self)

    @property
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
        if is_nan(code, self):
            return math.nan
        magnitude = code & self.magnitude_mask
        value = math.inf if magnitude == self.inf_code else self.magnitude(magnitude)
        return -value if code & self.sign_mask else value

    @property
    def emin(self) -> int:
        """Exponent of the smallest normal value."""
        return 1 - self.bias if self.has_zero else -self.bias

    @property
    def emax(self) -> int:
        """Exponent of the largest finite value; where all values are subnormal, `emin`."""
        return max(self.max_code >> self.mantissa_bits, self.has_zero) - self.bias

    @property
    def eps(self) -> float:
        """Distance from 1 to the next larger value."""
        return math.ldexp(1.0, -self.mantissa_bits)

    @property
    def max(self) -> float | int:
        """The largest finite value."""
        return self.magnitude(self.max_code) if self.is_float else self.max_code

    @property
    def min(self) -> float | int:
        """The smallest finite value: the most negative one where there is a sign."""
        if self.is_integer:
            return -self.sign_mask
        if self.kind is Kind.BOOL:
            return 0
        if self.signed:
            return -self.max
        return 0.0 if self.has_zero else self.smallest_normal

    @property
    def smallest_normal(self) -> float:
        """The smallest positive normal value."""
        return math.ldexp(1.0, self.emin)

    @property
    @default_mode  # that of float64 is a subnormal itself
    def smallest_subnormal(self) -> float:
        """The smallest positive value."""
        return math.ldexp(1.0, self.emin - self.mantissa_bits)

    @property
    def saturates(self) -> str:
        """What an overflow does: ``"never"`` (Inf), ``"always"`` (max), ``"asked"`` (the `saturate` attribute)."""
        if self.nan is NaNRule.NONE and not self.has_inf:
            return "always"
        return "asked" if self.bits <= 8 else "never"

    def __repr__(self) -> str:
        """Return the facts of a row of the table; of any other format the call that makes it again."""
        return f"<Format {self.name}: {one_line(self)}>" if self in TABLE_ROWS else call_text(self)

    def _repr_html_(self) -> str:
        """Return the fields as a drawing and the facts as a table, for notebooks."""
        return html_block(code_row(self), html_table([(), *card_of(self)], self.name))


TABLE_ROWS: set[Format] = set()
"""The rows of the table, which formats.py enters; a described format may have the name of one of them."""


_UNSIGNED = {bits: np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}


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
