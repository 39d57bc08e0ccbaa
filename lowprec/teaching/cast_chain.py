"""Chains of casts: what a number becomes through formats in turn, what directly, and why the two differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..explanation import Explanation, explain, hex_float
from ..reference.exact_cast import decide, rules_for, ulp
from ..reference.values import Value, bracket, decode, finite_count, magnitude_of, signed_code
from ..spec.formats import Format, Kind, as_format
from ..spec.operator_versions import NEWEST, CastRules
from ..spec.rounding_modes import NaNName, OverflowName, RoundingName, RoundingOptions, RoundModeName

__all__ = ["CastChain", "cast_chain", "cast_chain_witness"]

_MOST_EXHAUSTIVE_BITS = 8
"""Sources up to this width are searched code by code."""

_TRIES_FOR_A_TIE = 400
"""Numbers that are tried after the first one that makes a difference, to find one that is rounded twice."""

_SPECIALS = ("inf", "-inf", "nan", "-nan", "-0")

_TIE_GOES_TO = {
    "nearest_even": "the even code",
    "nearest_away": "the value farther from zero",
    "nearest_zero": "the value nearer to zero",
    "nearest": "the greater value",
}
"""By rounding, or by `round_mode` of a format without zero."""


@dataclass(frozen=True, slots=True)
class CastChain:
    """How a number is cast to formats in turn, and how directly to the last of them.

    Attributes
    ----------
    x : Value
        The number.
    steps : tuple of Explanation
        A cast for each format; each but the first one takes the value of the one before.
    direct : Explanation
        The cast of x to the last format.
    decisive : int or None
        The index of the step that changes the result; None where chain and direct cast give the same code.
    cause : str
        What that step does: ``"tie"`` (its value is a tie of the last format: double rounding), ``"rounded"``,
        ``"truncated"``, ``"zero"`` (a number becomes 0), ``"range"``, ``"sign"`` or ``"special"`` (NaN, Inf); or
        nothing.
    reason : str
        The same as a sentence, without capital and full stop.
    """

    x: Value
    steps: tuple[Explanation, ...]
    direct: Explanation
    decisive: int | None
    cause: str
    reason: str

    @property
    def code(self) -> int:
        """The code that the chain ends with."""
        return self.steps[-1].code

    @property
    def value(self) -> Value:
        """The value of that code."""
        return self.steps[-1].value

    @property
    def differs(self) -> bool:
        """Whether the direct cast gives another code."""
        return self.code != self.direct.code


def _of_each(
    formats: Sequence[Format], options: Mapping[str, Any], each: Sequence[Mapping[str, Any]] | None
) -> Sequence[Mapping[str, Any]]:
    """Return the options of each cast."""
    if each is None:
        return [options] * len(formats)
    if len(each) != len(formats):
        raise ValueError(f"`each` must have options for {len(formats)} casts; got {len(each)}")
    return each


def _options_for(fmt: Format, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options that concern a format: integers and bool have no rounding."""
    beyond = any(options.get(name) is not None for name in ("rounding", "overflow", "nan"))
    return {} if beyond and fmt.kind is not Kind.FLOAT else options


def cast_chain(
    x: object,
    formats: Sequence[object],
    /,
    *,
    saturate: bool = True,
    round_mode: RoundModeName | None = None,
    opset: int = NEWEST,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    each: Sequence[Mapping[str, Any]] | None = None,
) -> CastChain:
    """Return what a number becomes when it is cast to formats in turn, and by the direct cast to the last of them.

    Rounding twice is not rounding once: the first format may round x to a tie of the second one, whose rule then
    decides without knowing on which side x was. A format between may also lack the range, a sign or NaN.

    Parameters
    ----------
    x : str, int, float, Fraction or scalar
        The exact value, as in `lowprec.explain`.
    formats : sequence of str, int, dtype or Format
        The formats in turn, one at least.
    saturate, round_mode, opset, rounding, overflow, nan
        As in `lowprec.explain`, the same for each cast. `rounding`, `overflow` and `nan` concern the floats among the
        formats; the others are truncated. The stochastic roundings are no choice.
    each : sequence of mappings, optional
        The options of each cast in turn, by these names, in place of those for all. The direct cast takes the last.

    Returns
    -------
    CastChain
        An explanation for each step, that of the direct cast, and why they end with different codes if they do.

    Raises
    ------
    ValueError
        If `x` is no number, there is no format, a parameter is out of its range, or `each` has not as many options as
        there are formats.

    Notes
    -----
    Casts are by value, also to the format that a step comes from: NaN becomes canonical there. Source: the rules are
    those of `lowprec.explain`.

    Examples
    --------
    >>> chain = cast_chain("1.00390626", ["float32", "bfloat16"])
    >>> [str(step.value) for step in chain.steps], str(chain.direct.value)
    (['1.00390625', '1'], '1.0078125')
    >>> chain.reason
    'float32 rounds x to 1.00390625, the midpoint of two bfloat16 values, and the tie goes to the even code'

    Rounded to odd, x never comes to lie on the midpoint:

    >>> cast_chain("1.00390626", ["float32", "bfloat16"], each=[{"rounding": "to_odd"}, {}]).differs
    False
    """
    rows = [as_format(fmt, parameter=f"formats[{index}]") for index, fmt in enumerate(formats)]
    if not rows:
        raise ValueError("`formats` must have one format at least; got none")
    options = {
        "saturate": saturate,
        "round_mode": round_mode,
        "opset": opset,
        "rounding": rounding,
        "overflow": overflow,
        "nan": nan,
    }
    options_of = _of_each(rows, options, each)
    target, value = rows[-1], Value.of(x)

    def cast(value: Value, index: int = -1) -> Explanation:
        return explain(value, rows[index], **_options_for(rows[index], options_of[index]))

    steps: list[Explanation] = []
    for index in range(len(rows)):
        steps.append(cast(steps[-1].value if steps else value, index))
    direct = cast(value)
    if direct.code == steps[-1].code:
        return CastChain(value, tuple(steps), direct, None, "", "")
    # what the last format would make of the number before the first step and after each
    last = [direct, *(cast(step.value) for step in steps[:-2]), steps[-1]]
    decisive = max(index for index in range(len(steps) - 1) if last[index].code != steps[-1].code)
    asked = options_of[-1]
    is_powers = not target.has_zero and asked.get("overflow") is None and asked.get("nan") is None
    mode = asked.get("rounding") or ((asked.get("round_mode") or "up") if is_powers else "nearest_even")
    cause, reason = _why(steps[decisive], last[decisive + 1], mode, "x" if decisive == 0 else "")
    return CastChain(value, tuple(steps), direct, decisive, cause, reason)


