"""What conversions lost: sentences by hand, when there is one, for every format and option; the error of a result."""

from __future__ import annotations

import dataclasses
import math
import random
from fractions import Fraction
from itertools import product

import pytest
from support.custom_formats import SMALL

import lowprec as lp
from lowprec import reference, teaching
from lowprec.explanation import LOSSES
from lowprec.explorer.shared.format_names import format_named
from lowprec.reference.values import number_text
from lowprec.spec.formats import NUMERIC, Format, Kind
from lowprec.spec.rounding_modes import NAN_RULES, OVERFLOWS, ROUNDINGS, STOCHASTIC
from lowprec.teaching import ResultError, error_of

BY_NAME = {"ids": lambda fmt: fmt.name}
E4M3, FNUZ, E8M0 = "float8_e4m3fn", "float8_e4m3fnuz", "float8_e8m0fnu"


@pytest.mark.parametrize(
    ("x", "name", "options", "kinds", "sentence"),
    [
        ("465", E4M3, {}, "saturates", f"465 rounds beyond 448, the largest value of {E4M3}: saturate makes it 448."),
        ("-1e3", E4M3, {}, "saturates", f"-1000 rounds beyond -448, the lowest value of {E4M3}: saturate makes it "
         "-448."),
        ("465", E4M3, {"saturate": False}, "becomes NaN", f"465 rounds beyond 448, the largest value of {E4M3}: "
         "without saturate it becomes NaN, as the format has no Inf."),
        ("-465", FNUZ, {"saturate": False}, "becomes NaN", f"-465 rounds beyond -240, the lowest value of {FNUZ}: "
         "without saturate it becomes NaN, as the format has no Inf."),
        ("1e9", "float8_e5m2", {"saturate": False}, "becomes Inf", "1000000000 rounds beyond 57344, the largest value "
         "of float8_e5m2: without saturate it becomes Inf."),
        ("70000", "float16", {}, "becomes Inf", "70000 rounds beyond 65504, the largest value of float16: it becomes "
         "Inf."),
        ("3.40282357e38", "float32", {}, "becomes Inf", "3.40282357e+38 rounds beyond about 3.40282347e+38, the "
         "largest value of float32: it becomes Inf."),
        ("8", "float4_e2m1fn", {}, "saturates", "8 rounds beyond 6, the largest value of float4_e2m1fn: it becomes 6, "
         "as the format has neither Inf nor NaN."),
        ("500", E4M3, {"rounding": "to_odd", "overflow": "ovf_inf"}, "becomes NaN", "500 rounds beyond 448, the "
         f"largest value of {E4M3}: overflow ovf_inf makes it NaN, as the format has no Inf."),
        ("500", E4M3, {"rounding": "toward_zero", "overflow": "ovf_inf"}, "saturates", "500 rounds beyond 448, the "
         f"largest value of {E4M3}: toward_zero makes it 448."),
        ("500", E4M3, {"rounding": "to_odd"}, "saturates", f"500 rounds beyond 448, the largest value of {E4M3}: "
         "overflow sat_finite makes it 448."),
        ("inf", E4M3, {}, "saturates", f"Inf becomes 448, the largest value of {E4M3}: saturate makes it finite."),
        ("-inf", E4M3, {"saturate": False}, "becomes NaN",
         f"-Inf becomes NaN: without saturate, as {E4M3} has no Inf."),
        ("inf", FNUZ, {"opset": 19}, "becomes NaN", f"Inf becomes NaN: {FNUZ} has no Inf, and in opsets 19 to 23 "
         "saturate does not change that."),
        ("inf", "float6_e3m2fn", {}, "saturates", "Inf becomes 28, the largest value of float6_e3m2fn: float6_e3m2fn "
         "has no Inf and no NaN."),
        ("inf", E4M3, {"overflow": "sat_propagate"}, "saturates", f"Inf becomes 448, the largest value of {E4M3}: "
         f"overflow sat_propagate, and {E4M3} has no Inf."),
        ("inf", "int8", {}, "loses Inf", "Inf becomes 0: int8 has no Inf."),
        ("-inf", "bool", {}, "loses Inf", "-Inf becomes 1 (True): bool has no Inf."),
        ("nan", "float4_e2m1fn", {}, "loses NaN", "NaN becomes -0: float4_e2m1fn has no NaN."),
        ("-nan", "int4", {}, "loses NaN", "-NaN becomes 0: int4 has no NaN."),
        ("nan", E4M3, {"nan": "largest"}, "loses NaN", f"NaN becomes 448, the largest value of {E4M3}: the rule "
         "nan=largest."),
        ("300", "int8", {}, "wraps", "300 is beyond 127, the largest value of int8: Cast keeps the lowest 8 bits, 44."),
        ("-1.5", "uint4", {}, "wraps", "-1.5 is below 0, the lowest value of uint4: Cast keeps the lowest 4 bits of "
         "-1, 15."),
        ("0.7", "int8", {}, "becomes 0", "0.7 becomes 0: Cast truncates toward zero to an integer."),
        ("-0", "int8", {}, "loses -0", "-0 becomes 0: int8 has no -0."),
        ("-0", FNUZ, {}, "loses -0", f"-0 becomes 0: {FNUZ} has no -0."),
        ("-1e-4", E4M3, {}, "becomes 0", f"-0.0001 rounds to -0: the smallest value of {E4M3} above 0 is 0.001953125."),
        ("-3", E8M0, {}, "loses its sign", f"The sign of -3 is ignored: {E8M0} has none."),
        ("0", E8M0, {}, "saturates", f"0 is below 2^-127, the smallest value of {E8M0}: saturate makes it 2^-127."),
        ("1e39", E8M0, {"saturate": False}, "becomes NaN", f"1e+39 is beyond 2^127, the largest value of {E8M0}: "
         "without saturate it becomes NaN, as the format has no Inf."),
        ("-inf", E8M0, {}, "loses its sign, saturates", f"The sign of -Inf is ignored: {E8M0} has none. Inf becomes "
         f"2^127, the largest value of {E8M0}: saturate makes it finite."),
        ("-5", "binary8p3uf", {}, "saturates", "-5 is below 0, the lowest value of binary8p3uf: saturate makes it 0."),
        ("-inf", "binary8p3ue", {"saturate": False}, "becomes NaN", "-Inf becomes NaN: without saturate, as "
         "binary8p3ue has no -Inf."),
        ("1e60", "binary16p8sf", {}, "becomes NaN", "1e+60 rounds beyond about 3.38953e+38, the largest value of "
         "binary16p8sf: it becomes NaN, as the format has no Inf."),
    ],
)  # fmt: skip
def test_sentences(x: str, name: str, options: dict[str, str], kinds: str, sentence: str) -> None:
    explanation = lp.explain(x, name, **options)
    assert teaching.lost(explanation) == sentence
    assert ", ".join(loss.kind for loss in teaching.losses(explanation)) == kinds


