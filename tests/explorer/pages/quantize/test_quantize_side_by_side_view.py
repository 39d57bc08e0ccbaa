"""Settings as texts, and several of them side by side: texts come back, figures are the oracle's, sentences true."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.explorer_pages import charts, healthy, page, texts
from support.snippets import run

from lowprec import reference
from lowprec.explorer.pages.quantize import snippets
from lowprec.explorer.pages.quantize.settings import (
    GRANULARITIES,
    MX_FORMATS,
    SCALE_FORMATS,
    SCHEMES,
    SUGGESTED,
    TARGETS,
    parse_settings,
    settings_text,
)
from lowprec.explorer.pages.quantize.side_by_side_view import Row, compare, verdict
from lowprec.explorer.pages.quantize.state import MOST_SIDE_BY_SIDE, Quantize
from lowprec.explorer.pages.quantize.tensor import sampled, typed
from lowprec.explorer.pages.quantize.view import quantize
from lowprec.explorer.shared.link import checked, read, write
from lowprec.spec.formats import FLOAT4_E2M1FN, FLOAT8_E8M0FNU, FLOAT16, INT4
from lowprec.spec.rounding_modes import ROUNDINGS
from lowprec.spec.scale_rules import SCALE_RULES

X = (np.random.default_rng(4).standard_t(3, (4, 40)) * 2).astype(np.float32)
DESCRIBED = ["e3m2,nan=all-ones", "binary8p3se"]


@st.composite
def states(draw: Any) -> Quantize:
    scheme = draw(st.sampled_from(SCHEMES))
    names = [fmt.name for fmt in (MX_FORMATS if scheme == "mx" else TARGETS)] + DESCRIBED
    return Quantize(
        scheme=scheme, fmt=draw(st.sampled_from(names)), per=draw(st.sampled_from(GRANULARITIES)),
        axis=draw(st.integers(-2, 1)), block=draw(st.sampled_from([1, 7, 16, 32, 256])),
        scale=draw(st.sampled_from(SCALE_FORMATS)).name, round_mode=draw(st.sampled_from(["up", "down", "nearest"])),
        zero_point=draw(st.booleans()), saturate=draw(st.booleans()), scale_rule=draw(st.sampled_from(SCALE_RULES)),
        rounding=draw(st.sampled_from(ROUNDINGS)), rounding_seed=draw(st.integers(0, 9999)),
    )  # fmt: skip


@given(state=states())
def test_the_text_of_settings_means_the_same(state: Quantize) -> None:
    settings = state.settings()
    text = settings_text(settings)
    again = parse_settings(text)
    assert settings_text(again) == text
    assert settings_text(parse_settings(f"  {text.upper().replace(',', ' , ')} ")) == text
    one, other = quantize(X, settings), quantize(X, again)
    assert one.codes.tolist() == other.codes.tolist()
    assert one.scale_codes.tolist() == other.scale_codes.tolist()
    assert np.array_equal(one.dequantized, other.dequantized, equal_nan=True)
    assert (one.global_scale, one.bits_per_value) == (other.global_scale, other.bits_per_value)
    assert one.out_of_range.tolist() == other.out_of_range.tolist()


def test_texts_by_hand() -> None:
    found = parse_settings("mxfp4,rule=rceil")
    assert (found.scheme, found.fmt, found.block_size, found.scale_rule) == ("mx", FLOAT4_E2M1FN, 32, "rceil")
    assert found.scale_format == FLOAT8_E8M0FNU
    found = parse_settings("int4, block=16, scale=float16")
    assert (found.scheme, found.fmt, found.granularity, found.block) == ("linear", INT4, "block", 16)
    assert found.scale_format == FLOAT16
    assert (parse_settings("int8").granularity, settings_text(parse_settings("int8"))) == ("tensor", "int8,per=tensor")
    assert parse_settings("nvfp4").block_size == 16
    assert settings_text(parse_settings("nvfp4,block=16")) == "nvfp4"
    assert settings_text(parse_settings("mx:float4_e2m1fn,block=32")) == "mxfp4,rule=floor,block=32"
    assert settings_text(parse_settings("mx:int8")) == "mxint8,rule=floor,block=32"
    spelled = "mx:e3m2,nan=all-ones,rule=floor,block=8"
    assert settings_text(parse_settings(spelled)) == spelled
    assert parse_settings("e3m2,block=8,nan=all-ones").fmt == parse_settings(spelled).fmt
    assert [settings_text(parse_settings(text)) for text in SUGGESTED] == list(SUGGESTED)
    assert len(set(SUGGESTED)) == len(SUGGESTED)


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "'' is neither"), ("mxfp5", "'mxfp5' is neither a scheme nor a format"), ("float32", "neither"),
     ("e5m3", "at most 8 bits"), ("e0m3", "'e0m3'|must|exponent"), ("mx:uint8", "must be a float or int8"),
     ("mx:", "neither"), ("nvfp4,rule=floor", "rule changes nothing"), ("nvfp4,seed=1", "seed changes nothing"),
     ("int8,rounding=to_odd", "rounding changes nothing"), ("float4_e2m1fn,saturate=0", "saturate changes nothing"),
     ("uint4,scale=float8_e8m0fnu,rule=even", "rule changes nothing"), ("int4,block=0", "block is from 1 to 256"),
     ("int4,block=999999999999", "block is a whole number"), ("int4,block=²", "block is a whole number"),
     ("int4,block=4,per=axis", "one of per and block"), ("int4,block=4,block=4", "block is there twice"),
     ("int4,block", "there is no option 'block'"), ("int4,blck=4", "there is no option 'blck=4'"),
     ("int4,scale=int8", "scale is one of float32"), ("int4,zero_point=yes", "zero_point is one of 0, 1"),
     ("e4m3,inf=2", "`inf` must be 0 or 1"), ("x" * 200, "at most 120 characters"), ("<script>", "neither")],
)  # fmt: skip
def test_what_is_wrong_with_a_text_is_said(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^must be settings such as .*({why})"):
        parse_settings(text)
    found, problems = read(Quantize, {"compared": f"nvfp4;{text}"})
    assert found == Quantize(compared=("nvfp4",))
    assert re.match("compared has .*, which must be settings such as nvfp4", problems[0])
    found, problems = read(Quantize, {"compared": text})
    assert found == Quantize()
    assert problems[0].startswith("compared must be settings such as nvfp4")


@given(text=st.text(max_size=40) | st.lists(st.sampled_from([*SUGGESTED, "block", "=", ",", "1"])).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_settings(text)
    except ValueError as error:
        assert str(error).startswith("must be settings")  # noqa: PT017
    else:
        assert parse_settings(settings_text(found)) == found


def test_a_link_holds_one_to_four() -> None:
    assert Quantize().compared == SUGGESTED[:3]
    assert checked(Quantize, "compared", ["NVFP4", "mxfp4", "nvfp4"]) == ("nvfp4", "mxfp4,rule=floor,block=32")
    many = ";".join(SUGGESTED[:5])
    assert "at most 4" in read(Quantize, {"compared": many})[1][0]
    state = Quantize(compared=("e3m2,nan=all-ones,block=4", "int4,per=axis,axis=0"))
    assert state.compared == tuple(checked(Quantize, "compared", state.compared))
    assert read(Quantize, write(state)) == (state, ())
    assert len(";".join(SUGGESTED[:MOST_SIDE_BY_SIDE])) < 4000


def sqnr(x: Any, back: Any) -> float:
    given = [Fraction(float(one)) for one in np.ravel(x)]
    lost = [one - Fraction(float(other)) for one, other in zip(given, np.ravel(back), strict=True)]
    signal, noise = (sum(one * one for one in numbers) for numbers in (given, lost))
    return 10 * (math.log10(signal) - math.log10(noise))


def test_rows_are_the_oracle_s() -> None:
    codes, scales = reference.mx_blocks(X, "float4_e2m1fn", scale_rule="even", block_size=8)
    mx = reference.mx_values(codes, scales, block_size=8).view(np.float32)
    codes, scales, factor = reference.nvfp4_blocks(X)
    nv = reference.nvfp4_values(codes, scales, factor).view(np.float32)
    names = ["mxfp4,rule=even,block=8", "nvfp4"]
    rows, problems = compare(X, names)
    assert problems == {}
    assert [row.text for row in rows] == names
    assert [row.bits_per_value for row in rows] == [4 + 8 / 8, 4 + (8 * 12 + 32) / 160]
    ratios = [sqnr(X, back) for back in (mx, nv)]
    for row, back, ratio in zip(rows, (mx, nv), ratios, strict=True):
        error = np.abs(back.astype(float) - X)
        assert row.sqnr_db == pytest.approx(ratio)
        assert row.max_abs_error == error.max()
        assert row.is_best == (ratio == max(ratios))
        assert row.behind_db == pytest.approx(max(ratios) - ratio)
        order = np.argsort(np.abs(X.reshape(-1)), kind="stable").reshape(20, 8)  # 160 elements
        sizes, errors = np.abs(X.reshape(-1)[order]).astype(float), error.reshape(-1)[order]
        assert [(one.smallest, one.largest) for one in row.groups] == [(size[0], size[-1]) for size in sizes]
        assert [one.max_abs_error for one in row.groups] == errors.max(1).tolist()
        assert [one.rms_error for one in row.groups] == pytest.approx(np.sqrt((errors**2).mean(1)))
        assert row.flushed == np.mean((X != 0) & (back == 0))


def test_what_does_not_fit_the_tensor_is_left_out() -> None:
    rows, problems = compare(X[0], ("nvfp4", "int4,per=axis,axis=1"))
    assert [row.text for row in rows] == ["nvfp4"]
    assert "`axis` must be from -1 to 0" in problems["int4,per=axis,axis=1"]
    test = healthy(page("quantize", origin="typed", x="1 2 3", show="side-by-side", compared="int4,per=axis,axis=1"))
    assert "int4,per=axis,axis=1 is left out: `axis` must be from -1 to 0" in texts(test)
    assert charts(test) == []


def row(text: str, ratio: float, behind: float | None = None, bits: float = 4.25) -> Row:
    return Row(text, bits, ratio, 0.0, 0.0, 0.0, 0, (), behind == 0, behind)


def test_verdicts() -> None:
    rows = [row("a", 18.2, 1.9), row("nvfp4", 20.1, 0.0, 4.5), row("b", 3, 17.1)]
    assert verdict(rows) == ("nvfp4 has the largest SQNR, 20.10 dB at 4.5 bits per value: 1.90 dB more than a at 4.25.")
    assert verdict(rows[::-1]) == verdict(rows)
    assert (
        verdict([row("a", 9, 0.0), row("b", 9, 0.0)])
        == "a and b have an SQNR of 9.00 dB at 4.25 and 4.25 bits per value."
    )
    zero = compare(np.zeros((2, 2), np.float32), ["nvfp4"])[0]
    assert verdict(zero) == "No setting has an SQNR here: no finite element but zeros is there."
    exact = compare(np.ones((2, 2), np.float32), ("mxfp4", "int8"))[0]
    assert verdict(exact) == "mxfp4 and int8 have no error."
    specials = np.array([np.nan, 1, 2, 3.1], np.float32)
    rows = list(compare(specials, ("nvfp4", "int8"))[0])
    assert [one.not_finite for one in rows] == [4, 1]  # NaN takes its block along
    assert verdict(rows).startswith("int8 has an SQNR of")
    assert verdict([]) == ""


def test_the_chart_has_the_groups_by_size() -> None:
    """20 groups of 12 elements: each step begins where the one before ends, the last one ends at 100 %."""
    test = healthy(page("quantize", origin="sampled", rows="6", columns="40", show="side-by-side", compared="nvfp4"))
    values = json.loads(charts(test)[0])["layer"][0]["data"]["values"]
    assert [one["from"] for one in values] == [*range(0, 100, 5), 100]
    assert [one["to"] for one in values] == [*range(5, 105, 5), 100]


@pytest.mark.parametrize(
    ("query", "text", "disabled"),
    [
        ({"fmt": "uint8", "compared": ";".join(SUGGESTED[:4])}, "uint8,block=32", True),  # four are the most
        ({"fmt": "uint8", "compared": "nvfp4"}, "uint8,block=32", False),
        ({"fmt": "uint8", "compared": "uint8,block=32"}, "uint8,block=32", True),
        ({"fmt": "float8_e5m2", "scheme": "mx", "compared": "nvfp4"}, "mxfp8_e5m2,rule=floor,block=32", False),
    ],
)
def test_the_setting_that_can_be_added(query: dict[str, str], text: str, disabled: bool) -> None:
    test = healthy(page("quantize", origin="sampled", rows="6", columns="40", show="side-by-side", **query))
    (add,) = (button for button in test.button if button.label.startswith("Add"))
    assert (add.label, add.proto.disabled) == (f"Add {text}", disabled)


def test_what_is_copied_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    names = [*SUGGESTED[:4], "e3m2,nan=all-ones,block=4", "mx:binary6p3se,rule=even,block=8", "int4,per=axis"]
    names += ["mxint8,rule=ceil,block=5,rounding=stochastic,seed=4", "uint4,block=32,zero_point=1", "nvfp4,axis=0"]
    for text in ("sampled", "1 -2 3.3 nan; 0.1 0.2 0.3 -0"):
        origin = {} if text == "sampled" else {"origin": "typed", "x": text}
        state = dataclasses.replace(Quantize(origin="sampled", rows=8, columns=40, seed=3), **origin)
        tensor = typed(text) if origin else sampled("normal", 8, 40, 3, 1.0)
        settings = {settings_text(parse_settings(name)): parse_settings(name) for name in names}
        rows, _ = compare(tensor.values, list(settings))
        python, onnx = snippets.of_comparison_of_settings(state, tensor, settings)
        printed = [line.split() for line in run(python, capsys)[1].splitlines()]
        assert [(name, float(a), float(b)) for name, a, b in printed] == [
            (one.text, one.sqnr_db, one.max_abs_error) for one in rows
        ]
        assert onnx.startswith("None: ")
