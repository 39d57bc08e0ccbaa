"""Cast & BitCast: a code cast through other formats, and directly, and where the picture has each number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack

import lowprec as lp
from lowprec.explanation import Explanation
from lowprec.reference.exact_cast import Value, decode, neighbours, ulp
from lowprec.spec.formats import Format
from lowprec.spec.operator_versions import NEWEST
from lowprec.teaching.cast_chain import CastChain, cast_chain, cast_chain_witness

from ...shared.cast_options import CastOptions, options_for
from ...shared.numbers import apart, code_text, exact_text, power_form
from .view import Conversion, conversion

__all__ = [
    "Chain", "DoubleRounding", "Route", "Scale", "Tick", "chain_of", "direct_route", "names_in_words", "one_cast",
    "route", "witness_text",
]  # fmt: skip

_STEPS_ASIDE = 2
"""Values of the format between on each side of the rounded one."""

_FARTHEST = 4
"""How many widths of its interval away a result of the target is still drawn."""

_MARGIN = 10
"""Percent of a scale on each side of what is drawn: room for half a label."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A value of a format on a scale: its place in percent, its code, and what becomes it (`names`)."""

    place: float
    value: Value
    code: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scale:
    """A bar with values of a format; the places of x, of x rounded and of the midpoint on it, None of what is off it.

    `step` is the distance between neighbours; `window` the part that the other bar shows, in percent.
    """

    format: Format
    ticks: tuple[Tick, ...]
    x: float | None
    rounded: float | None
    midpoint: float | None
    step: str
    window: tuple[float, float]


@dataclass(frozen=True, slots=True)
class DoubleRounding:
    """The step that decides, drawn twice: at the scale of the last format, and of the format between.

    `name` is what x is called: x itself, or what the steps before made of it. One cast has no format between.
    """

    name: str
    x: Value
    rounded: Value | None
    midpoint: Value | None
    above: Scale
    below: Scale | None


@dataclass(frozen=True, slots=True)
class Route:
    """A way to the last format: each format on it with the code there; `words` say how the casts between round.

    `choice` is the value of the state that chooses it, or nothing.
    """

    name: str
    words: str
    choice: str
    stops: tuple[tuple[Format, int, Value], ...]
    differs: bool | None
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """A code cast to formats in turn and directly to the last one; `picture` where the step that decides has one."""

    chain: CastChain
    steps: tuple[Conversion, ...]
    direct: Conversion
    sentence: str
    picture: DoubleRounding | None


def names_in_words(formats: Sequence[Format]) -> str:
    """Return the names of one or two formats as a part of a sentence."""
    return " and ".join(fmt.name for fmt in formats)


def _asked(formats: Sequence[Format], options: CastOptions) -> CastOptions:
    """Return the options of every cast of a chain: no opset but the newest where ONNX lacks one of the formats."""
    if "opset" in options and any(fmt.onnx_enum is None for fmt in formats):
        return {**options, "opset": NEWEST}
    return options


def _each(source: Format, formats: Sequence[Format], between: Sequence[CastOptions], options: CastOptions) -> _Each:
    """Return the options of each cast: those of the casts between, where they have none of their own the last one's."""
    every = (source, *formats)
    return tuple(_asked(every, one) for one in (*(between or [options] * (len(formats) - 1)), options))


def route(chain: Chain, words: str, choice: str, *, is_chosen: bool) -> Route:
    """Return the way of a chain."""
    stops = tuple((step.target, step.result, step.result_value) for step in chain.steps)
    name = f"through {names_in_words([step.target for step in chain.steps[:-1]])}"
    return Route(name, words, choice, stops, stops[-1][1] != chain.direct.result, is_chosen)


def direct_route(cast: Conversion) -> Route:
    """Return the way of one cast."""
    return Route("directly", "", "", ((cast.target, cast.result, cast.result_value),), None, is_chosen=False)


def one_cast(cast: Conversion) -> DoubleRounding | None:
    """Return the drawing of one cast; None where it rounds no number between values."""
    found = cast.explanation
    if found is None or cast.value.special or cast.result_value.special or not (found.lower or found.upper):
        return None
    if cast.value.negative and found.format.is_float and not found.format.has_zero:
        return None
    x, midpoint = cast.value.number, None if found.midpoint is None else found.midpoint.number
    ticks = _target_ticks(found, [(cast.result, "x becomes this")])
    numbers = (*(number for number, _, _ in ticks), x, *([] if midpoint is None else [midpoint]))
    ends = min(numbers), max(numbers)
    scale = _scale(found.format, ticks, ends, ends, (x, x, midpoint))
    return DoubleRounding("x", cast.value, None, found.midpoint, scale, None)


def chain_of(
    code: int,
    source: Format,
    formats: Sequence[Format],
    *,
    between: Sequence[CastOptions] = (),
    **options: Unpack[CastOptions],
) -> Chain:
    """Return the casts of a code to formats in turn; ValueError where the opset lacks a type or attribute.

    `between` has the options of each cast but the last one, where they are others.
    """
    each = _each(source, formats, between, options)
    steps: list[Conversion] = []
    for before, after, one in zip((source, *formats), formats, each, strict=False):
        steps.append(conversion(steps[-1].result if steps else code, before, after, **one))
    asked = each[-1]
    direct = conversion(code, source, formats[-1], **asked)
    chain = cast_chain(direct.value, formats, each=each)
    return Chain(chain, tuple(steps), direct, _sentence(chain), _picture(chain, asked))


