"""Cases of the rules beyond ONNX: every rounding mode and overflow rule to narrow floats; the scales of MX blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..reference.array_cast import Codes, is_power
from ..reference.array_rounding import rounded_from_float64
from ..spec.formats import FLOAT8_E8M0FNU, FLOAT32, ONNX_NUMERIC, Format, NaNRule, as_format
from ..spec.rounding_rules import OVERFLOWS, ROUNDINGS, STOCHASTIC, Rounding
from ..spec.scale_rules import SCALE_RULES
from .cases import Call, Case, Tensor
from .cast_inputs import landmarks

__all__ = [
    "ENCODE",
    "FAMILIES",
    "MODES",
    "RANDOM_BITS",
    "SCALE",
    "mx_elements",
    "rounding_cases",
    "scale_cases",
    "within",
]

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