DESCRIBED = [*SMALL[::11], *map(format_named, (
    "binary8p3se", "binary8p3uf", "binary6p3ue", "binary4p1ue", "binary16p8sf", "binary12p6ue",
    "e4m0,signed=0,inf=0,zero=0,nan=all-ones", "e4m0,signed=0,zero=0,inf=0,nan=none", "e3m2,signed=0,nan=none",
    "e4m3,bias=8,inf=0,nan=negative-zero", "e4m3,inf=0,nan=none",
))]  # fmt: skip
FORMATS = [*NUMERIC, *DESCRIBED]


def numbers_of(fmt: Format) -> list[str]:
    facts = teaching.format_facts(fmt)
    largest, smallest, step = facts.largest.number, facts.smallest.number, reference.ulp(facts.largest, fmt)
    some = [largest, largest + step / 4, largest + step / 2, largest + step, smallest / 2, smallest * Fraction(3, 4),
            Fraction(7, 10), -facts.lowest.number + Fraction(3, 2), 10**300]  # fmt: skip
    return [sign + text for sign in ("", "-") for text in (*map(str, map(Fraction, some)), "0", "inf", "nan")]


def options_of(fmt: Format) -> list[dict[str, object]]:
    opsets = [28] if fmt.since is None else [opset for opset in (19, 28) if opset >= fmt.since]
    found: list[dict[str, object]] = [
        {"saturate": saturate, "opset": opset} for saturate, opset in product((True, False), opsets)
    ]
    if not fmt.is_float:
        return found
    if not fmt.has_zero:
        found += [{"saturate": saturate, "round_mode": "down"} for saturate in (True, False)]
    for rounding, overflow in product(ROUNDINGS[:9], OVERFLOWS):
        found.append({"rounding": rounding, "overflow": overflow} | ({"seed": 7} if rounding in STOCHASTIC else {}))
    return [*found, *({"nan": rule} for rule in NAN_RULES)]


def without_ends(fmt: Format) -> Format:
    """Return a float with the same values and no end: more exponents, above and, without zero, below."""
    if fmt.exponent_bits > 9:
        return fmt
    lower = 0 if fmt.has_zero else 2 ** (fmt.exponent_bits - 1)  # even: the codes keep their last bits
    more = {"exponent_bits": fmt.exponent_bits + 1, "bias": fmt.bias + lower}
    facts = {"has_inf": False, "nan": type(fmt.nan).NONE, "onnx_name": None, "onnx_enum": None, "since": None}
    return dataclasses.replace(fmt, name="without ends", torch_name=None, **more, **facts)


def kind_of(value: reference.Value) -> tuple[str, bool]:
    """NaN, an Inf, a zero or a number of a sign."""
    return value.special or ("number" if value.magnitude else "zero"), value.negative and value.special != "nan"


