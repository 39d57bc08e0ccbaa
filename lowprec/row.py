"""What a format is: the facts that a row of the table stores, and everything that follows from them."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from .fenv import default_mode

__all__ = ["NUMBERS", "Format", "Kind", "NaNRule", "own_dtype"]


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
    @default_mode  # that of float64 is a subnormal itself
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


_UNSIGNED = {bits: np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}


@cache
def own_dtype(fmt: Format) -> np.dtype[Any] | None:
    """Return the dtype that NumPy or ml_dtypes has for a format, or None."""
    if fmt.kind is Kind.STRING:
        return np.dtype(object)
    found = getattr(ml_dtypes, fmt.name, None) or getattr(np, fmt.name, None)
    return None if found is None else np.dtype(found)