def _shown(value: Value) -> str:
    text = {"nan": "NaN", "inf": "Inf"}.get(value.special, "") or str(Value(value.magnitude))
    if len(text) > 20:
        text = hex_float(Value(value.magnitude)) or text
    return "-" * value.negative + text


def _why(step: Explanation, last: Explanation, mode: str, name: str) -> tuple[str, str]:
    """Return what a step does to its number so that the `last` format decides otherwise."""
    fmt, before, after = step.format, step.x, step.value
    number, result, target = name or _shown(before), _shown(after), last.format.name
    if before.special == "nan" == after.special:
        return "sign", f"{fmt.name} keeps no sign of NaN"
    if before.special == "nan":
        return "special", f"{fmt.name} has no NaN and makes it {result}"
    if before.special:
        return "special", f"{fmt.name} makes {result} of {_shown(before)}"
    if not after.magnitude and before.magnitude and not after.special:
        return "zero", f"{fmt.name} makes {number} {result}"
    if (step.lower is None or step.upper is None) and fmt.has_zero:
        return "range", f"{number} is outside the range of {fmt.name}, which makes it {result}"
    if before.negative and not after.negative:
        return "sign", f"{fmt.name} has no {'sign' if before.magnitude else '-0'} and makes {number} {result}"
    if after.special or step.lower is None or step.upper is None:
        return "range", f"{number} is outside the range of {fmt.name}, which makes it {result}"
    if fmt.kind is not Kind.FLOAT:
        return "truncated", f"{fmt.name} makes {number} the integer {result}"
    if last.is_tie and mode in _TIE_GOES_TO:
        middle = f"{fmt.name} rounds {number} to {result}, the midpoint of two {target} values"
        return "tie", f"{middle}, and the tie goes to {_TIE_GOES_TO[mode]}"
    return "rounded", f"{fmt.name} rounds {number} to {result} before {target} rounds that"


def cast_chain_witness(
    formats: Sequence[object],
    source: object | None = None,
    /,
    *,
    each: Sequence[Mapping[str, Any]] | None = None,
    **options: Any,
) -> CastChain | None:
    """Return a chain of casts that ends with another code than the direct cast, or None if none was found.

    A double rounding is preferred: a number next to a tie of the last format, as near as the format between cannot
    tell from it. Numbers near 1 come first.

    Parameters
    ----------
    formats : sequence of str, int, dtype or Format
        The formats in turn.
    source : str, int, dtype or Format, optional
        The format that has the number; any fraction where None.
    each, **options
        As in `cast_chain`.

    Returns
    -------
    CastChain or None
        The chain of the number that was found. The search takes values of the last format, their midpoints and the
        edges of all formats, and the numbers next to each; all codes of sources of up to 8 bits.

    Raises
    ------
    ValueError
        As `cast_chain`.

    Notes
    -----
    There is none where each format between has every value of the source, and none for the same directed rounding
    through a format that has every value of the last one. Source: the rules are those of `lowprec.explain`.

    Examples
    --------
    >>> found = cast_chain_witness(["float32", "bfloat16"], "float64")
    >>> float(found.x).hex(), found.cause
    ('0x1.0100008000000p+0', 'tie')
    >>> cast_chain_witness(["float32", "bfloat16"], "float16") is None
    True
    """
    rows = [as_format(fmt, parameter=f"formats[{index}]") for index, fmt in enumerate(formats)]
    if not rows:
        raise ValueError("`formats` must have one format at least; got none")
    origin = None if source is None else as_format(source, parameter="source")
    cast_chain(0, rows, each=each, **options)  # checks the options
    rules = [_rules(row, asked) for row, asked in zip(rows, _of_each(rows, options, each), strict=True)]
    first, tried, left = None, set[Value](), _TRIES_FOR_A_TIE
    for value in _candidates(rows, origin):
        if value in tried:
            continue
        tried.add(value)
        left -= first is not None
        if _differs(value, rows, rules):
            chain = cast_chain(value, rows, each=each, **options)
            first = first or chain
            if chain.cause == "tie":
                return chain
        if not left:
            break
    return first