def is_lost(found: lp.explanation.Explanation, endless: Format) -> bool:
    fmt, x, value = found.format, found.x, found.value
    if fmt.kind is Kind.BOOL:
        return bool(x.special)
    if kind_of(x) != kind_of(value):
        return True
    if x.special or not x.magnitude:
        return False
    if not fmt.is_float:
        return value.number != int(x.number)
    if found.rounding is None and not fmt.has_zero:
        facts = teaching.format_facts(fmt)
        return not facts.smallest.number <= x.magnitude <= facts.largest.number
    scale = 4 if endless is fmt and x.magnitude > 1 else 1  # float64, to which rounding is the same far from its ends
    mode, bits = ("nearest_even", 16) if found.rounding is None else (found.rounding.mode, found.rounding.random_bits)
    extra = {"random": found.random, "random_bits": bits} if found.random is not None else {}
    code = reference.encode(x.number / scale, endless, rounding=mode, overflow="ovf_inf", **extra)
    return reference.decode(code, endless).number * scale != value.number


@pytest.mark.one_in(7)
@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
def test_a_sentence_stands_exactly_where_the_kind_of_value_changed(fmt: Format) -> None:
    endless = without_ends(fmt) if fmt.is_float else fmt
    seen = set()
    for x, options in product(numbers_of(fmt), options_of(fmt)):
        found = lp.explain(x, fmt, **options)
        losses = teaching.losses(found)
        assert bool(losses) == is_lost(found, endless), (x, options, losses, found)
        result = reference.Value(
            found.value.magnitude, found.value.negative and found.value.special != "nan", found.value.special
        )
        for kind, sentence in losses:
            assert kind in LOSSES
            seen.add(kind)
            assert sentence.endswith(".")
            if kind == "loses its sign":
                assert found.x.negative
                assert not fmt.signed
                continue
            assert any(text in sentence for text in texts_of(result)), (x, options, sentence)
            special = {"becomes Inf": "inf", "becomes NaN": "nan"}.get(kind, "")
            assert result.special == special
            assert ("without saturate" not in sentence) or options.get("saturate") is False
            assert ("saturate makes" not in sentence) or options.get("saturate", True)
            assert ("overflow" not in sentence) or found.rounding is not None
            assert ("no Inf" not in sentence) or not fmt.has_inf
            assert ("no NaN" not in sentence) or fmt.nan.value == "none"
    assert {"loses NaN", "loses Inf"} <= seen or fmt.is_float


@pytest.mark.one_in(7)
@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
def test_the_rule_says_exact_where_nothing_is_lost_and_there_alone(fmt: Format) -> None:
    values = [reference.decode(code, fmt) for code in (0, 1, 2, fmt.code_mask // 2, fmt.code_mask)]
    for x, options in product([*numbers_of(fmt), "-0", "-1", "-2", "2", "300", *values], options_of(fmt)):
        found = lp.explain(x, fmt, **options)
        same = (found.x.special, found.x.magnitude, found.x.negative) == (
            found.value.special, found.value.magnitude, found.value.negative
        )  # fmt: skip
        if "exact" in found.rule:
            assert teaching.losses(found) == (), (x, options, found)
        if fmt.kind is not Kind.BOOL and not found.x.special:
            assert found.rule.startswith("exact: x is ") == same, (x, options, found)


def texts_of(value: reference.Value) -> set[str]:
    """Return the short texts of a value."""
    return {number_text(value, digits) for digits in (6, 9, 17)}


@pytest.mark.parametrize(
    ("x", "result", "fmt", "absolute", "relative", "ulps"),
    [
        (1000, 448, "float8_e4m3fn", 552, Fraction(552, 1000), Fraction(552, 32)),  # steps of 32 up to 448, the end
        ("-0.3", "-0.3125", "float8_e4m3fn", Fraction(1, 80), Fraction(1, 24), Fraction(2, 5)),
        (2, 2, "float4_e2m1fn", 0, 0, 0),
        (200, -56, "int8", 256, Fraction(256, 200), 256),
        ("0.25", 0, "int8", Fraction(1, 4), 1, Fraction(1, 4)),
    ],
)
def test_by_hand(x: object, result: object, fmt: str, absolute: object, relative: object, ulps: object) -> None:
    assert error_of(x, result, fmt) == ResultError(absolute, relative, ulps)


def test_where_there_is_none() -> None:
    for x, result in (("nan", 1), (1, "nan"), ("inf", 448), (1, "-inf")):
        assert error_of(x, result, "float8_e5m2") == ResultError()
    assert error_of(0, 1, "float16").relative is None
    with pytest.raises(ValueError, match="`result`"):
        error_of(1, "one", "float16")


def test_units_of_float64_are_those_of_math() -> None:
    rng = random.Random(7)
    for _ in range(200):
        x, result = (rng.choice((-1, 1)) * math.ldexp(rng.random() + 0.5, rng.randrange(-1000, 1000)) for _ in range(2))
        difference = abs(Fraction(x) - Fraction(result))
        found = error_of(x, result, "float64")
        assert found.absolute == difference
        assert found.ulps == difference / Fraction(math.ulp(x))
        assert found.relative == difference / abs(Fraction(x)) == teaching.relative_error(result, x)
