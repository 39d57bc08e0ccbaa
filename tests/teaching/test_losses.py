"""What conversions lost: when there is a sentence, for every format and option; the error of a result."""

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