def _rules(fmt: Format, options: Mapping[str, Any]) -> CastRules:
    names = ("rounding", "overflow", "nan")
    asked = _options_for(fmt, options)
    beyond = RoundingOptions(*(asked.get(name) for name in names))
    return rules_for(
        fmt, "fmt", asked.get("saturate", True), asked.get("round_mode"), asked.get("opset", NEWEST), beyond
    )


def _differs(value: Value, formats: Sequence[Format], rules: Sequence[CastRules]) -> bool:
    """Whether chain and direct cast end with different codes; quicker than their explanations."""
    through = value
    for fmt, rule in zip(formats[:-1], rules, strict=False):
        through = decode(decide(through, fmt, rule)[0], fmt)
    if through == value:
        return False
    target = formats[-1]
    return decide(through, target, rules[-1])[0] != decide(value, target, rules[-1])[0]


def _candidates(formats: Sequence[Format], source: Format | None) -> Iterator[Value]:
    """Return the numbers to try, positive ones first, then negative ones and what is no number."""
    target, between = formats[-1], formats[:-1]
    places = [
        near
        for number in _edges(formats if source is None else [*formats, source])
        for near in (number, *_marks(number, target))
    ]
    bases = list(dict.fromkeys(places))
    for sign in (1, -1):
        for base in bases:
            for fmt in dict.fromkeys(between):
                step = ulp(base, fmt)
                for part in (Fraction(1, 4), Fraction(-1, 4), Fraction(1, 2), Fraction(-1, 2), Fraction(0)):
                    yield from _held(sign * (base + part * step), source)
    if source is not None and source.bits <= _MOST_EXHAUSTIVE_BITS:
        yield from (decode(code, source) for code in range(2**source.bits))
    for text in _SPECIALS:
        value = Value.of(text)
        if source is None or explain(value, source, saturate=False).value == value:
            yield value


def _edges(formats: Sequence[Format]) -> list[Fraction]:
    """Return the magnitudes where formats change: about 1, the largest, the smallest, and the first normal ones."""
    numbers = [Fraction(1)]
    for fmt in formats:
        if fmt.kind is Kind.FLOAT:
            count, binade = finite_count(fmt), 2**fmt.mantissa_bits
            codes = (count - 2, count - 1, count, 0, 1, 2, binade - 1, binade, binade + 1, 2 * binade)
            numbers += [magnitude_of(max(code, 0), fmt) for code in codes]
            numbers.append(Fraction(2 * binade + 1))  # the first integer that it may lack
        else:
            numbers += [Fraction(number) for number in (0, 2, 2 ** (fmt.bits - fmt.signed) - 1, 2**fmt.bits)]
    return numbers


def _marks(number: Fraction, fmt: Format) -> list[Fraction]:
    """Return midpoints and values of a format next to a magnitude, those between which a code is even and odd."""
    if fmt.kind is not Kind.FLOAT:
        return [abs(number + half) for half in (Fraction(1, 2), Fraction(-1, 2), 1, -1)]
    below = max(bracket(number, fmt)[0], 0)
    values = [magnitude_of(code, fmt) for code in range(max(below - 2, 0), min(below + 4, finite_count(fmt) + 1))]
    here = values.index(magnitude_of(min(below, finite_count(fmt)), fmt))
    pairs = sorted(range(len(values) - 1), key=lambda index: (index < here, abs(index - here)))
    return [*((values[index] + values[index + 1]) / 2 for index in pairs), *values]


def _held(number: Fraction, source: Format | None) -> list[Value]:
    """Return a number, or the values of the source next to it."""
    if source is None:
        return [Value.of(number)]
    if source.kind is Kind.FLOAT:
        if number < 0 and not source.signed:
            return []
        codes = {code for code in bracket(abs(number), source) if 0 <= code < finite_count(source)}
        near = [decode(signed_code(code, number < 0, source), source) for code in codes]
    else:
        low = number.numerator // number.denominator
        near = [value for value in map(Value.of, (low, low + 1)) if _is_integer_of(value, source)]
    return sorted(near, key=lambda value: abs(value.number - number))


def _is_integer_of(value: Value, fmt: Format) -> bool:
    half = 2 ** (fmt.bits - fmt.signed)
    limit = 2 if fmt.kind is Kind.BOOL else half
    return (-half if fmt.signed else 0) <= value.number < limit