def _sentence(chain: CastChain) -> str:
    target = chain.direct.format
    through = names_in_words([step.format for step in chain.steps[:-1]])
    result, direct = (
        f"{apart(end.value, target)} ({code_text(end.code, target)})" for end in (chain.steps[-1], chain.direct)
    )
    if chain.differs:
        return f"Through {through} the result is {result}, directly {direct}: {chain.reason}."
    return f"Through {through} the result is {result}, directly the same."


def witness_text(
    source: Format, formats: Sequence[Format], *, between: Sequence[CastOptions] = (), **options: Unpack[CastOptions]
) -> str:
    """Return a number of the source whose result the chain changes, as a text; nothing if none."""
    found = cast_chain_witness(formats, source, each=_each(source, formats, between, options))
    return exact_text(found.x) if found else ""


def _picture(chain: CastChain, options: CastOptions) -> DoubleRounding | None:
    """Return the drawing of the step that decides, or of the first one that rounds."""
    between = chain.steps[:-1]
    rounding = (index for index, step in enumerate(between) if step.value != step.x)
    index = next(rounding, 0) if chain.decisive is None else chain.decisive
    step, target = between[index], chain.direct.format
    last = chain.direct if index == 0 else lp.explain(step.x, target, **options_for(target, options))
    is_number = not step.x.special and not step.value.special
    has_signs = not step.x.negative or all(fmt.has_zero or not fmt.is_float for fmt in (step.format, target))
    if not is_number or not has_signs or last.value.special or not (last.lower or last.upper):
        return None
    name = "x" if index == 0 else f"after {between[index - 1].format.name}"
    x, rounded = step.x.number, step.value.number
    midpoint = None if last.midpoint is None else last.midpoint.number
    through = "through " + names_in_words([fmt.format for fmt in between])
    results = [(chain.direct.code, "directly" if index == 0 else f"from {name}"), (chain.code, through)]
    above = _target_ticks(last, results)
    below = _between_ticks(step)
    wide = (*(number for number, _, _ in above), x, *([] if midpoint is None else [midpoint]))
    near = (*(number for number, _, _ in below), x, rounded)
    ends = (min(wide), max(wide)), (min(near), max(near))
    numbers = x, rounded, midpoint
    upper = _scale(target, above, ends[0], ends[1], numbers)
    return DoubleRounding(
        name, step.x, step.value, last.midpoint, upper, _scale(step.format, below, *ends[::-1], numbers)
    )


_Each = tuple[CastOptions, ...]
_Ticks = list[tuple[Fraction, int, tuple[str, ...]]]


def _target_ticks(last: Explanation, results: Sequence[tuple[int, str]]) -> _Ticks:
    """Return the values of the target around x, and what x becomes where that is near."""
    fmt = last.format
    codes = {pair[0] for pair in (last.lower, last.upper) if pair is not None}
    if len(codes) == 1:
        codes |= {near for near in neighbours(next(iter(codes)), fmt) if near is not None}
    values = {code: decode(code, fmt) for code in codes}
    numbers = [value.number for value in values.values() if not value.special]
    reach = _FARTHEST * max(max(numbers) - min(numbers), ulp(last.value, fmt))
    for code, _ in results:
        value = decode(code, fmt)
        if not value.special and min(numbers) - reach <= value.number <= max(numbers) + reach:
            values[code] = value
    return [
        (value.number, code, tuple(name for result, name in results if result == code))
        for code, value in values.items()
        if not value.special
    ]


def _between_ticks(step: Explanation) -> _Ticks:
    """Return the values of the format between around the one that x is rounded to."""
    codes = [step.code]
    for side in (0, 1):
        code: int | None = step.code
        for _ in range(_STEPS_ASIDE):
            code = None if code is None else neighbours(code, step.format)[side]
            if code is not None:
                codes.append(code)
    values = ((decode(code, step.format), code) for code in codes)
    return [(value.number, code, ()) for value, code in values if not value.special]


def _scale(
    fmt: Format,
    ticks: _Ticks,
    own: tuple[Fraction, Fraction],
    other: tuple[Fraction, Fraction],
    numbers: tuple[Fraction, Fraction, Fraction | None],
) -> Scale:
    low, high = own
    width = (high - low) or Fraction(1)

    def place(number: Fraction | None) -> float | None:
        if number is None or not low <= number <= high:
            return None
        return _MARGIN + float((number - low) / width * (100 - 2 * _MARGIN))

    def clipped(number: Fraction) -> float:
        found = place(min(max(number, low), high))
        assert found is not None  # it is within
        return found

    x, rounded, midpoint = map(place, numbers)
    places = tuple(Tick(clipped(number), Value.of(number), code, names) for number, code, names in sorted(ticks))
    step = power_form(ulp(numbers[0], fmt))
    return Scale(fmt, places, x, rounded, midpoint, step, (clipped(other[0]), clipped(other[1])))
