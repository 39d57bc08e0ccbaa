"""One conversion as plain numbers: (source, target, saturate, round_mode, opset) -> Plan."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cache

from .formats import FORMATS, Format, Kind, NaNRule
from .opsets import CastRules

__all__ = ["Plan", "Rule", "copy_plan", "make_plan", "read_plan", "spell_plan"]


class Rule(enum.Enum):
    """How values become codes of the target."""

    COPY = "copy"  # the bits, unchanged
    NEAREST_EVEN = "nearest-even"  # to a float, rounded once
    POWER = "power"  # to a power of two, by the round_mode
    TRUNCATE = "truncate"  # to an integer: toward zero, then modulo 2**bits
    NONZERO = "nonzero"  # to a bool
    TEXT = "text"  # to or from strings


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What a back end needs to know of one conversion; every option is settled.

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


def _nan_codes(fmt: Format) -> tuple[int, int]:
    nan = fmt.nan_code
    if nan is None:  # no NaN: zero of the opposite sign, as ONNX's node data hold
        return fmt.sign_mask, 0
    return nan, nan | fmt.sign_mask


def _is_copy(source: Format, target: Format, saturate: bool) -> bool:
    # A saturating float8 cast applies the table to its own format too; it is the identity but for Inf and NaN payloads.
    applies_table = target.saturates == "asked" and target.has_inf and saturate
    return source is target and not applies_table


@cache
def copy_plan(fmt: Format) -> Plan:
    """Return the plan that leaves the codes of a format as they are."""
    return Plan(Rule.COPY, fmt, fmt)


def make_plan(source: Format, target: Format, rules: CastRules) -> Plan:
    """Settle one conversion.

    Parameters
    ----------
    source, target : Format
        Two numeric, bool or string formats.
    rules : CastRules
        The options as `opsets.cast_rules` settled them.

    Returns
    -------
    Plan
        Plain numbers for the back ends.
    """
    if target.kind is Kind.STRING:
        return Plan(Rule.TEXT, source, target)
    if source.kind is Kind.STRING:
        return Plan(Rule.TEXT, source, target, through=make_plan(FORMATS["float64"], target, rules))
    if _is_copy(source, target, rules.saturate):
        return copy_plan(source)
    if target.kind is Kind.BOOL:
        return Plan(Rule.NONZERO, source, target)
    if target.kind is Kind.INT:
        return Plan(Rule.TRUNCATE, source, target)
    saturates = {"never": False, "always": True, "asked": rules.saturate}[target.saturates]
    beyond = target.inf_code if target.has_inf else target.nan_code
    overflow = target.max_code if saturates or beyond is None else beyond
    nan = _nan_codes(target)
    inf_is_nan = rules.inf_is_nan and target.nan is NaNRule.NEGATIVE_ZERO
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


def spell_plan(plan: Plan) -> str:
    """Return a plan between numbers as one line of names and numbers, for another process to read."""
    numbers = (plan.overflow_code, plan.underflow_code, plan.infinity_code, *plan.nan_codes)
    return " ".join(map(str, (plan.rule.value, plan.source.name, plan.target.name, plan.round_mode, *numbers)))


@cache
def read_plan(text: str) -> Plan:
    """Return the plan that `spell_plan` wrote: the same object each time, as the caches of programs want it."""
    rule, source, target, round_mode, *numbers = text.split()
    overflow, underflow, infinity, nan, negative_nan = map(int, numbers)
    ends = FORMATS[source], FORMATS[target]
    return Plan(Rule(rule), *ends, round_mode, overflow, underflow, infinity, (nan, negative_nan))
