"""Descriptions of formats as short texts: what they describe, their shortest spelling, what is wrong with others."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import lowprec as lp
from lowprec.spec.custom_formats import float_format_spelled, has_spelled_shape, spelling_of

E4M3 = {"exponent_bits": 4, "mantissa_bits": 3}


@pytest.mark.parametrize(
    ("text", "facts", "spelling"),
    [("e4m3", E4M3, "e4m3"), ("E4M3,BIAS=7", E4M3, "e4m3"), ("e4m3,inf=1,signed=True,zero=1,nan=ieee", E4M3, "e4m3"),
     (" e4m3 , bias = 8 ", {**E4M3, "bias": 8}, "e4m3,bias=8"), ("e4m3,bias=-3", {**E4M3, "bias": -3}, "e4m3,bias=-3"),
     ("e4m3,nan=negative-zero,inf=0,bias=8", {**E4M3, "bias": 8, "inf": False, "nan": "negative-zero"},
      "e4m3,bias=8,inf=0,nan=negative-zero"),
     ("e3m0,signed=false,nan=none", {"exponent_bits": 3, "mantissa_bits": 0, "signed": False, "nan": "none"},
      "e3m0,signed=0,nan=none"),
     ("e8m0,signed=0,inf=0,nan=all-ones,zero=0",
      {"exponent_bits": 8, "mantissa_bits": 0, "signed": False, "inf": False, "nan": "all-ones", "zero": False},
      "e8m0,signed=0,inf=0,nan=all-ones,zero=0")],
)  # fmt: skip
def test_what_a_text_describes(text: str, facts: dict[str, Any], spelling: str) -> None:
    fmt = float_format_spelled(text)
    assert fmt is lp.float_format(spelling, **facts)
    assert spelling_of(fmt) == spelling
    assert has_spelled_shape(text)


def test_every_description_is_read_back() -> None:
    rules = ("ieee", "all-ones", "negative-zero", "none")
    count = 0
    for exponent, mantissa, bias in itertools.product((1, 4, 8), (0, 1, 7), (None, 0, -5)):
        for signed, inf, nan, zero in itertools.product((True, False), (True, False), rules, (True, False)):
            facts = {"exponent_bits": exponent, "mantissa_bits": mantissa, "bias": bias, "signed": signed, "inf": inf}
            try:
                fmt = lp.float_format("some", **facts, nan=nan, zero=zero)
            except ValueError:
                continue
            found = float_format_spelled(spelling_of(fmt))
            assert found is lp.float_format(spelling_of(fmt), **facts, nan=nan, zero=zero)
            count += 1
    assert count > 150


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "must begin with the widths of its fields, as e4m3 does; got ''"), ("m3e4", "must begin"),
     ("e4m3;inf=0", "must begin"), ("float16", "must begin"), ("e99999m1", "must begin"), ("e4m3,", "each part"),
     ("e4m3,inf", "each part"), ("e4m3,name=x", "must be one of bias=, signed=, inf=, nan=, zero=; got 'name=x'"),
     ("e4m3,inf=2", "`inf` must be 0 or 1; got '2'"), ("e4m3,zero=", "`zero` must be 0 or 1"),
     ("e4m3,inf=0,inf=0", "`inf` must be there once"), ("e4m3,bias=1.5", "`bias` must be an integer"),
     ("e4m3,bias=999999", "`bias` must be an integer of at most 5 digits"), ("e4m3,bias=\u0663", "`bias` must be"),
     ("e4m3,nan=some", "`nan` must be one of"), ("e0m3", "`exponent_bits` must be 1 to 11"),
     ("e9m23", "2 to 32 bits"), ("e4m0", "`nan` must be another rule than 'ieee'")],
)  # fmt: skip
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        float_format_spelled(text)
