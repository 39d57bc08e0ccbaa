"""Why a number becomes a code, and what was lost, in sentences: `explain`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from ._notebook_display import aligned_table, html_block, html_lines, html_table, interval
from .reference.exact_cast import Place, copies_bits, decide, goes_away, lots_for_upper, place_of, rules_for
from .reference.philox import random_word
from .reference.values import (
    Value,
    bracket,
    decode,
    finite_count,
    magnitude_of,
    number_text,
    number_texts,
    signed_code,
)
from .spec.format_text import code_row
from .spec.formats import Format, Kind, NaNRule, as_format
from .spec.operator_versions import NEWEST, check_type
from .spec.rounding_modes import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    NaNName,
    OverflowName,
    Rounding,
    RoundingName,
    RoundingOptions,
    RoundModeName,
    Stream,
    rounding_arguments,
)
from .spec.scalar_arguments import as_integer, shown

__all__ = ["Explanation", "LOSSES", "LossSentence", "explain", "hex_float", "losses", "lost"]


@dataclass(frozen=True, slots=True)
class ExplainedCast:
    """How the value `x` became a code: what `lowprec.explain` returns, without the tables that show it.

    `lower` and `upper` are the finite values next to x with their codes, both x itself where it is exact, None where
    there is none; those of |x| where a float has no sign. `midpoint` lies halfway (floats only); beyond the largest
    value it is the limit of overflow. `value` is that of the resulting `code`, `rule` is what decided.

    Where a rule beyond ONNX is given, `rounding` is all of them, and `fraction` says where |x| lies: 0 at the neighbour
    nearer to zero, 1 at the other; None for NaN, Inf, and beyond both ends. A stochastic rounding has a `stream` and of
    it the number `random`: from `threshold` on x is rounded away from zero.

    `source` is the format of which x is the code `source_code`; both are None where x is a number.
    """

    format: Format
    x: Value
    lower: tuple[int, Value] | None
    upper: tuple[int, Value] | None
    midpoint: Value | None
    is_tie: bool
    rule: str
    code: int
    value: Value
    rounding: Rounding | None = None
    fraction: Fraction | None = None
    stream: Stream | None = None
    random: int | None = None
    threshold: int | None = None
    source: Format | None = None
    source_code: int | None = None


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


def hex_float(value: Value) -> str:
    """Return ``0x1.8p+3``, or nothing where there is no such text."""
    top, bottom = value.magnitude.as_integer_ratio()
    if value.special or bottom & (bottom - 1):
        return ""
    power = max(top.bit_length() - 1, 0)
    digits = f"{top << -power % 4:x}"
    fraction = f".{digits[1:]}".rstrip("0").rstrip(".")
    return "-" * value.negative + f"0x{digits[0]}{fraction}p{power + 1 - bottom.bit_length():+d}"


_BITS_SHOWN = 32
"""Of a fraction that has more."""


def _binary(fraction: Fraction) -> str:
    """Return a fraction below 1 as binary digits."""
    digits = f"{fraction.numerator * 2**_BITS_SHOWN // fraction.denominator:0{_BITS_SHOWN}b}"
    rest = (fraction * 2**_BITS_SHOWN).denominator > 1
    return f"0b0.{digits if rest else digits.rstrip('0') or '0'}{'...' * rest}"


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(ExplainedCast):
    """How the value `x` became a code; shown as a table, in notebooks as HTML.

    `lower` and `upper` are the finite values next to x with their codes, both x itself where it is exact, None where
    there is none; those of ``|x|`` where a float has no sign. `midpoint` lies halfway (floats only); beyond the largest
    value it is the limit of overflow. `value` is that of the resulting `code`, `rule` is what decided.

    Where a rule beyond ONNX is given, `rounding` is all of them, and `fraction` says where ``|x|`` lies: 0 at the
    neighbour nearer to zero, 1 at the other; None for NaN, Inf, and beyond both ends. A stochastic rounding has a
    `stream` and of it the number `random`: from `threshold` on x is rounded away from zero.

    Where x is the code of a format, `source` is that and `source_code` the code; both are None where it is a number.
    """

    def __repr__(self) -> str:
        lines = [f"{self.format.name}: {self.rule}", aligned_table(self._rows())]
        return "\n".join([*lines, *(f"{label:8}  {text}" for label, text in self._details())])

    def _repr_html_(self) -> str:
        """Return for notebooks the result bit by bit, the interval, tables, and what was lost."""
        details = html_table([(), *self._details()], "rule") if self.rounding else ""
        table = html_table(self._rows(), f"{self.format.name}: {self.rule}")
        return html_block(
            table, code_row(self.format, self.code), self._interval(), details, html_lines(self._losses())
        )

    def _interval(self) -> str:
        """Return where x lies between its neighbours as a drawing; nothing where it is one of them, or has one."""
        if self.lower is None or self.upper is None or self.x.special or self.lower[1] == self.upper[1]:
            return ""
        low, high = self.lower[1], self.upper[1]
        number = self.x.number if low.number <= self.x.number <= high.number else self.x.magnitude  # a float: no sign
        place = (number - low.number) / (high.number - low.number)
        ends = number_texts(low, high)
        where = f"x lies {float(place):.6g} of the way from {ends[0]} to {ends[1]}"
        results = [one == self.value for one in (low, high)]
        became = f"; it becomes {number_text(self.value)}" if any(results) else ""
        return interval(ends, place, results.index(True) if any(results) else None, where + became)

    def _losses(self) -> list[str]:
        """Return the error, and in sentences what was lost but digits."""
        lines = []
        if not self.x.special and not self.value.special and self.format.kind is not Kind.BOOL:
            error = abs(self.value.number - self.x.number)
            relative = f", {number_text(Value(error / self.x.magnitude))} of x" if self.x.magnitude and error else ""
            lines = [f"error: {number_text(Value(error))}{relative}"]
        lost_text = lost(self)
        return [*lines, *([f"lost: {lost_text}"] if lost_text else [])]

    def _details(self) -> list[tuple[str, str]]:
        """Return what a rounding beyond ONNX is decided by."""
        if self.rounding is None:
            return []
        mode, overflow, nan, bits = self.rounding
        found = [("rounding", f"{mode}, overflow {overflow}, nan {nan}")]
        if self.fraction is not None:
            found.append(("fraction", f"{self.fraction} = {_binary(self.fraction)}"))
        if self.stream is not None:
            found.append(
                (
                    "random",
                    f"{self.random} = 0b{self.random:0{bits}b}, place {self.stream.offset} of seed {self.stream.seed}",
                )
            )
        if self.threshold is not None:
            lots = 2**bits - self.threshold
            found.append(("chance", f"{lots} of 2**{bits}, the numbers from {self.threshold} on, round away from zero"))
        return found

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("", "code", "bits", "hex-float", "decimal")]
        near = {
            "x": (self.source_code, self.x),
            "lower": self.lower,
            "midpoint": (None, self.midpoint),
            "upper": self.upper,
        }
        for label, pair in {**near, "result": (self.code, self.value)}.items():
            code, value = pair or (None, None)
            number, bits = _code_cells(code, self.source if label == "x" and self.source else self.format)
            rows.append((label, number, bits, hex_float(value) if value else "", str(value or "none")))
        return rows


def _code_cells(code: int | None, fmt: Format) -> tuple[str, str]:
    """Return a code in hexadecimal and in bits, field by field; nothing for None."""
    if code is None:
        return "", ""
    cuts = (0, int(fmt.signed), fmt.bits - fmt.mantissa_bits, fmt.bits) if fmt.kind is Kind.FLOAT else (0, fmt.bits)
    digits = f"{code:0{fmt.bits}b}"
    return f"0x{code:0{(fmt.bits + 3) // 4}x}", "|".join(digits[a:b] for a, b in pairwise(cuts) if digits[a:b])


def _around(value: Value, fmt: Format) -> tuple[int | None, int | None, Value | None]:
    if value.special == "nan":
        return None, None, None
    if fmt.kind is not Kind.FLOAT:
        first = -(2 ** (fmt.bits - 1)) if fmt.signed else 0
        last = 1 if fmt.kind is Kind.BOOL else first + 2**fmt.bits - 1
        beyond = Fraction(first - 1 if value.negative else last + 1)
        number = beyond if value.special else value.number
        lower = None if number < first else min(math.floor(number), last) % 2**fmt.bits
        upper = None if number > last else max(math.ceil(number), first) % 2**fmt.bits
        return lower, upper, None
    if value.negative and value.magnitude and not fmt.signed and fmt.has_zero:
        return None, 0, None
    count, negative = finite_count(fmt), value.negative and fmt.signed
    below, above = (count - 1, count) if value.special else bracket(value.magnitude, fmt)
    between = 0 <= below < above and (above < count or fmt.has_zero)
    midpoint = Value((magnitude_of(below, fmt) + magnitude_of(above, fmt)) / 2, negative) if between else None
    near = None if below < 0 else signed_code(min(below, count - 1), negative, fmt)
    far = None if above >= count else signed_code(above, negative, fmt)
    return (far, near, midpoint) if negative else (near, far, midpoint)


def _fraction(value: Value, fmt: Format) -> Fraction | None:
    """Return where a number lies between magnitude codes of which one, or both, are finite values."""
    if value.special or not (value.magnitude or fmt.has_zero):
        return None
    place = place_of(value.magnitude, fmt) if value.magnitude else Place(0, Fraction(0))
    return place.fraction if -1 <= place.lower < finite_count(fmt) else None


def _code_of(x: object, source: Format) -> int:
    """Return the code that the caller of `explain` gave, or raise ValueError; bits above a narrow code are ignored."""
    check_type(source, NEWEST, "source")
    code, last = as_integer(x), 2 ** max(8, source.bits) - 1
    if code is None or not 0 <= code <= last:
        raise ValueError(f"`x` must be a code of {source.name}, 0 to {last}, where `source` is given; got {shown(x)}")
    return code % (1 << source.bits)


def explain(
    x: object,
    fmt: object,
    *,
    source: object = None,
    saturate: bool = True,
    round_mode: RoundModeName | None = None,
    opset: int = NEWEST,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
) -> Explanation:
    """Return which code Cast gives a value, and why; the result is shown as a table.

    NaN has no neighbours, Inf has the largest value for its only one; -0 is exact where the format has it.

    Parameters
    ----------
    x : str, int, float, Fraction or scalar
        The exact value: a number, or a text such as ``"0.3"``, ``"17/23"``, ``"0x1.8p+3"``, ``"-inf"``, ``"nan"``.
    fmt : str, int, dtype or Format
        A float, integer or bool format.
    source : str, int, dtype or Format, optional
        The format of which `x` is a code, an unsigned integer, instead of a number.
    saturate, round_mode, opset
        As in `lowprec.cast`.
    rounding, overflow, nan, seed, random_bits, offset
        As in `lowprec.cast`; `offset` is the place of x in the random numbers of the seed.

    Returns
    -------
    Explanation
        The value, its neighbours in the format, their midpoint, the rule that decided and the code.

    Raises
    ------
    ValueError
        If `x` is no number, or no code of `source`, or a parameter is out of its range.

    Notes
    -----
    Source: ONNX Cast, versions 1 to 28, and IEEE P3109 4.0, 4.7.4 and 4.7.5; the arithmetic is that of
    `lowprec.reference`, in fractions.

    Examples
    --------
    >>> import lowprec as lp
    >>> lp.explain("0.3", "float8_e4m3fn")
    float8_e4m3fn: nearer to the upper neighbour
              code  bits        hex-float  decimal
    x                                      0.3
    lower     0x29  0|0101|001  0x1.2p-2   0.28125
    midpoint                    0x1.3p-2   0.296875
    upper     0x2a  0|0101|010  0x1.4p-2   0.3125
    result    0x2a  0|0101|010  0x1.4p-2   0.3125
    >>> lp.explain("0.3", "float8_e4m3fn", rounding="stochastic", seed=7, random_bits=8)
    float8_e4m3fn: the lower neighbour: the random number 45 is below 102, of 2**8
              code  bits        hex-float  decimal
    x                                      0.3
    lower     0x29  0|0101|001  0x1.2p-2   0.28125
    midpoint                    0x1.3p-2   0.296875
    upper     0x2a  0|0101|010  0x1.4p-2   0.3125
    result    0x29  0|0101|001  0x1.2p-2   0.28125
    rounding  stochastic_b, overflow sat_finite, nan signed
    fraction  3/5 = 0b0.10011001100110011001100110011001...
    random    45 = 0b00101101, place 0 of seed 7
    chance    154 of 2**8, the numbers from 102 on, round away from zero
    >>> lp.explain(0x2A, "float4_e2m1fn", source="float8_e4m3fn")
    float4_e2m1fn: nearer to the upper neighbour
              code  bits        hex-float  decimal
    x         0x2a  0|0101|010  0x1.4p-2   0.3125
    lower     0x0   0|00|0      0x0p+0     0
    midpoint                    0x1p-2     0.25
    upper     0x1   0|00|1      0x1p-1     0.5
    result    0x1   0|00|1      0x1p-1     0.5
    """
    row, held = as_format(fmt), None if source is None else as_format(source, parameter="source")
    source_code = None if held is None else _code_of(x, held)
    value = Value.of(x) if held is None or source_code is None else decode(source_code, held)
    options, stream = rounding_arguments(rounding, overflow, nan, seed, random_bits, offset)
    rules = rules_for(row, "fmt", saturate, round_mode, opset, options or RoundingOptions())
    used = rules.rounding
    random = None if stream is None or used is None else random_word(*stream, used.random_bits)
    if held is not None and source_code is not None and copies_bits(held, row, rules):
        code, rule = source_code, "the same format: the bits are copied"
    else:
        code, rule = decide(value, row, rules, random)
    low, high, midpoint = _around(value, row)
    lower, upper = (None if near is None else (near, decode(near, row)) for near in (low, high))
    is_tie = midpoint is not None and not value.special and value.magnitude == midpoint.magnitude
    fraction = None if used is None else _fraction(value, row)
    threshold = None
    if used is not None and random is not None and fraction is not None:
        threshold = 2**used.random_bits - lots_for_upper(fraction, used)
    return Explanation(
        row,
        value,
        lower,
        upper,
        midpoint,
        is_tie,
        rule,
        code,
        decode(code, row),
        used,
        fraction,
        stream,
        random,
        threshold,
        held,
        source_code,
    )
