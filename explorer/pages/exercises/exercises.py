"""Twenty exercises: numbers drawn by a seed, the right codes and the verdict on an answer, computed by the library.

A task is a function of (seed, number), a verdict one of a task and an answer.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

import lowprec as lp
from lowprec import reference, teaching
from lowprec.explanation import Explanation
from lowprec.reference.exact_cast import Value, decode, encode
from lowprec.reference.exact_quantize import product, quotient
from lowprec.spec.formats import Format

from ...shared.numbers import code_text, exact, short

__all__ = ["COUNT", "Mark", "Task", "Verdict", "points", "shown_text", "task", "verdict"]

FLOATS = ("float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float6_e2m3fn", "float6_e3m2fn")
FNUZ = ("float8_e4m3fnuz", "float8_e5m2fnuz")
DIRECTED = {
    "toward_zero": "toward zero",
    "away_from_zero": "away from zero",
    "toward_positive": "toward +Inf",
    "toward_negative": "toward −Inf",
    "to_odd": "to odd",
}
NEAREST = "rounding to nearest"
_TOPICS = ("bits and values", "rounding", "beyond the range", "packing", "blocks and scales")
_BYTE = lp.formats["uint8"]
_FP4 = lp.formats["float4_e2m1fn"]
_POWERS = lp.formats["float8_e8m0fnu"]


@dataclass(frozen=True, slots=True)
class Task:
    """A question and its right answers.

    Attributes
    ----------
    number, topic : int, str
        Its place among the twenty, from 1; what it practises.
    fmt, setting : Format, str
        The format of the code; the rule in a few words.
    question : tuple of str
        The text before the number, the number, the text after it.
    title : str
        The question in a few words, for a list.
    right : frozenset of int
        The right codes, or the index of the right choice.
    x : Value or None
        The number that the code is to stand for, or nearly.
    values : tuple of Value
        What each code stands for; of a choice, what each choice does.
    is_rounded : bool
        Whether x lies between values: its two neighbours may be drawn.
    choices : tuple of str
        What can be chosen, where no bits are set.
    hint, lead, why : str
        What to think of; what is said with a wrong answer; why the right one is right.
    path, query : str, dict
        The page that shows it.
    """

    number: int
    topic: str
    fmt: Format
    setting: str
    question: tuple[str, str, str]
    title: str
    right: frozenset[int]
    x: Value | None
    values: tuple[Value, ...]
    hint: str
    why: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    is_rounded: bool = False
    lead: str = ""
    choices: tuple[str, ...] = ()

    @property
    def result(self) -> str:
        """The right answer as a short text: a choice, or the value of the code."""
        first = min(self.right)
        return self.choices[first] if self.choices else shown_text(self.values[first])


@dataclass(frozen=True, slots=True)
class Mark:
    """A number of the picture: its text, and whether it is the answer, x, the right value, the midpoint or a wall."""

    value: Fraction
    text: str
    role: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is right, and what is said and drawn about it.

    `marks` are the numbers of the picture from left to right, `distances` texts between two of them by their places;
    `badge` is the class and the word of an answer that is no number.
    """

    is_right: bool
    title: str
    sentence: str
    lead: str = ""
    marks: tuple[Mark, ...] = ()
    distances: tuple[tuple[int, int, str, bool], ...] = ()
    badge: tuple[str, str] | None = None


