"""Cases of Cast from and to strings, and of BitCast."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from .. import reference
from ..reference.array_cast import Codes
from ..spec.formats import ONNX_NUMERIC, STRING, Format, Kind
from .cases import Call, Case, Tensor

__all__ = ["bitcast_cases", "text_cases"]

_TINY = Fraction(1, 10**40)  # far below half an ulp of float64 at 1

_SPECIAL = ("1e400", "-1e400", "1e-400", "inf", "-inf", "nan", "INF", "-INF", "NaN", "+INF")


def _text(*words: str) -> Tensor:
    return Tensor(np.array(words, object), STRING)


def _decimals(target: Format) -> Iterator[str]:
    """Yield ties between 1 and 2, and numbers just next to them, as exact decimals."""
    ulp = Fraction(target.eps)
    for step in range(min(2**target.mantissa_bits, 8)):
        tie = 1 + (step + Fraction(1, 2)) * ulp
        for number in (tie - _TINY, tie, tie + _TINY):
            for sign in ("", "-"):
                yield sign + reference.exact_decimal(number)


def _call(x: Tensor, target: Format) -> Call:
    return Call("Cast", (x,), target, {"to": target.onnx_enum})


def text_cases() -> Iterator[Case]:
    """Yield decimals for every float with zero, long integers, and float64 numbers to print."""
    for target in ONNX_NUMERIC:
        if target.is_float and target.has_zero:
            # one call each for what a library may refuse
            for words in ([*_decimals(target), "0.1", "-0.0"], *([word] for word in _SPECIAL)):
                expected = np.array([reference.encode(word, target) for word in words], target.code_dtype)
                yield Case("text to float", _call(_text(*words), target), expected)
        elif target.is_integer and target.bits == 64:
            numbers = [0, 1, 2**53 + 1, 2**62 + 1, int(target.max), int(target.max) - 1, int(target.min)]
            codes = np.array([number % 2**64 for number in numbers], target.code_dtype)
            yield Case("text to integer", _call(_text(*map(str, numbers)), target), codes)
        if target.is_float and target.bits == 64:  # here as a source: Python's repr is this rule
            floats = [0.1, 1 / 3, 1e-4, 9.9e-5, 1e16, 9999999999999998.0, 5e-324, 1.7976931348623157e308, 100.0, -0.0]
            digits = Tensor(np.array(floats, target.dtype).view(target.code_dtype), target)
            words = [repr(number) for number in floats]
            yield Case("text from float", _call(digits, STRING), _text(*words).codes)


def _patterns(bits: int) -> Codes:
    if bits <= 16:
        return np.arange(1 << bits)
    rng = np.random.default_rng(bits)
    return np.concatenate([[0, 1, 2 ** (bits - 1) - 1], rng.integers(0, 2 ** (bits - 1), 1000)])


def bitcast_cases() -> Iterator[Case]:
    """Yield BitCast between every two formats of the same width that it takes."""
    for source in ONNX_NUMERIC:
        for target in ONNX_NUMERIC:
            if source is target or source.bits != target.bits or source.bits == 6:
                continue
            kinds = {source.kind, target.kind}
            codes = np.arange(2) if Kind.BOOL in kinds else _patterns(source.bits)
            codes = codes.astype(source.code_dtype)
            call = Call("BitCast", (Tensor(codes, source),), target, {"to": target.onnx_enum})
            yield Case("bit cast" if source.bits >= 8 else "bit cast narrow", call, codes)
