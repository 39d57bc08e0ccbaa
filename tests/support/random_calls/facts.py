"""Random calls that say facts of formats, carry arrays over, or measure losses, with exact answers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import loss, reference
from lowprec.reference.exact_cast import goes_away, place_of
from lowprec.reference.philox import random_words
from lowprec.spec.formats import FLOAT64, Format
from lowprec.spec.rounding_modes import ROUNDINGS, STOCHASTIC, Rounding
from support.random_calls.calls import Call, DifferenceError, Expected
from support.random_calls.casts import draw_stored, spelled
from support.random_calls.memory import Array, place
from support.random_calls.values import draw_codes, draw_format, draw_shape

__all__ = ["as_format", "storage_dtype", "error_statistics", "finfo", "iinfo", "saturates", "to_numpy"]

Rng = np.random.Generator
_FEW = 200


def _expect(name: str, got: object, wanted: object) -> None:
    if got != wanted and not (got != got and wanted != wanted):
        raise DifferenceError(f"{name} is {got!r}, expected {wanted!r}")


def as_format(rng: Rng) -> Call:
    """Draw a call of `as_format`."""
    fmt = draw_format(rng)
    return Call(lp.as_format, (spelled(rng, fmt),), {}, verify=lambda got: _expect("the format", got is fmt, True))


def storage_dtype(rng: Rng) -> Call:
    """Draw a call of `storage_dtype`: a dtype as wide as the codes are stored."""
    fmt = draw_format(rng)

    def verify(got: Any) -> None:
        _expect("the width", got.itemsize, max(1, 1 << max(0, (fmt.bits - 1).bit_length() - 3)))

    return Call(lp.storage_dtype, (spelled(rng, fmt), np), {}, verify=verify)


def finfo(rng: Rng) -> Call:
    """Draw a call of `finfo`: its numbers are those of all codes."""
    fmt = draw_format(rng)
    while not fmt.is_float or fmt.bits > 10:
        fmt = draw_format(rng)

    def verify(got: Any) -> None:
        decoded = [reference.decode(code, fmt) for code in range(1 << fmt.bits)]
        values = sorted({value.number for value in decoded if not value.special})
        _expect("max", Fraction(got.max), values[-1])
        _expect("min", Fraction(got.min), values[0])
        _expect("smallest_subnormal", Fraction(got.smallest_subnormal), min(value for value in values if value > 0))
        _expect("the value of max_code", reference.decode(got.max_code, fmt).number, values[-1])
        _expect("bits", got.bits, fmt.bits)
        for name, special in (("inf_code", "inf"), ("nan_code", "nan")):
            code = getattr(got, name)
            codes = [place for place, value in enumerate(decoded) if value.special == special]
            _expect(name, codes == [] if code is None else code in codes, True)

    return Call(lp.finfo, (spelled(rng, fmt),), {}, verify=verify)


def iinfo(rng: Rng) -> Call:
    """Draw a call of `iinfo`."""
    fmt = draw_format(rng, described=0)
    while not fmt.is_integer:
        fmt = draw_format(rng, described=0)
    low = -(1 << (fmt.bits - 1)) if fmt.signed else 0

    def verify(got: Any) -> None:
        _expect("the ends", (got.min, got.max, got.bits), (low, low + (1 << fmt.bits) - 1, fmt.bits))

    return Call(lp.iinfo, (spelled(rng, fmt),), {}, verify=verify)


def to_numpy(rng: Rng) -> Call:
    """Draw a call of `to_numpy` on a NumPy array."""
    fmt = draw_format(rng, described=0)
    x, bare = draw_stored(rng, fmt, draw_shape(rng))
    args = (x.array, spelled(rng, fmt)) if bare or rng.random() < 0.3 else (x.array,)
    return Call(lp.to_numpy, args, {}, [x], [Expected(x.codes, fmt.dtype)], elements=x.codes.size)


# ---- losses
def _rounds_beyond(value: reference.Value, fmt: Format, rule: Rounding, random: int | None) -> bool:
    """Whether a number rounds to one beyond the range, were the exponents to go on."""
    if value.special or not value.magnitude:
        return False
    place = place_of(value.magnitude, fmt)
    beyond = 1 if value.negative and not fmt.signed else reference.finite_count(fmt)
    return place.lower + goes_away(place, value.negative, rule, random)[0] >= beyond


def saturates(rng: Rng) -> Call:
    """Draw a call of `loss.saturates` of float64 quotients."""
    fmt = draw_format(rng)
    while not (fmt.is_float and fmt.has_zero and fmt.bits <= 16):
        fmt = draw_format(rng)
    shape = draw_shape(rng, most=_FEW)
    top = float(fmt.max)
    with np.errstate(all="ignore"):
        values = rng.choice([top, top * (1 + 2.0 ** -(fmt.mantissa_bits + 2)), top * 1.5, 1.0], shape)
        values = values * rng.choice([1.0, -1.0, 1 + 2.0**-52, 1 - 2.0**-53, rng.uniform(0.5, 1.5)], shape)
    codes = np.where(rng.random(shape) < 0.1, draw_codes(rng, FLOAT64, shape), np.asarray(values).view(np.uint64))
    x = place(rng, np.asarray(codes, np.uint64), np.float64)
    mode = str(rng.choice(ROUNDINGS))
    kwargs: dict[str, Any] = {"precision": FLOAT64, "rounding": mode}
    random: list[int | None] = [None] * x.codes.size
    bits = 0
    if mode in STOCHASTIC:
        bits = kwargs["random_bits"] = int(rng.integers(1, 33))
        kwargs["seed"] = int(rng.integers(1 << 63))
        random = [int(word) for word in random_words(kwargs["seed"], 0, x.codes.size, bits)]
    rule = Rounding("stochastic_b" if mode == "stochastic" else mode, "sat_finite", "signed", bits)
    numbers = [reference.decode(int(code), FLOAT64) for code in x.codes.reshape(-1)]
    wanted = [_rounds_beyond(value, fmt, rule, word) for value, word in zip(numbers, random, strict=True)]
    expected = Expected(np.array(wanted, np.uint8).reshape(shape), np.dtype(bool))
    return Call(loss.saturates, (x.array, spelled(rng, fmt)), kwargs, [x], [expected], elements=x.codes.size)


def _close(name: str, got: float, wanted: float, within: float) -> None:
    if got != wanted and not (math.isnan(got) and math.isnan(wanted)) and not abs(got - wanted) <= within * abs(wanted):
        raise DifferenceError(f"{name} is {got!r}, expected {wanted!r}")


def _verify_statistics(stats: Any, values: Array, back: Array) -> None:
    numbers = [(float(a), float(b)) for a, b in zip(values.reshape(-1), back.reshape(-1), strict=True)]
    pairs = [(Fraction(a), Fraction(b)) for a, b in numbers if math.isfinite(a)]
    _expect("elements", stats.elements, len(numbers))
    _expect("nan", stats.nan, sum(math.isnan(a) for a, _ in numbers))
    _expect("inf", stats.inf, sum(math.isinf(a) for a, _ in numbers))
    _expect("flushed", stats.flushed, sum(a != 0 and b == 0 for a, b in pairs))
    if pairs:
        _expect("the ends", (stats.low, stats.high), (float(min(a for a, _ in pairs)), float(max(a for a, _ in pairs))))
    errors = [abs(a - b) for a, b in pairs]
    _close("max_abs_error", stats.max_abs_error, float(max(errors, default=Fraction(0))), 2.0**-22)
    ratios = [error / abs(a) for error, (a, _) in zip(errors, pairs, strict=True) if a]
    _close("max_rel_error", stats.max_rel_error, float(max(ratios, default=Fraction(0))), 2.0**-22)
    power, noise = sum(a * a for a, _ in pairs), sum(error * error for error in errors)
    if not power:
        _expect("sqnr_db", stats.sqnr_db, math.nan)
    elif not noise:
        _expect("sqnr_db", stats.sqnr_db, math.inf)
    else:
        ratio = Fraction(power) / Fraction(noise)
        wanted = 10 * (math.log10(ratio.numerator) - math.log10(ratio.denominator))
        if abs(stats.sqnr_db - wanted) > 1e-4:
            raise DifferenceError(f"sqnr_db is {stats.sqnr_db}, expected {wanted}")


def error_statistics(rng: Rng) -> Call:
    """Draw a call of `loss.error_statistics`; sizes in which no square is lost."""
    dtype, shape = (np.float32, np.float64)[int(rng.integers(2))], draw_shape(rng, most=_FEW)
    unsigned = f"u{np.dtype(dtype).itemsize}"
    values = (rng.normal(size=shape) * np.exp2(rng.integers(-30, 30))).astype(dtype)
    step = np.exp2(rng.integers(-12, 2)).astype(dtype)
    back = (np.rint(values / step) * step).astype(dtype)
    values = np.where(rng.random(shape) < 0.03, rng.choice([np.nan, np.inf, -np.inf], shape), values).astype(dtype)
    layout = str(rng.choice(["C", "F", "strided", "negative", "sub-view", "unaligned"]))
    x = place(rng, np.asarray(values).view(unsigned), dtype, layout=layout)
    y = place(rng, np.asarray(back).view(unsigned), dtype, layout=layout)
    return Call(
        loss.error_statistics, (x.array, y.array), {}, [x, y], elements=x.codes.size,
        verify=lambda stats: _verify_statistics(stats, np.asarray(values), np.asarray(back)),
    )  # fmt: skip
