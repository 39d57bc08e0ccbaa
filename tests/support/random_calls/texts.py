"""Random calls of `cast` from arrays of text, with the exact oracle's answers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import reference
from lowprec.reference import Value, exact_decimal, finite_count, magnitude_of
from lowprec.spec.formats import Format
from lowprec.spec.rounding_modes import STOCHASTIC
from support.random_calls.calls import Call, Expected
from support.random_calls.casts import draw_rules
from support.random_calls.values import FORMATS, draw_shape

Rng = np.random.Generator
_FEW = 60
_FLOATS = tuple(fmt for fmt in FORMATS if fmt.is_float)
_INTEGERS = tuple(fmt for fmt in FORMATS if fmt.is_integer)
_SPECIAL = (("inf", "inf", False), ("-INF", "inf", True), ("nan", "nan", False), ("-NaN", "nan", True))


def _number(rng: Rng, fmt: Format) -> Fraction:
    """Return a magnitude: a value, a midpoint, a step beside them, or any decimal of a few digits."""
    if fmt.is_integer:
        return Fraction(int(rng.integers(0, 1 << min(fmt.bits - fmt.signed, 62))))
    code = int(rng.integers(finite_count(fmt)))
    value, after = magnitude_of(code, fmt), magnitude_of(code + 1, fmt)
    choice = rng.random()
    if choice < 0.3:
        digits = int(rng.integers(10 ** int(rng.integers(1, 18))))
        return digits * Fraction(10) ** int(rng.integers(-20, 12))
    edge = value if choice < 0.5 else (value + after) / 2
    return edge + (after - value) * Fraction(int(rng.integers(-1, 2)), 10**30) if edge else edge


def _text(rng: Rng, fmt: Format) -> tuple[str, Value]:
    if fmt.is_float and rng.random() < 0.1:
        text, special, negative = _SPECIAL[int(rng.integers(len(_SPECIAL)))]
        return text, Value(Fraction(0), negative, special)
    negative = bool(rng.random() < 0.4) and fmt.signed
    number = abs(_number(rng, fmt))
    plain = exact_decimal(number)
    scientific = f"{Decimal(plain):e}" if fmt.is_float and rng.random() < 0.4 else plain
    return ("-" if negative else "") + scientific, Value(number, negative)


def cast_from_text(rng: Rng) -> Call:
    """Draw a call of `cast` that reads text."""
    table = _FLOATS if rng.random() < 0.8 else _INTEGERS
    fmt = table[int(rng.integers(len(table)))]
    shape = draw_shape(rng, most=_FEW)
    options: dict[str, Any] = draw_rules(rng, fmt)
    if options.get("rounding") in STOCHASTIC or fmt.is_integer:
        options = {}
    exact = {name: value for name, value in options.items() if name != "offset"}
    pairs = [_text(rng, fmt) for _ in range(int(np.prod(shape)))]
    codes = [reference.encode(value, fmt, **exact) for _, value in pairs]
    texts: Any = np.array([text for text, _ in pairs], object if rng.random() < 0.5 else str).reshape(shape)
    if shape and rng.random() < 0.3:
        texts = np.asfortranarray(texts)
    expected = [Expected(np.array(codes, np.uint64).astype(fmt.code_dtype).reshape(shape), fmt.dtype)]
    return Call(lp.cast, (texts, fmt), options, [], expected, elements=len(pairs))
