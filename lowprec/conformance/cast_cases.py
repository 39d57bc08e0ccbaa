"""Cases of Cast, of text, of BitCast and of every rounding."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from .. import reference
from ..reference.exact_cast import decode
from ..reference.whole_arrays import (
    Codes,
    expected_from_float64,
    expected_from_integers,
    is_power,
    rounded_from_float64,
    table,
)
from ..spec.formats import FLOAT8_E8M0FNU, FLOAT32, ONNX_NUMERIC, STRING, Format, Kind, NaNRule, as_format, own_dtype
from ..spec.operator_versions import INF_IS_NAN, NEWEST
from ..spec.rounding_modes import OVERFLOWS, ROUND_MODES, ROUNDINGS, STOCHASTIC, Rounding
from ..spec.scale_rules import SCALE_RULES
from .cast_inputs import landmarks, sweep_float32, sweep_float64, sweep_int64, sweep_uint64

__all__ = [
    "Call",
    "Case",
    "ENCODE",
    "FAMILIES",
    "MODES",
    "SCALE",
    "Tensor",
    "bitcast_cases",
    "cast_cases",
    "expected_codes",
    "inputs",
    "mx_elements",
    "rounding_cases",
    "rules_of_inputs",
    "scale_cases",
    "text_cases",
    "values_of",
    "within",
]


@dataclass(frozen=True, slots=True)
class Tensor:
    """Codes of a format, in unsigned integers of its storage width; text as `str` objects."""

    codes: Codes
    fmt: Format

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The same in the dtype that NumPy or ml_dtypes has for the format."""
        return self.codes if self.fmt.kind is Kind.STRING else self.codes.view(self.fmt.dtype)

    def values(self, index: int) -> np.ndarray[Any, Any]:
        """Return the value of one code, in an array of one element."""
        one = self.codes.reshape(-1)[index : index + 1]
        if own_dtype(self.fmt) is None:
            return np.array([float(decode(int(one[0]), self.fmt))])
        return one.view(self.fmt.dtype)

    def __getitem__(self, which: Any) -> Tensor:
        """Return some of the codes."""
        return Tensor(self.codes[which], self.fmt)

    def repeated(self, index: int, copies: int) -> Tensor:
        """Return one of the codes a number of times."""
        return Tensor(np.repeat(self.codes.reshape(-1)[index : index + 1], copies), self.fmt)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator of ONNX with its inputs; `target` is the format of the output."""

    operator: str
    inputs: tuple[Tensor | None, ...]
    target: Format
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: int = NEWEST

    @property
    def is_elementwise(self) -> bool:
        """Whether every input but the first has one element: each element of the output comes of one element."""
        return all(one is None or one.codes.size == 1 for one in self.inputs[1:])


@dataclass(frozen=True, slots=True)
class Case:
    """A call, its rule and the expected codes: None where it must be refused; `control` is a valid call like it."""

    rule: str
    call: Call
    expected: Codes | None
    control: Call | None = None


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


def _text_call(x: Tensor, target: Format) -> Call:
    return Call("Cast", (x,), target, {"to": target.onnx_enum})


def text_cases() -> Iterator[Case]:
    """Yield decimals for every float with zero, long integers, and float64 numbers to print."""
    for target in ONNX_NUMERIC:
        if target.is_float and target.has_zero:
            # one call each for what a library may refuse
            for words in ([*_decimals(target), "0.1", "-0.0"], *([word] for word in _SPECIAL)):
                expected = np.array([reference.encode(word, target) for word in words], target.code_dtype)
                yield Case("text to float", _text_call(_text(*words), target), expected)
        elif target.is_integer and target.bits == 64:
            numbers = [0, 1, 2**53 + 1, 2**62 + 1, int(target.max), int(target.max) - 1, int(target.min)]
            codes = np.array([number % 2**64 for number in numbers], target.code_dtype)
            yield Case("text to integer", _text_call(_text(*map(str, numbers)), target), codes)
        if target.is_float and target.bits == 64:  # here as a source: Python's repr is this rule
            floats = [0.1, 1 / 3, 1e-4, 9.9e-5, 1e16, 9999999999999998.0, 5e-324, 1.7976931348623157e308, 100.0, -0.0]
            digits = Tensor(np.array(floats, target.dtype).view(target.code_dtype), target)
            words = [repr(number) for number in floats]
            yield Case("text from float", _text_call(digits, STRING), _text(*words).codes)


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


ENCODE = "encode"
"""The operator of a case: `lowprec.encode` with `rounding=` and `overflow=`."""
SCALE = "mx_quantize"
"""The operator of a case: the scale that `lowprec.mx_quantize` gives a block whose largest magnitude is x."""

MODES = tuple(mode for mode in ROUNDINGS if mode != STOCHASTIC[0])
RANDOM_BITS = 5
"""Of the stochastic cases, in which every element has the same random number."""
_RANDOM = (0, 11, 31)
_MOST_LANDMARKS = 1500
_BELOW = ("nearest_even", "toward_zero", "toward_positive", "toward_negative")


def _p3109() -> tuple[Format, ...]:
    """Return IEEE P3109's formats of 8 bits with a precision of 1, 3, 4 and 7."""
    kinds = [f"{sign}{domain}" for sign in "su" for domain in "ef"]
    return tuple(as_format(f"binary8p{precision}{kind}") for precision in (1, 3, 4, 7) for kind in kinds)