class Draw:
    """Random numbers of one task."""

    def __init__(self, seed: int, number: int) -> None:
        self._random = random.Random(f"{seed} {number}")

    def integer(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        return self._random.randrange(low, high + 1)

    def pick(self, options: Sequence[str]) -> str:
        """Return one of some texts."""
        return options[self.integer(0, len(options) - 1)]

    def decimal(self) -> str:
        """Return a decimal of two digits, from 0.11 to 99."""
        first, second = self.integer(1, 9), self.integer(1, 9)
        return self.pick((f"0.{first}{second}", f"{first}.{second}", f"{first}{second}"))


def shown_text(value: Value | Fraction) -> str:
    """Return a number as it is shown: exact where that is short, with a minus sign."""
    number = Value.of(value)
    names = {"nan": "NaN", "inf": "Inf"}
    text = names[number.special] if number.special else exact(number)
    return f"−{text.removeprefix('-')}" if number.negative and number.special != "nan" else text.replace("-", "−")


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _distance(x: Value, other: Value) -> Fraction:
    found = teaching.error_of(x, other, "float64").absolute
    return Fraction(0) if found is None else found


def _values(fmt: Format) -> tuple[Value, ...]:
    return tuple(decode(code, fmt) for code in range(2**fmt.bits))


def _is_between(explanation: Explanation) -> bool:
    """Whether a number lies between two values, nearer to one of them."""
    lower, upper = explanation.lower, explanation.upper
    return bool(lower and upper and lower != upper and not explanation.is_tie and explanation.midpoint)


def _side(explanation: Explanation) -> str:
    middle = explanation.midpoint
    if middle is None:
        return ""
    x, text = explanation.x, shown_text(middle)
    if x.number == middle.number:
        return "It is the midpoint of its neighbours: a tie, which goes to the even code."
    return f"{shown_text(x)} lies {'above' if x.number > middle.number else 'below'} the midpoint {text}."


# ---- the kinds


def _exact_value(draw: Draw, names: Sequence[str], title: str) -> dict[str, object]:
    fmt = lp.formats[draw.pick(names)]
    first, last = 2**fmt.mantissa_bits + 1, int(fmt.max_code)
    while True:
        code = draw.integer(first, last)
        if draw.integer(0, 2) == 0:
            code += int(fmt.sign_mask)
        value = decode(code, fmt)
        if len(str(value)) <= 7:
            break
    text = shown_text(value)
    power = reference.binade_of(value)
    return {
        "fmt": fmt,
        "setting": title,
        "question": ("Set the code of ", text, "."),
        "title": f"{text} in {fmt.name}",
        "right": {code},
        "x": value,
        "hint": _minus(f"It lies in the binade that begins at 2^{power}: the exponent field is {power} + {fmt.bias}, ")
        + "the bias. The mantissa counts the steps from there.",
        "why": f"{code_text(code, fmt)} is {text}: exponent field {(code & fmt.exponent_mask) >> fmt.mantissa_bits}, "
        f"less the bias {fmt.bias}; mantissa {code & fmt.mantissa_mask} of {2**fmt.mantissa_bits}.",
        "path": "anatomy",
        "query": {"fmt": fmt.name, "at": code_text(code, fmt)},
    }


def value_to_code(draw: Draw) -> dict[str, object]:
    """Draw a value, exactly."""
    return _exact_value(draw, FLOATS[:3], "a value of the format")


def fnuz_code(draw: Draw) -> dict[str, object]:
    """Draw a value of a FNUZ format."""
    return _exact_value(draw, FNUZ, "a value of a FNUZ format")


def subnormal(draw: Draw) -> dict[str, object]:
    """Draw a subnormal value."""
    fmt = lp.formats[draw.pick(FLOATS)]
    code = draw.integer(1, 2**fmt.mantissa_bits - 1)
    value, step = decode(code, fmt), shown_text(decode(1, fmt))
    unit = exact(decode(1, fmt), 0).replace("-", "−")
    text = f"{code} · {unit}" if code > 1 else unit
    return {
        "fmt": fmt,
        "setting": "a subnormal value",
        "question": ("Set the code of ", text, "."),
        "title": f"{text} in {fmt.name}",
        "right": {code},
        "x": value,
        "hint": f"The smallest positive value is {step} = {unit}; subnormals have an exponent field of 0.",
        "why": f"{code_text(code, fmt)}: the exponent field is 0, there is no hidden 1, and the mantissa counts "
        f"steps of {unit}.",
        "path": "anatomy",
        "query": {"fmt": fmt.name, "at": code_text(code, fmt)},
    }


def largest(draw: Draw) -> dict[str, object]:
    """Draw the largest finite value."""
    fmt = lp.formats[draw.pick((*FLOATS, *FNUZ, "float4_e2m1fn", "float8_e4m3"))]
    facts = teaching.format_facts(fmt)
    return {
        "fmt": fmt,
        "setting": "the range",
        "question": ("Set the largest finite value of ", fmt.name, "."),
        "title": f"the largest value of {fmt.name}",
        "right": {int(fmt.max_code)},
        "x": None,
        "hint": "NaN takes the last codes of some formats, and Inf of some; here "
        f"{_counted(facts.nan_count)} NaN and {_counted(facts.inf_count)} Inf.",
        "why": f"The largest value is {shown_text(facts.largest)}. {facts.why_it_ends}".replace("-0", "−0"),
        "path": "anatomy",
        "query": {"fmt": fmt.name, "at": str(facts.largest)},
    }


def _counted(codes: int) -> str:
    return {0: "none is", 1: "one is"}.get(codes, f"{codes} are")


def nan_code(draw: Draw) -> dict[str, object]:
    """Draw a code of NaN."""
    fmt = lp.formats[draw.pick(("float8_e4m3fn", "float8_e5m2", *FNUZ, "float8_e4m3"))]
    right = {code for code, value in enumerate(_values(fmt)) if value.special == "nan"}
    count = f"{len(right)} codes" if len(right) > 1 else "one code"
    return {
        "fmt": fmt,
        "setting": "special values",
        "question": ("Set a code of ", "NaN", f" in {fmt.name}."),
        "title": f"NaN in {fmt.name}",
        "right": right,
        "x": None,
        "hint": f"NaN has {count} here"
        + ("." if fmt.name not in FNUZ else ": the one that would be −0, since the format has no −0."),
        "why": "NaN is " + ", ".join(code_text(code, fmt) for code in sorted(right)[:8]) + ".",
        "path": "anatomy",
        "query": {"fmt": fmt.name, "at": "nan"},
    }


def next_value(draw: Draw) -> dict[str, object]:
    """Draw the next larger value."""
    fmt = lp.formats[draw.pick(FLOATS[:3])]
    while True:
        code = draw.integer(2, int(fmt.max_code) - 1) | fmt.mantissa_mask * draw.integer(0, 1)
        value = decode(code, fmt)
        if code < int(fmt.max_code) and len(str(value)) <= 8:
            break
    text = shown_text(value)
    _, after = reference.neighbours(code, fmt)
    assert after is not None
    return {
        "fmt": fmt,
        "setting": "neighbours",
        "question": ("Set the next value above ", text, "."),
        "title": f"the next value above {text}",
        "right": {after},
        "x": value,
        "hint": "Positive codes are in the order of their values: take the next code, with a carry where the mantissa "
        "is full.",
        "why": f"{text} is {code_text(code, fmt)}, and the next code, {code_text(after, fmt)}, is "
        f"{shown_text(decode(after, fmt))}.",
        "path": "anatomy",
        "query": {"fmt": fmt.name, "at": code_text(after, fmt)},
    }


def negative_integer(draw: Draw) -> dict[str, object]:
    """Draw a negative integer."""
    fmt = lp.formats[draw.pick(("int4", "int8"))]
    value = Value.of(-draw.integer(2, int(fmt.max)))
    code, text = encode(value, fmt), shown_text(value)
    return {
        "fmt": fmt,
        "setting": "two's complement",
        "question": ("Set the code of ", text, "."),
        "title": f"{text} in {fmt.name}",
        "right": {code},
        "x": value,
        "hint": f"The sign bit alone counts −{2 ** (fmt.bits - 1)}; the other bits are added to that.",
        "why": f"{code_text(code, fmt)}: −{2 ** (fmt.bits - 1)} + {code % 2 ** (fmt.bits - 1)}.",
        "path": "anatomy",
        "query": {"fmt": fmt.name, "at": str(value)},
    }


def count(draw: Draw) -> dict[str, object]:
    """Draw a binade, whose values are counted."""
    fmt = lp.formats[draw.pick((*FLOATS, "bfloat16", "float16"))]
    power = draw.integer(0, 1)
    low, high = (str(Value.of(Fraction(2) ** exponent)) for exponent in (power, power + 1))
    number = teaching.values_between(low, high, fmt)
    choices = tuple(str(one) for one in sorted({number - 1, number, 2 * number, number // 2}))
    return {
        "fmt": fmt,
        "setting": "a binade",
        "question": (f"How many values has {fmt.name} from ", low, f" up to, but not including, {high}?"),
        "title": f"values of {fmt.name} from {low} up to {high}",
        "right": {choices.index(str(number))},
        "x": None,
        "choices": choices,
        "values": tuple(Value.of(text) for text in choices),
        "hint": f"A binade has one value for each mantissa, and {fmt.name} has {fmt.mantissa_bits} bits of it.",
        "why": f"{fmt.mantissa_bits} bits of mantissa tell {2**fmt.mantissa_bits} values apart in a binade.",
        "path": "anatomy",
        "query": {"fmt": fmt.name, "at": low},
    }


def _rounded(draw: Draw, names: Sequence[str], number: Callable[[], str], **rule: str) -> tuple[Format, Explanation]:
    """Draw a number that lies between two values."""
    while True:
        fmt = lp.formats[draw.pick(names)]
        found = lp.explain(number(), fmt, **rule)  # type: ignore[arg-type]
        if _is_between(found) and len(shown_text(found.midpoint)) <= 12:  # type: ignore[arg-type]
            return fmt, found


def _rounding_task(fmt: Format, found: Explanation, setting: str, hint: str, **query: str) -> dict[str, object]:
    text = shown_text(found.x)
    return {
        "fmt": fmt,
        "setting": setting,
        "question": ("Which code does ", text, " become?"),
        "title": f"{text} in {fmt.name}",
        "right": {found.code},
        "x": found.x,
        "is_rounded": True,
        "hint": hint,
        "lead": _side(found) if not query.get("rounding") else "",
        "why": f"{text} becomes {shown_text(found.value)}, code {code_text(found.code, fmt)}: {found.rule}.",
        "path": "rounding",
        "query": {"x": str(found.x), "fmt": fmt.name, **query},
    }


def _ends_hint(found: Explanation) -> str:
    assert found.lower is not None
    assert found.upper is not None
    return f"Its neighbours are {shown_text(found.lower[1])} and {shown_text(found.upper[1])}."


def nearest(draw: Draw) -> dict[str, object]:
    """Draw a number for rounding to nearest."""
    fmt, found = _rounded(draw, (*FLOATS, "float4_e2m1fn"), draw.decimal)
    return _rounding_task(fmt, found, NEAREST, _ends_hint(found))


def tie(draw: Draw) -> dict[str, object]:
    """Draw a tie."""
    fmt, found = _rounded(draw, FLOATS, draw.decimal)
    assert found.midpoint is not None
    at_tie = lp.explain(found.midpoint, fmt)
    return _rounding_task(
        fmt, at_tie, NEAREST, f"{_ends_hint(at_tie)} It is half-way: the code whose last bit is 0 wins."
    )


def directed(draw: Draw) -> dict[str, object]:
    """Draw a directed rounding, or to odd."""
    rule = draw.pick(tuple(DIRECTED))
    sign = draw.pick(("", "-"))
    fmt, found = _rounded(draw, FLOATS, lambda: sign + draw.decimal(), rounding=rule)
    what = "the one whose last bit is 1" if rule == "to_odd" else f"the one that lies {DIRECTED[rule]}"
    hint = f"{_ends_hint(found)} The rule takes {what}, however near the other is."
    return _rounding_task(fmt, found, f"rounding {DIRECTED[rule]}", hint, rounding=rule)


def underflow(draw: Draw) -> dict[str, object]:
    """Draw a number for rounding below the smallest normal value."""
    zeros = {"float8_e4m3fn": "0.00", "float8_e5m2": "0.0000"}
    while True:
        name = draw.pick(tuple(zeros))
        fmt, found = _rounded(draw, (name,), lambda: f"{zeros[name]}{draw.integer(4, 99):02}")  # noqa: B023
        if found.x.magnitude < Fraction(fmt.smallest_normal):
            break
    return _rounding_task(
        fmt,
        found,
        f"{NEAREST}, subnormal",
        f"The step is {exact(decode(1, fmt), 0)} there".replace("-", "−") + f". {_ends_hint(found)}",
    )


def swamping(draw: Draw) -> dict[str, object]:
    """Draw a sum that stops growing."""
    names = {"bfloat16": 4096, "float16": 4096, "float8_e4m3fn": 64, "float8_e5m2": 64}
    fmt = lp.formats[draw.pick(tuple(names))]
    ones = names[fmt.name]
    found = teaching.accumulate([1] * ones, fmt)
    total = Value.of(found.sum)
    after = decode(encode(total, fmt) + 1, fmt)
    choices = (*map(str, dict.fromkeys((Value.of(ones), total, after))), "Inf")
    step = shown_text(_distance(total, after))
    return {
        "fmt": fmt,
        "setting": "a sum, each step rounded to nearest",
        "question": ("", str(ones), f" ones are added one after the other in {fmt.name}. What is the sum?"),
        "title": f"{ones} ones in {fmt.name}",
        "right": {choices.index(str(total))},
        "x": Value.of(ones),
        "choices": choices,
        "values": tuple(Value.of(text) for text in choices),
        "hint": "Where are the values 2 apart? A sum of 1 more is a tie there.",
        "why": f"From {total} up the values of {fmt.name} are {step} apart: {total} + 1 is a tie, which goes back to "
        f"{total}.",
        "path": "arithmetic",
        "query": {"fmt": fmt.name, "n": str(ones)},
    }


def overflow(draw: Draw) -> dict[str, object]:
    """Draw a number beyond the range of a float."""
    fmt = lp.formats[draw.pick(("float8_e4m3fn", "float8_e5m2", *FNUZ))]
    saturate = draw.integer(0, 1) == 1
    edge = teaching.overflow_edge(fmt).number
    while True:
        text = f"{draw.integer(1, 9)}{draw.integer(0, 9)}e{draw.integer(1, 5)}"
        if Value.of(text).number > edge:
            break
    found = lp.explain(text, fmt, saturate=saturate)
    special = found.value.special
    right = {code for code, value in enumerate(_values(fmt)) if special == "nan" == value.special} or {found.code}
    x, end = shown_text(found.x), shown_text(teaching.format_facts(fmt).largest)
    fate = (
        "With saturate it becomes the largest value"
        if saturate
        else "Without saturate it becomes Inf, or NaN where the format has no Inf"
    )
    return {
        "fmt": fmt,
        "setting": f"Cast, saturate {'on' if saturate else 'off'}",
        "question": ("Which code does ", x, " become?"),
        "title": f"{x} in {fmt.name}",
        "right": right,
        "x": found.x,
        "hint": f"{x} is beyond the largest value, {end}. Does the format have Inf, and is saturate on?",
        "why": f"{x} rounds beyond {end}. {fate}: {shown_text(found.value)}, code {code_text(found.code, fmt)}.",
        "path": "rounding",
        "query": {"x": str(found.x), "fmt": fmt.name, "saturate": str(int(saturate))},
    }


def wrap(draw: Draw) -> dict[str, object]:
    """Draw a number beyond the range of an integer."""
    fmt = lp.formats[draw.pick(("int8", "uint8", "int4"))]
    while True:
        x = Value.of(draw.integer(20, 400))
        if x.number > fmt.max:
            break
    code, text = encode(x, fmt), shown_text(x)
    return {
        "fmt": fmt,
        "setting": "Cast to an integer",
        "question": ("Which code does ", text, " become?"),
        "title": f"{text} in {fmt.name}",
        "right": {code},
        "x": x,
        "hint": f"saturate concerns floats alone: an integer keeps the lowest {fmt.bits} bits, modulo {2**fmt.bits}.",
        "why": f"Integers wrap: {text} modulo {2**fmt.bits} has the code {code_text(code, fmt)}, which is "
        f"{shown_text(decode(code, fmt))}.",
        "path": "rounding",
        "query": {"x": str(x), "fmt": fmt.name},
    }


def inf_by_opset(draw: Draw) -> dict[str, object]:
    """Draw Inf and what it becomes in a FNUZ format, by opset."""
    fmt, opset = lp.formats[draw.pick(FNUZ)], draw.integer(22, 25)
    sign = draw.pick(("", "-"))
    found = lp.explain(f"{sign}inf", fmt, opset=opset)
    text = shown_text(found.x)
    return {
        "fmt": fmt,
        "setting": f"Cast of opset {opset}, saturate on",
        "question": ("Which code does ", text, " become?"),
        "title": f"{text} at opset {opset}",
        "right": {found.code},
        "x": found.x,
        "hint": "The format has no Inf. Up to opset 23 the text of Cast makes it NaN even with saturate.",
        "why": f"{text} becomes {shown_text(found.value)}, code {code_text(found.code, fmt)}, "
        + ("up to opset 23." if opset < 24 else "since opset 24."),
        "path": "saturation",
        "query": {"opset": str(opset)},
    }


def byte(draw: Draw) -> dict[str, object]:
    """Draw the byte of two packed codes."""
    fmt = lp.formats[draw.pick(("int4", "uint4", "float4_e2m1fn"))]
    first, second = draw.integer(0, 15), draw.integer(0, 15)
    if first == second:
        second ^= 5
    (right,) = lp.pack(np.array([first, second], np.uint8), fmt).tolist()
    texts = tuple(code_text(code, fmt) for code in (first, second))
    return {
        "fmt": _BYTE,
        "setting": f"two codes of {fmt.name} in a byte",
        "question": ("Which byte do the codes ", f"{texts[0]}, {texts[1]}", " make?"),
        "title": f"{texts[0]}, {texts[1]} in a byte",
        "right": {right},
        "x": None,
        "hint": "The first code takes the low bits, those on the right.",
        "why": f"{texts[0]} takes the low bits, {texts[1]} the high ones: {code_text(right, _BYTE)}.",
        "path": "conversion",
        "query": {"packed": fmt.name, "codes": f"{texts[0]} {texts[1]}"},
    }


def mx_scale(draw: Draw) -> dict[str, object]:
    """Draw the scale of an MXFP4 block."""
    text = draw.decimal()
    *_, scale = teaching.mx_scale_steps(text, _FP4)
    code = encode(scale.value, _POWERS)
    shown = shown_text(scale.value)
    return {
        "fmt": _POWERS,
        "setting": "MXFP4, scale rule floor",
        "question": ("The largest of a block is ", text, ". Which code has its scale?"),
        "title": f"the scale of a block up to {text}",
        "right": {code},
        "x": Value.of(text),
        "hint": "The scale is the largest power of two up to the number, over 4 = 2^2; code 127 is 1.",
        "why": f"The scale is {shown}: floor(log2 {text}) − 2 = {code} − 127.",
        "path": "quantize",
        "query": {"scheme": "mx", "fmt": _FP4.name, "origin": "typed", "x": text},
    }


def mx_element(draw: Draw) -> dict[str, object]:
    """Draw an element of an MXFP4 block."""
    scale = Value(Fraction(2) ** draw.integer(-3, 3))
    while True:
        x = Value.of(draw.pick(("", "-")) + draw.decimal())
        found = lp.explain(quotient(x, scale), _FP4)
        if _is_between(found):
            break
    code = reference.quantize(x, scale, None, _FP4, precision="float32")
    values = tuple(product(value, scale) for value in _values(_FP4))
    text, by = shown_text(x), shown_text(scale)
    return {
        "fmt": _FP4,
        "setting": f"MXFP4, the scale is {by}",
        "question": ("Which code has ", text, " in this block?"),
        "title": f"{text} over the scale {by}",
        "right": {code},
        "x": x,
        "values": values,
        "is_rounded": True,
        "hint": f"Divide by the scale, then round to float4_e2m1fn: {text} / {by} = {shown_text(found.x)}.",
        "why": f"{text} / {by} = {shown_text(found.x)}, which rounds to {shown_text(found.value)}, code "
        f"{code_text(code, _FP4)}.",
        "path": "quantize",
        "query": {"scheme": "mx", "fmt": _FP4.name},
    }


def linear(draw: Draw) -> dict[str, object]:
    """Draw quantizeLinear with a zero point."""
    scale = Value(Fraction(2) ** draw.integer(-3, 1))
    zero = draw.integer(100, 150)
    while True:
        x = Value.of(draw.pick(("", "-")) + draw.decimal())
        steps = quotient(x, scale)
        if steps.magnitude < 90 and 2 * steps.magnitude % 1:
            break
    code = reference.quantize(x, scale, zero, _BYTE, precision="float32")
    values = tuple(decode(reference.dequantize(one, _BYTE, scale, zero), "float32") for one in range(256))
    text, by = shown_text(x), shown_text(scale)
    return {
        "fmt": _BYTE,
        "setting": f"QuantizeLinear, scale {by}, zero point {zero}",
        "question": ("Which code does ", text, " become?"),
        "title": f"{text} in uint8, scale {by}",
        "right": {code},
        "x": x,
        "values": values,
        "is_rounded": True,
        "hint": f"Divide by the scale, round, add the zero point: {text} / {by} = {shown_text(steps)}.",
        "why": f"{text} / {by} = {shown_text(steps)}, rounded and {zero} added: {code}.",
        "path": "quantize",
        "query": {"fmt": "uint8"},
    }


_KINDS: tuple[tuple[int, Callable[[Draw], dict[str, object]]], ...] = (
    (0, value_to_code), (0, subnormal), (0, count), (0, largest), (0, next_value), (0, nan_code), (0, fnuz_code),
    (0, negative_integer), (1, nearest), (1, tie), (1, directed), (1, underflow), (1, swamping), (2, overflow),
    (2, wrap), (2, inf_by_opset), (3, byte), (4, mx_scale), (4, mx_element), (4, linear),
)  # fmt: skip
"""The topic of each exercise, and what draws it."""

COUNT = len(_KINDS)


@functools.lru_cache(maxsize=256)
def task(seed: int, number: int) -> Task:
    """Return the task of a number, from 1 to `COUNT`, that a seed draws."""
    topic, draw = _KINDS[number - 1]
    drawn: dict[str, object] = draw(Draw(seed, number))
    fmt = drawn["fmt"]
    assert isinstance(fmt, Format)
    drawn.setdefault("values", _values(fmt) if "choices" not in drawn else ())
    drawn["right"] = frozenset(drawn["right"])  # type: ignore[call-overload]
    return Task(number=number, topic=_TOPICS[topic], **drawn)  # type: ignore[arg-type]


# ---- verdicts


def points(tries: int, is_right: bool) -> Fraction:
    """Return the points of an answer after so many wrong ones; a hint counts as one."""
    return {0: Fraction(1), 1: Fraction(1, 2)}.get(tries, Fraction(0)) if is_right else Fraction(0)


def verdict(one: Task, answer: int) -> Verdict:
    """Return what an answer, a code or the index of a choice, is worth, and the picture of a wrong one."""
    if answer in one.right:
        return Verdict(True, "Right.", one.why)
    if one.title.endswith("in a byte"):
        return _wrong_byte(one, answer)
    value = one.values[answer]
    text = shown_text(value)
    said = f"No: {'the answer is not' if one.choices else 'that is'} {text}."
    if one.topic == "blocks and scales" and one.fmt == _POWERS:
        return _wrong_scale(one, value)
    if one.choices and one.x is None:
        return _wrong_count(one, said)
    if value.special:
        kind = value.special
        return Verdict(
            False, said, "It stands for no number." * (kind == "nan"), one.lead, _of_x(one), (), (kind, text)
        )
    if one.x is None:
        return _without_number(one, answer, said)
    if one.x.special:
        sentence = "It is a number, but not the one." if value.magnitude else ""
        return Verdict(False, said, sentence, one.lead, (Mark(value.number, text, "answer"),))
    return _beside(one, value, said)


def _of_x(one: Task) -> tuple[Mark, ...]:
    if one.x is None or one.x.special:
        return ()
    return (Mark(one.x.number, shown_text(one.x), "number"),)


def _drawn(
    marks: Sequence[Mark], pairs: Sequence[tuple[str, str, str, bool]]
) -> tuple[tuple[Mark, ...], tuple[tuple[int, int, str, bool], ...]]:
    """Return marks from left to right, and distances between two roles by the places of these."""
    order = tuple(sorted(marks, key=lambda mark: mark.value))
    place = {mark.role: index for index, mark in enumerate(order)}
    spans = tuple((*sorted((place[a], place[b])), text, good) for a, b, text, good in pairs)
    return order, spans  # type: ignore[return-value]


def _beside(one: Task, value: Value, said: str) -> Verdict:
    """Return the verdict on a number that is not the one: how far it is from x, and how far a neighbour."""
    x, away = one.x, _distance(one.x, value) if one.x else Fraction(0)
    assert x is not None
    distance = shown_text(away)
    marks = [Mark(value.number, shown_text(value), "answer"), Mark(x.number, shown_text(x), "number")]
    pairs = [("answer", "number", distance, False)]
    if not away and one.choices:
        return Verdict(False, said, "That is the exact sum; each step is rounded.", one.lead, tuple(marks[1:]))
    if not away:
        minus = "It is minus zero." if value.negative else "It has the wrong sign of zero."
        return Verdict(False, said, minus if not value.magnitude else f"It is {shown_text(x)} itself.", one.lead,
                       tuple(marks[1:]))  # fmt: skip
    sentence = f"It is {distance} away from {shown_text(x)}."
    if value.magnitude == x.magnitude:
        sentence = "Only the sign is wrong."
    if one.is_rounded:
        best = one.values[min(one.right)]
        least = _distance(x, best)
        side = "above" if best.number > x.number else "below"
        near = _other_neighbour(one.values, best, x)
        is_neighbour = near is not None and value.number == near.number
        marks.append(Mark(best.number, shown_text(best), "right"))
        pairs.append(("number", "right", shown_text(least), True))
        if is_neighbour:
            said = "Close: that is the other neighbour."
            sentence = f"It is {distance} away, the one {side} only {shown_text(least)}."
            if away == least:
                sentence = f"Both are {distance} away, and the tie goes to the other."
            elif away < least:
                sentence = f"It is nearer, {distance} against {shown_text(least)}, but this is {one.setting}."
            middle = Fraction(value.number + best.number) / 2
            marks.append(Mark(middle, shown_text(middle), "midpoint"))
        elif away >= least:
            sentence = f"It is {distance} away, and there is a value only {shown_text(least)} {side}."
    order, spans = _drawn(marks, pairs)
    return Verdict(False, said, sentence, one.lead, order, spans)


@functools.lru_cache(maxsize=256)
def _other_neighbour(values: tuple[Value, ...], best: Value, x: Value) -> Value | None:
    """Return the neighbour of x on the other side of it than the best value."""
    numbers = [value for value in values if not value.special and (value.number > x.number) != (best.number > x.number)]
    return min(numbers, key=lambda value: abs(value.number - x.number), default=None)


def _without_number(one: Task, answer: int, said: str) -> Verdict:
    """Return the verdict on a number where NaN, or the largest value, was asked for."""
    value = one.values[answer]
    marks = [Mark(value.number, shown_text(value), "answer")]
    _, after = reference.neighbours(answer, one.fmt)
    if len(one.right) > 1 or after is None or not one.question[0].startswith("Set the largest"):
        return Verdict(False, said, "It is a number.", one.lead, tuple(marks))
    above = one.values[after]
    if above.special:
        return Verdict(False, said, "", one.lead, tuple(marks))
    marks.append(Mark(above.number, shown_text(above), "wall"))
    step = shown_text(_distance(value, above))
    order, spans = _drawn(marks, [("answer", "wall", step, False)])
    return Verdict(False, said, f"{shown_text(above)} is a value too, and larger.", one.lead, order, spans)


def _wrong_count(one: Task, said: str) -> Verdict:
    low = Value.of(one.question[1])
    after = decode(encode(low, one.fmt) + 1, one.fmt)
    high = one.question[2].rstrip("?").split()[-1]
    marks = [Mark(low.number, str(low), "wall"), Mark(after.number, shown_text(after), "right"),
             Mark(Value.of(high).number, high, "end")]  # fmt: skip
    width, one_step = _distance(low, Value.of(high)), _distance(low, after)
    order, spans = _drawn(marks, [("wall", "right", shown_text(one_step), True)])
    sentence = f"The values are {short(one_step)} apart, and the binade is {shown_text(width)} wide."
    return Verdict(False, said, sentence, one.lead, order, spans)


def _wrong_scale(one: Task, value: Value) -> Verdict:
    """Return the verdict on a scale: what the largest of the block is over it."""
    assert one.x is not None
    if value.special:
        return Verdict(
            False, "No: that is NaN.", "A block with this scale is NaN throughout.", "", (), (), ("nan", "NaN")
        )
    over = quotient(one.x, value)
    text = short(over).replace("-", "−")
    small = over.number < 4
    marks = [Mark(Fraction(4), "4", "wall"), Mark(Fraction(8), "8", "end")]
    if Fraction(1, 64) < over.number < 512:
        marks.append(Mark(over.number, text, "number"))
    where = "less than 4: the highest values stay unused" if small else "8 or more, where all become 6"
    order, spans = _drawn(marks, [])
    said = _minus(f"No: that is {short(value)}.")
    sentence = f"{one.question[1]} over it is {text}, {where}."
    return Verdict(False, said, sentence, "It should lie from 4 up to 8.", order, spans)


def _wrong_byte(one: Task, answer: int) -> Verdict:
    low, high = answer % 16, answer // 16
    first, second = one.question[1].split(", ")
    said = f"No: the low bits are 0x{low:X}, the high bits 0x{high:X}."
    swapped = (f"0x{low:X}", f"0x{high:X}") == (second, first)
    sentence = "The codes are there, but in the other order." if swapped else f"They should hold {first} and {second}."
    return Verdict(False, said, sentence)
