"""What a conversion lost, in sentences: range, Inf, NaN, a sign, -0, or all of a small number."""

from __future__ import annotations

from typing import NamedTuple

from ..spec.formats import Format, Kind, NaNRule
from ..spec.rounding_rules import Rounding
from .exact_values import Value, finite_count, magnitude_of
from .explained_cast import ExplainedCast
from .number_text import number_text, number_texts
from .rounding import goes_away, place_of

__all__ = ["LOSSES", "LossSentence", "losses", "lost"]

LOSSES = (
    "saturates", "becomes Inf", "becomes NaN", "wraps", "loses NaN", "loses Inf", "loses -0", "loses its sign",
    "becomes 0",
)  # fmt: skip
"""What can be lost: `LossSentence.kind`."""

_NEAREST_EVEN = Rounding("nearest_even", "", "")


class LossSentence(NamedTuple):
    """Something that a conversion lost: one of `LOSSES`, and a sentence that says what became of which number."""

    kind: str
    sentence: str


def losses(explanation: ExplainedCast) -> tuple[LossSentence, ...]:
    """Return what a conversion lost beyond the digits that rounding takes; nothing where it only rounded.

    Parameters
    ----------
    explanation : Explanation
        What `lowprec.explain` returned.

    Returns
    -------
    tuple of LossSentence
        Each kind with a sentence. A number is out of range (``saturates``, ``becomes Inf``, ``becomes NaN``, of an
        integer ``wraps``); the format lacks what it was (``loses NaN``, ``loses Inf``, ``loses -0``, ``loses its
        sign``); or it is too small (``becomes 0``). The sign of a NaN does not count. A finite number becomes a bool
        without a loss.

    Notes
    -----
    Source: ONNX Cast, versions 1 to 28, and IEEE P3109 4.0, 4.7.4 and 4.7.5, as `lowprec.explain`.

    Examples
    --------
    >>> import lowprec as lp
    >>> losses(lp.explain(300, "int8"))
    (LossSentence(kind='wraps', sentence='300 is beyond 127, the largest value of int8: ... the lowest 8 bits, 44.'),)
    >>> losses(lp.explain("464", "float8_e4m3fn"))
    ()
    """
    fmt, x = explanation.format, explanation.x
    if x.special == "nan":
        return _of_nan(explanation)
    if fmt.kind is not Kind.FLOAT:
        return _of_integer(explanation)
    found: list[LossSentence] = []
    if not fmt.has_zero and x.negative and (x.magnitude or x.special):
        sign = f"The sign of {number_text(x)} is ignored: {fmt.name} has none."
        found.append(LossSentence("loses its sign", sign))
        x = Value(x.magnitude, False, x.special)
    if x.special:
        found += _of_infinity(x, explanation)
    elif side := _beyond(x, explanation):
        found.append(_of_range(x, side, explanation))
    elif x.magnitude and not explanation.value.magnitude:
        found.append(_of_small(x, explanation))
    elif not x.magnitude and x.negative and not explanation.value.negative:
        found.append(LossSentence("loses -0", f"-0 becomes 0: {fmt.name} has no -0."))
    return tuple(found)


def lost(explanation: ExplainedCast) -> str:
    """Return the sentences of `losses`, one after the other; an empty text where the conversion only rounded.

    Parameters
    ----------
    explanation : Explanation
        What `lowprec.explain` returned.

    Returns
    -------
    str
        What was lost, in plain words.

    Notes
    -----
    Source: as `losses`.

    Examples
    --------
    >>> import lowprec as lp
    >>> lost(lp.explain("465", "float8_e4m3fn"))
    '465 rounds beyond 448, the largest value of float8_e4m3fn: saturate makes it 448.'
    >>> lost(lp.explain("nan", "float4_e2m1fn"))
    'NaN becomes -0: float4_e2m1fn has no NaN.'
    """
    return " ".join(loss.sentence for loss in losses(explanation))


# ---- NaN and Inf


def _of_nan(explanation: ExplainedCast) -> tuple[LossSentence, ...]:
    fmt, value, rules = explanation.format, explanation.value, explanation.rounding
    if value.special == "nan":
        return ()
    why = f"the rule nan={rules.nan}" if rules and rules.nan in ("zero", "largest") else f"{fmt.name} has no NaN"
    return (LossSentence("loses NaN", f"{number_text(explanation.x)} becomes {_named(value, fmt)}: {why}."),)


def _of_infinity(x: Value, explanation: ExplainedCast) -> list[LossSentence]:
    fmt, value = explanation.format, explanation.value
    if value.special == "inf":
        return []
    missing = ""
    if not fmt.has_inf or (x.negative and not fmt.signed):
        missing = f"{fmt.name} has no {'-' * fmt.has_inf}Inf"
    if missing and not value.special and fmt.nan is NaNRule.NONE:
        missing = f"{missing} and no NaN"
    if explanation.rounding is not None:
        overflow = explanation.rounding.overflow
        why = f"overflow {overflow}"
        if missing and overflow != "sat_finite":
            why = f"{why}, and {missing}"
    elif "opsets 19 to 23" in explanation.rule:
        why = f"{missing}, and in opsets 19 to 23 saturate does not change that"
    elif _is_saturated(explanation):
        why = "saturate makes it finite"
    elif _is_unsaturated(explanation):
        why = f"without saturate, as {missing}" if missing else "without saturate"
    else:
        why = missing
    kind = "becomes NaN" if value.special else "saturates"
    return [LossSentence(kind, f"{number_text(x)} becomes {_named(value, fmt)}: {why}.")]