def _floats(chosen: Any) -> tuple[Format, ...]:
    return tuple(fmt for fmt in ONNX_NUMERIC if fmt.is_float and fmt.bits <= 16 and chosen(fmt))


FAMILIES: dict[str, tuple[Format, ...]] = {
    "wide": _floats(lambda fmt: fmt.bits == 16),
    "float8": _floats(lambda fmt: fmt.bits == 8 and fmt.has_zero),
    "small": _floats(lambda fmt: fmt.bits < 8),
    "P3109": _p3109(),
    "power": _floats(is_power),
}
"""The targets, by the group of rows that they make."""


def mx_elements() -> tuple[Format, ...]:
    """Return the element formats of OCP MX: the floats of at most 8 bits that have a zero, and -0."""
    return _floats(lambda fmt: fmt.bits <= 8 and fmt.has_zero and fmt.nan is not NaNRule.NEGATIVE_ZERO)


def _inputs(target: Format) -> Codes:
    """Return float32 numbers: values of the target, ties, their neighbours, limits, random ones, Inf.

    Both signs, but for powers of two, which ignore them.
    """
    marks = landmarks(target)
    marks = marks[:: 1 + len(marks) // _MOST_LANDMARKS]
    rng = np.random.default_rng(target.bits)
    beyond = float(target.max) * np.array([1, 1.5, 2, 3, 1e6])
    scattered = rng.choice(marks, 500) * rng.uniform(0.5, 2, 500)
    with np.errstate(over="ignore", under="ignore"):
        fixed = np.concatenate([marks, beyond, 2.0 ** np.arange(-149, 128, 5)]).astype(np.float32)
        scattered = scattered.astype(np.float32)
    near = [fixed, np.nextafter(fixed, np.float32(np.inf)), np.nextafter(fixed, np.float32(0)), scattered]
    magnitudes = np.concatenate([*near, np.array([np.inf], np.float32)])
    found: Codes = magnitudes if is_power(target) else np.concatenate([magnitudes, -magnitudes])
    return found


def within(x: Codes, target: Format) -> tuple[Codes, Codes, Codes]:
    """Return the numbers within the range of a target, those beyond its largest value, and those below the range."""
    magnitudes = np.abs(x)
    over = magnitudes > np.float64(target.max)
    below = magnitudes < np.float64(target.smallest_normal) if is_power(target) else np.zeros(x.shape, bool)
    if target.has_zero and not target.signed:
        below = (x < 0) & (magnitudes > 0)
        over &= ~below
    return x[~over & ~below], x[over], x[below]


def _case(rule: str, x: Codes, target: Format, rounding: Rounding, attributes: dict[str, Any]) -> Case:
    random = np.full(x.shape, attributes["random"], np.uint64) if "random" in attributes else None
    call = Call(ENCODE, (Tensor(x.view(np.uint32), FLOAT32),), target, attributes)
    return Case(rule, call, rounded_from_float64(x.astype(np.float64), target, rounding, random))


def _to(family: str, target: Format) -> Iterator[Case]:
    inside, over, below = within(_inputs(target), target)
    usual = OVERFLOWS[0] if target.bits <= 8 else OVERFLOWS[2]
    for mode in MODES:
        if mode not in STOCHASTIC:
            rounding = Rounding(mode, usual, "signed")
            yield _case(f"round {family} {mode}", inside, target, rounding, {"rounding": mode})
            continue
        for random in _RANDOM:
            attributes: dict[str, Any] = {"rounding": mode, "random_bits": RANDOM_BITS, "random": random}
            rounding = Rounding(mode, usual, "signed", RANDOM_BITS)
            yield _case(f"round {family} {mode}", inside, target, rounding, attributes)
    for overflow in OVERFLOWS:
        for mode in (mode for mode in MODES if mode not in STOCHASTIC):
            rounding, attributes = Rounding(mode, overflow, "signed"), {"rounding": mode, "overflow": overflow}
            yield _case(f"round {family} over {overflow}", over, target, rounding, attributes)
            if below.size and mode in _BELOW:
                yield _case(f"round {family} below {overflow}", below, target, rounding, attributes)


def rounding_cases() -> Iterator[Case]:
    """Yield every rounding mode to every target: within the range; with every overflow rule beyond it."""
    for family, targets in FAMILIES.items():
        for target in targets:
            yield from _to(family, target)


def _largest_magnitudes(element: Format) -> Codes:
    """Return float32 magnitudes at which a scale rule changes its mind, and those next to them."""
    top = float(element.max) / 2.0 ** np.floor(np.log2(float(element.max)))
    carried = 2 - 0.5 ** (element.mantissa_bits + 1)  # the tie from which a mantissa is rounded up to 2
    marks = np.array([1, top, carried, np.sqrt(2)])[:, None] * 2.0 ** np.r_[-149:-120:3, -20:20, 100:128]
    with np.errstate(over="ignore", under="ignore"):
        fixed = marks.ravel().astype(np.float32)
    found = np.concatenate([[0], fixed, np.nextafter(fixed, np.float32(0)), np.nextafter(fixed, np.float32(np.inf))])
    finite: Codes = found[np.isfinite(found)].astype(np.float32)
    return finite


def _exponents(a: Codes, element: Format, rule: str) -> Codes:
    """Return the exponents of the scales of float32 magnitudes a; every step is exact in float64."""
    fraction, exponent = np.frexp(a.astype(np.float64))
    fraction, exponent = 2 * fraction, exponent - 1  # a = fraction * 2**exponent, fraction from 1 to 2
    top, largest = np.frexp(float(element.max))
    top, largest = 2 * top, int(largest) - 1
    steps = 2.0**element.mantissa_bits
    carries = {
        "floor": np.zeros(a.shape, bool),
        "ceil": fraction > 1,
        "rceil": fraction > top,
        "even": np.floor(fraction * steps + 0.5) >= 2 * steps,
        "nearest": fraction * fraction >= 2,
    }
    found: Codes = np.clip(exponent + carries[rule] - largest, -127, 127)
    return found


def scale_cases() -> Iterator[Case]:
    """Yield every scale rule for every element format; a block of zeros has the code 00."""
    for element in mx_elements():
        a = _largest_magnitudes(element)
        for rule in SCALE_RULES:
            codes = np.where(a > 0, _exponents(a, element, rule) + 127, 0).astype(np.uint8)
            attributes = {"element": element.name, "scale_rule": rule}
            call = Call(SCALE, (Tensor(a.view(np.uint32), FLOAT32),), FLOAT8_E8M0FNU, attributes)
            yield Case(f"scale {rule}", call, codes)


_SWEEP = 1000  # random inputs on top of the edges


@functools.lru_cache(maxsize=64)
def values_of(source: Format) -> Codes:
    """Return the value of every code of a float format of at most 16 bits, as float64; NaNs with their sign."""
    rows = table(source)
    values = np.full(1 << source.bits, np.nan)
    values[rows.negative_codes] = -rows.values
    values[rows.codes] = rows.values
    for code in np.flatnonzero(np.isnan(values)):
        values[code] = float(reference.decode(int(code), source))
    return values


def inputs(source: Format, target: Format) -> tuple[Codes, Codes]:
    """Return codes of a source, and their exact values as float64, int64 or uint64."""
    if source.bits <= 16:
        codes = np.arange(2 if source.kind is Kind.BOOL else 1 << source.bits)
        if source.is_float:
            return codes.astype(source.code_dtype), values_of(source)
        return codes.astype(source.code_dtype), np.where(codes & source.sign_mask, codes - (1 << source.bits), codes)
    if source.is_float:
        floats = (sweep_float32 if source.bits == 32 else sweep_float64)(target, count=_SWEEP)
        with np.errstate(invalid="ignore"):  # signalling NaNs
            return floats.view(source.code_dtype), floats.astype(np.float64)
    integers = (sweep_int64 if source.signed else sweep_uint64)(target, count=_SWEEP)
    if source.bits == 32:
        integers = integers[(integers >= int(source.min)) & (integers <= int(source.max))].astype(np.int64)
    return integers.astype(source.dtype).view(source.code_dtype), integers


def expected_codes(values: Codes, target: Format, **options: Any) -> Codes:
    """Return the codes that Cast gives exact values: float64, int64 or uint64."""
    from_values = expected_from_float64 if values.dtype.kind == "f" else expected_from_integers
    return from_values(values, target, **options)


def _rounded_twice(values: Codes, source: Format, target: Format, options: dict[str, Any]) -> Codes:
    """Return where going through float32, or an integer through float64, gives another code or just overflows."""
    differs = np.zeros(values.shape, bool)
    if source.bits < 32 or (source.is_float and source.bits == 32):
        return differs
    unsaturated = {**options, "saturate": False}  # which tells the overflow from the largest value
    once = expected_codes(values, target, **unsaturated)
    with np.errstate(all="ignore"):
        through = [values.astype(np.float32).astype(np.float64)] if target.bits < 32 else []
        if not source.is_float and target.bits < 64:
            through.append(values.astype(np.float64))
    for route in through:
        differs |= expected_codes(route, target, **unsaturated) != once
    return differs & np.isfinite(values)


def _beyond(values: Codes, target: Format) -> Codes:
    """Return which finite values round beyond the largest of a float target."""
    a = np.abs(values.astype(np.float64))
    if target.bits > 16:
        with np.errstate(over="ignore", invalid="ignore"):
            over = np.isinf(a.astype(target.dtype))
    else:
        rows = table(target)
        over = (a > rows.midpoints[-1]) | ((a == rows.midpoints[-1]) & bool(rows.codes[-1] & 1))
    overflows: Codes = np.isfinite(a) & over
    return overflows


def _to_float(
    source: Format, target: Format, codes: Codes, values: Codes, options: dict[str, Any]
) -> Iterator[tuple[str, Codes]]:
    """Yield the rules of a float target, the first that holds for an input last."""
    group = "wide" if target.bits >= 16 else "float8" if target.bits == 8 else "small"
    saturate = " saturate" if target.saturates == "asked" and options["saturate"] else ""
    nan, inf = np.isnan(values), np.isinf(values)
    yield "wide exact" if group == "wide" and source.bits <= 8 else f"{group} nearest", np.ones(values.shape, bool)
    yield f"{group} overflow{saturate}", _beyond(values, target)
    yield f"{group} once", _rounded_twice(values, source, target, options)
    if options["opset"] < NEWEST:
        yield "FNUZ Inf", inf
        return
    yield f"{group} Inf{saturate}" if group == "float8" else f"{group} overflow", inf
    yield f"{group} NaN", nan
    if group == "wide" and source.is_float and source.nan is NaNRule.IEEE:
        canonical = np.array(source.nan_code, codes.dtype)
        yield "wide payload", nan & ((codes & np.array(source.magnitude_mask, codes.dtype)) != canonical)


def _to_power(source: Format, target: Format, values: Codes, options: dict[str, Any]) -> Iterator[tuple[str, Codes]]:
    """Yield the rules of a power-of-two target, the first that holds for an input last."""
    saturate = " saturate" if options["saturate"] else ""
    rows = table(target)
    yield f"power {options['round_mode']}", np.ones(values.shape, bool)
    yield "power once", _rounded_twice(values, source, target, options)
    yield f"power below{saturate}", values < rows.values[0]
    yield f"power above{saturate}", values > rows.values[-1]
    yield f"power Inf{saturate}", np.isinf(values)
    yield "power negative", np.signbit(values) if values.dtype.kind == "f" else values < 0
    yield "power NaN", np.isnan(values)


def _to_integer(source: Format, target: Format, values: Codes) -> Iterator[tuple[str, Codes]]:
    group = "narrow" if target.bits < 8 else "whole"
    if not source.is_float:
        yield f"{group} low bits", np.ones(values.shape, bool)
        return
    yield f"{group} truncate", np.ones(values.shape, bool)
    yield "whole beyond", (np.trunc(values) < float(target.min)) | (np.trunc(values) >= float(target.max) + 1)
    yield "whole special", ~np.isfinite(values)


def rules_of_inputs(
    source: Format, target: Format, codes: Codes, values: Codes, options: dict[str, Any]
) -> dict[str, Codes]:
    """Return which inputs each rule decides; every input has one."""
    if target.kind is Kind.BOOL:
        return {"bool": np.ones(values.shape, bool)}
    if target.is_integer:
        rules = _to_integer(source, target, values)
    elif is_power(target):
        rules = _to_power(source, target, values, options)
    else:
        rules = _to_float(source, target, codes, values, options)
    sorted_by: dict[str, Codes] = {}
    with np.errstate(invalid="ignore"):  # signalling NaNs
        for name, decides in rules:
            for others in sorted_by.values():
                others &= ~decides
            sorted_by[name] = sorted_by.get(name, False) | decides
    return sorted_by


def _options(target: Format) -> Iterator[dict[str, Any]]:
    """Yield every set of options that makes a difference to the target."""
    by_attribute = target.saturates == "asked"
    for saturate in (True, False) if by_attribute else (True,):
        for round_mode in ROUND_MODES if is_power(target) else (None,):
            yield {"saturate": saturate, "round_mode": round_mode, "opset": NEWEST}
    if target.nan is NaNRule.NEGATIVE_ZERO:
        yield {"saturate": True, "round_mode": None, "opset": INF_IS_NAN[-1]}


def _call(source: Format, target: Format, codes: Codes, options: dict[str, Any]) -> Call:
    attributes: dict[str, Any] = {"to": target.onnx_enum}
    if target.saturates == "asked":
        attributes["saturate"] = int(options["saturate"])
    if options["round_mode"]:
        attributes["round_mode"] = options["round_mode"]
    return Call("Cast", (Tensor(codes, source),), target, attributes, options["opset"])


def _same(fmt: Format) -> Iterator[Case]:
    codes, values = inputs(fmt, fmt)
    for options in _options(fmt):
        if options["opset"] == NEWEST and options["round_mode"] in (None, ROUND_MODES[0]):
            by_table = fmt.saturates == "asked" and fmt.has_inf and options["saturate"]
            expected = expected_codes(values, fmt, **options) if by_table else codes
            yield Case("same saturate" if by_table else "same", _call(fmt, fmt, codes, options), expected)


def cast_cases() -> Iterator[Case]:
    """Yield the cases of every source and target that hold numbers."""
    plain_first = sorted(ONNX_NUMERIC, key=lambda fmt: not (fmt.is_float and fmt.bits == 32))  # inputs that people know
    for source in plain_first:
        for target in ONNX_NUMERIC:
            if source is target:
                yield from _same(source)
                continue
            codes, values = inputs(source, target)
            for options in _options(target):
                expected = expected_codes(values, target, **options)
                for rule, which in rules_of_inputs(source, target, codes, values, options).items():
                    if which.any() and (options["opset"] == NEWEST or rule == "FNUZ Inf"):
                        yield Case(rule, _call(source, target, codes[which], options), expected[which])
