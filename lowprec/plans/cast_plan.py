"""The plan of a conversion, and how a cast gets one: (source, target, options) -> Plan."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..spec.convertible import why_not_converted
from ..spec.formats import FLOAT64, Format, Kind, NaNRule, is_in_table
from ..spec.interned import CACHED, Interned, reduced
from ..spec.opset_rules import CastRules
from ..spec.rounding_rules import Rounding
from .rounding_limits import Limits, limits_of, nan_codes_of

__all__ = ["Plan", "Rule", "Scaling", "check_convertible", "copy_plan", "make_plan"]


class Rule(enum.Enum):
    """How values become codes of the target."""

    COPY = "copy"  # the bits, unchanged
    NEAREST_EVEN = "nearest-even"  # to a float, rounded once
    ROUND = "round"  # to a float, by the rules of a `Rounding`
    POWER = "power"  # to a power of two, by the round_mode
    TRUNCATE = "truncate"  # to an integer: toward zero, then modulo 2**bits
    NONZERO = "nonzero"  # to a bool
    TEXT = "text"  # to or from strings
    QUANTIZE = "quantize"  # divided by a scale, see `Scaling`
    DEQUANTIZE = "dequantize"  # multiplied by a scale


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Scaling(metaclass=Interned):
    """The scale part of the plan of a quantization.

    Attributes
    ----------
    precision : Format
        In which the quotient or the product is rounded.
    zero_point : Format or None
        The type in which zero points enter the arithmetic: int32 with integer codes, float32 with the floats that have
        them, None if there are none.
    last : Plan
        From a value in `precision` to a float target; for integer targets it is not used.
    """

    precision: Format
    zero_point: Format | None
    last: Plan

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and the values: a copy is the instance itself."""
        return reduced(self)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Plan(metaclass=Interned):
    """What a back end needs to know of one conversion; every option is resolved. Equal plans are one object.

    Attributes
    ----------
    rule : Rule
        How values become codes.
    source, target : Format
        The rows; a back end takes field widths, bias and masks from them.
    round_mode : str
        ``"up"``, ``"down"`` or ``"nearest"``; concerns `Rule.POWER` alone.
    overflow_code : int
        Magnitude code where the rounded value is beyond the largest; the sign bit is added.
    underflow_code : int
        Code below the smallest value, zero included; concerns `Rule.POWER` alone.
    infinity_code : int
        Magnitude code for an infinite source; the sign bit is added.
    nan_codes : tuple of int
        Whole codes for NaN without and with the sign.
    through : Plan or None
        From strings: the plan from float64, whose single rounding is the decimal's.
    scaling : Scaling or None
        The scale part of `Rule.QUANTIZE` and `Rule.DEQUANTIZE`.
    rounding : Rounding or None
        The rules of `Rule.ROUND`; the codes above do not concern it.
    limits : Limits or None
        What `Rule.ROUND` has for what is no finite value of the target.
    """

    rule: Rule
    source: Format
    target: Format
    round_mode: str = "up"
    overflow_code: int = 0
    underflow_code: int = 0
    infinity_code: int = 0
    nan_codes: tuple[int, int] = (0, 0)
    through: Plan | None = None
    scaling: Scaling | None = None
    rounding: Rounding | None = None
    limits: Limits | None = None

    @property
    def stochastic(self) -> bool:
        """Whether the conversion takes random numbers."""
        plan = self if self.scaling is None else self.scaling.last
        return plan.rounding is not None and plan.rounding.random_bits > 0

    @property
    def codes(self) -> Format:
        """The format of the quantized side."""
        return self.source if self.rule is Rule.DEQUANTIZE else self.target

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and the values: a copy is the plan itself."""
        return reduced(self)


def _is_copy(source: Format, target: Format, saturate: bool) -> bool:
    # A saturating float8 cast applies the table to its own format too; it is the identity but for Inf and NaN payloads.
    applies_table = target.saturates == "asked" and (target.has_inf or target.nan_count > 1) and saturate
    return source == target and not applies_table


_FLOAT32_MANTISSA = 23
_SMALLEST = -126  # exponents of normal float32 numbers
_LARGEST = 127


def _is_rounded_by_adding(target: Format) -> bool:
    """Whether the loops of ONNX's rule encode a format: they add a power of two that is a float32, and the sign."""
    if is_in_table(target):
        return True
    fields = (target.exponent_bits, target.mantissa_bits, target.bias, target.has_inf, target.nan)
    is_half_of_single = fields == (8, 7, _LARGEST, True, NaNRule.IEEE)
    fits = target.emax <= _LARGEST - 1 - _FLOAT32_MANTISSA + target.mantissa_bits or is_half_of_single
    return target.signed and target.mantissa_bits > 0 and target.emin >= _SMALLEST and fits


def check_convertible(fmt: Format, parameter: str) -> None:
    """Raise ValueError, which says why, for a described float that no back end converts."""
    problem = why_not_converted(fmt)
    if problem:
        wanted = "have 16 bits or fewer, and finite values that are float32, to be converted"
        raise ValueError(f"`{parameter}` must {wanted}; got {fmt.name}, {problem}")


@lru_cache(maxsize=CACHED)
def copy_plan(fmt: Format) -> Plan:
    """Return the plan that leaves the codes of a format as they are."""
    return Plan(Rule.COPY, fmt, fmt)


def make_plan(source: Format, target: Format, rules: CastRules, names: tuple[str, str] = ("source", "to")) -> Plan:
    """Resolve one conversion.

    Parameters
    ----------
    source, target : Format
        Two numeric, bool or string formats.
    rules : CastRules
        The options as `opset_rules.cast_rules` resolved them.
    names : tuple of str
        The caller's parameters for both formats.

    Returns
    -------
    Plan
        Plain numbers for the back ends.

    Raises
    ------
    ValueError
        If no back end converts one of the formats.
    """
    if target.kind is not Kind.STRING and rules.rounding is None and _is_copy(source, target, rules.saturate):
        return copy_plan(source)
    check_convertible(source, names[0])
    check_convertible(target, names[1])
    if target.kind is Kind.STRING:
        return Plan(Rule.TEXT, source, target)
    if source.kind is Kind.STRING:
        return Plan(Rule.TEXT, source, target, through=make_plan(FLOAT64, target, rules, names))
    if target.kind is Kind.BOOL:
        return Plan(Rule.NONZERO, source, target)
    if target.kind is Kind.INT:
        return Plan(Rule.TRUNCATE, source, target)
    if rules.rounding is not None:
        limits = limits_of(target, rules.rounding)
        return Plan(Rule.ROUND, source, target, rounding=rules.rounding, limits=limits)
    saturates = {"never": False, "always": True, "asked": rules.saturate}[target.saturates]
    beyond = target.inf_code if target.has_inf else target.nan_code
    overflow = target.max_code if saturates or beyond is None else beyond
    if target.has_zero and not _is_rounded_by_adding(target):
        rounding = Rounding("nearest_even", "sat_finite" if saturates else "ovf_inf", "signed")
        return Plan(Rule.ROUND, source, target, rounding=rounding, limits=limits_of(target, rounding))
    nan = nan_codes_of(target)
    inf_is_nan = saturates and rules.inf_is_nan and target.nan is NaNRule.NEGATIVE_ZERO
    return Plan(
        rule=Rule.NEAREST_EVEN if target.has_zero else Rule.POWER,
        source=source,
        target=target,
        round_mode=rules.round_mode,
        overflow_code=overflow,
        underflow_code=0 if saturates else nan[0],
        infinity_code=nan[0] if inf_is_nan else overflow,
        nan_codes=nan,
    )