def _named(value: Value, fmt: Format) -> str:
    """Return the text of a value, and that it is an end of the range; of a NaN without its sign."""
    text = number_text(Value(value.magnitude, value.negative and value.special != "nan", value.special))
    if fmt.kind is Kind.BOOL:
        return f"{text} ({bool(value.magnitude)})"
    if value.special or not value.magnitude or fmt.kind is not Kind.FLOAT:
        return text
    if value.magnitude != magnitude_of(finite_count(fmt) - 1, fmt):
        return f"{text}, the smallest value of {fmt.name}"  # of formats without zero: nothing else is left
    return f"{text}, the {'lowest' if value.negative else 'largest'} value of {fmt.name}"


def _is_saturated(explanation: ExplainedCast) -> bool:
    """Whether it is the attribute `saturate` that made the result finite."""
    fmt, value = explanation.format, explanation.value
    is_only_cause = not value.special and fmt.saturates == "asked" and fmt.nan is not NaNRule.NONE
    return "with saturate" in explanation.rule or (is_only_cause and "without saturate" not in explanation.rule)


def _is_unsaturated(explanation: ExplainedCast) -> bool:
    """Whether it is the attribute `saturate` that could have made the result finite."""
    fmt = explanation.format
    is_left_out = explanation.value.special == "inf" or "without saturate" in explanation.rule
    return is_left_out and (fmt.saturates == "asked" or not fmt.has_zero)


# ---- numbers


def _beyond(x: Value, explanation: ExplainedCast) -> str:
    """Return on which side a number rounds out of the range of a float: above, negative, below; or nothing."""
    fmt, rules, count = explanation.format, explanation.rounding, finite_count(explanation.format)
    if not fmt.has_zero and (rules is None or not x.magnitude):  # the range is tested before rounding
        is_above = x.magnitude > magnitude_of(count - 1, fmt)
        return "above" if is_above else "below" if x.magnitude < magnitude_of(0, fmt) else ""
    if not x.magnitude:
        return ""
    place = place_of(x.magnitude, fmt)
    code = place.lower + goes_away(place, x.negative, rules or _NEAREST_EVEN, explanation.random)[0]
    if x.negative and not fmt.signed:
        return "negative" if code else ""
    return "above" if code >= count else "below" if code < 0 else ""


def _of_range(x: Value, side: str, explanation: ExplainedCast) -> LossSentence:
    fmt, value, rules = explanation.format, explanation.value, explanation.rounding
    end, which, verb = {
        "above": (Value(magnitude_of(finite_count(fmt) - 1, fmt), x.negative), "largest", "rounds beyond"),
        "negative": (Value.of(0), "lowest", "is below"),
        "below": (Value(magnitude_of(0, fmt)), "smallest", "is below"),
    }[side]
    if side == "above":
        which, verb = "lowest" if x.negative else which, verb if rules or fmt.has_zero else "is beyond"
    text, limit = number_texts(x, end)
    result = limit if value == end else "NaN" if value.special == "nan" else number_text(value)
    kind = {"inf": "becomes Inf", "nan": "becomes NaN"}.get(value.special, "saturates")
    cause = _cause(result, side, explanation)
    return LossSentence(kind, f"{text} {verb} {limit}, the {which} value of {fmt.name}: {cause}.")


def _cause(result: str, side: str, explanation: ExplainedCast) -> str:
    fmt, value, rules = explanation.format, explanation.value, explanation.rounding
    is_chosen = True
    if rules is not None:
        leads = "leads" in explanation.rule
        what = f"{rules.mode} makes it {result}" if leads else f"overflow {rules.overflow} makes it {result}"
        is_chosen = leads or rules.overflow != "ovf_inf"
    elif _is_saturated(explanation):
        what = f"saturate makes it {result}"
    else:
        what = f"without saturate it becomes {result}" if _is_unsaturated(explanation) else f"it becomes {result}"
        is_chosen = False
    if side == "above" and value.special == "nan" and not fmt.has_inf:
        return f"{what}, as the format has no Inf"
    if not is_chosen and not value.special and fmt.nan is NaNRule.NONE:
        return f"{what}, as the format has {'no' if fmt.has_inf or side != 'above' else 'neither Inf nor'} NaN"
    return what


def _of_small(x: Value, explanation: ExplainedCast) -> LossSentence:
    fmt = explanation.format
    least = f"the smallest value of {fmt.name} above 0 is {number_text(Value(magnitude_of(1, fmt)))}"
    return LossSentence("becomes 0", f"{number_text(x)} rounds to {number_text(explanation.value)}: {least}.")


def _of_integer(explanation: ExplainedCast) -> tuple[LossSentence, ...]:
    fmt, x, value = explanation.format, explanation.x, explanation.value
    if x.special:
        return (LossSentence("loses Inf", f"{number_text(x)} becomes {_named(value, fmt)}: {fmt.name} has no Inf."),)
    if fmt.kind is Kind.BOOL:
        return ()
    whole = int(x.number)
    if value.number != whole:
        lowest = -(2 ** (fmt.bits - 1)) if fmt.signed else 0
        text, limit = number_texts(x, Value.of(lowest if x.negative else lowest + 2**fmt.bits - 1))
        end = f"below {limit}, the lowest" if x.negative else f"beyond {limit}, the largest"
        of_whole = "" if x.number == whole else f" of {number_text(Value.of(whole))}"
        kept = f"Cast keeps the lowest {fmt.bits} bits{of_whole}, {value}"
        return (LossSentence("wraps", f"{text} is {end} value of {fmt.name}: {kept}."),)
    if x.magnitude and not whole:
        return (LossSentence("becomes 0", f"{number_text(x)} becomes 0: Cast truncates toward zero to an integer."),)
    return (LossSentence("loses -0", f"-0 becomes 0: {fmt.name} has no -0."),) if x.negative and not x.magnitude else ()
