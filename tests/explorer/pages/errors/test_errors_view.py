"""The page Errors: its sentences and numbers against fractions, its chart, what is copied, and every state."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from support.explorer_pages import asked, charts, copied, healthy, page, texts
from support.explorer_states.errors import states
from support.optional import optional

from lowprec import as_format, reference
from lowprec.explorer.pages.errors import view
from lowprec.explorer.pages.errors.state import Errors
from lowprec.explorer.shared.link import read, write
from lowprec.reference.exact_cast import Value

onnx: Any = optional("onnx")

STATES = [*states()]
OPTIONS: dict[str, Any] = {"saturate": True, "round_mode": "up", "overflow": "default"}


def curve(name: str, low: str, high: str, measure: str = "absolute", rounding: str = "onnx", x: str = "0.3") -> Any:
    ends = view.range_of(low, high, "linear")
    return view.curve(as_format(name), rounding, ends, measure, Value.of(x), 1, **OPTIONS)


@pytest.mark.parametrize("number", range(len(STATES)))
def test_every_state_comes_back(number: int) -> None:
    assert read(Errors, write(STATES[number])) == (STATES[number], ())
    if number % 3 == 0:
        test = healthy(page("errors", **write(STATES[number])))
        assert len(charts(test)) == 1


def test_the_largest_error_in_words() -> None:
    shown = texts(healthy(page("errors", fmts="float8_e4m3fn,bfloat16", low="1", high="2", measure="relative")))
    # the tie 17/16 becomes 1, 1/17 of it away; that of bfloat16 is 257/256
    assert "float8_e4m3fn: the largest error is ≈5.882 %, at 1.0625." in shown
    assert "bfloat16: the largest error is ≈0.3891 %, at 1.00390625." in shown
    assert round(100 / 17, 3) == 5.882
    assert round(100 / 257, 4) == 0.3891


def test_sentences() -> None:
    found = {
        view.sentence(curve("float8_e4m3fn", "0", "2"), "relative"): "just above 0.",
        view.sentence(
            curve("float8_e4m3fn", "0", "1", rounding="away_from_zero"), "relative"
        ): "has no bound just above",
        view.sentence(
            curve("float8_e4m3fn", "1", "2", rounding="toward_zero"), "absolute"
        ): "is 0.125, just below 1.125.",
        view.sentence(curve("float8_e4m3fn", "1", "2", rounding="stochastic_a"), "ulp"): "largest possible error is",
        view.sentence(curve("float8_e4m3fn", "448", "1000"), "absolute"): "is 552, at 1000.",
        view.sentence(curve("int8", "0", "300"), "absolute"): "is 257, just below 129.",
        view.sentence(curve("float16", "66000", "70000"), "absolute"): "no number of the range has a finite result",
    }
    for text, words in found.items():
        assert words in text
    assert (
        view.without_result_text(curve("float16", "1", "70000")) == "float16 has no finite result from 65520 to 70000."
    )


def test_the_chart_has_the_saw_tooth() -> None:
    test = healthy(page("errors", fmts="float4_e2m1fn", low="1", high="2", x="1.2"))
    layers = json.loads(charts(test)[0])["layer"]
    line = next(layer["data"]["values"] for layer in layers if layer["mark"]["type"] == "line")
    # values 1, 1.5, 2: down from each to the midpoint, up from there
    expected = [(1, 0), (1.25, -0.25), (1.25, 0.25), (1.5, 0), (1.5, 0), (1.75, -0.25), (1.75, 0.25), (2, 0)]
    assert [(row["x"], row["error"]) for row in line] == expected
    (mark,) = next(layer["data"]["values"] for layer in layers if layer["mark"]["type"] == "point")
    assert mark["error"] == pytest.approx(-0.2)
    assert mark["x"] == pytest.approx(1.2)


@pytest.mark.parametrize(("scale", "expected"), [("linear", {"zero": False, "nice": False}), ("log", {"type": "log"})])
def test_the_scale_and_the_rule_of_the_chart(scale: str, expected: dict[str, Any]) -> None:
    """The rule at x has the colour of texts about NaN, a dark red in the light scheme."""
    layers = json.loads(charts(healthy(page("errors", low="1", high="2", x="1.5", scale=scale)))[0])["layer"]
    assert [layer["encoding"]["x"]["scale"] for layer in layers] == [expected] * len(layers)
    assert [layer["mark"]["color"] for layer in layers if layer["mark"]["type"] == "rule"] == ["#8c1230"]


def test_a_stochastic_band() -> None:
    test = healthy(page("errors", fmts="float4_e2m1fn", low="1", high="1.5", roundings="stochastic_b"))
    layers = json.loads(charts(test)[0])["layer"]
    band = next(layer["data"]["values"] for layer in layers if layer["mark"]["type"] == "area")
    middle = min(band, key=lambda row: abs(row["x"] - 1.25))
    assert (middle["least"], middle["greatest"]) == pytest.approx((-0.25, 0.25), abs=1e-4)
    lines = [layer["data"]["values"] for layer in layers if layer["mark"]["type"] == "line"]
    assert all(abs(row["error"]) < 1e-4 for row in lines[-1])  # unbiased
    assert any("Stochastic" in text.value for text in test.caption)


def test_many_values_and_large_relative_errors() -> None:
    test = healthy(page("errors", fmts="float16", low="0", high="2", measure="relative", roundings="away_from_zero"))
    notes = [text.value for text in test.caption]
    assert any("too many values" in text for text in notes)
    assert len(charts(test)[0]) < 400_000
    few = healthy(page("errors", fmts="float8_e4m3fn", measure="relative", roundings="away_from_zero"))
    assert any("cut off" in text.value for text in few.caption)
    for test in (few, healthy(page("errors", fmts="float8_e4m3fn", measure="relative", roundings="stochastic_a"))):
        marks = [layer["mark"] for layer in json.loads(charts(test)[0])["layer"]]
        assert all(mark["clip"] for mark in marks if mark["type"] != "rule")


def test_controls() -> None:
    test = healthy(page("errors"))
    for label in ("subnormals", "the largest value", "whole range, log", "around 1"):
        (button,) = (button for button in test.button if button.label == label)
        healthy(button.click().run())
        assert view.range_of(asked(test, "low"), asked(test, "high"), asked(test, "scale"))
        assert len(charts(test)) == 1
    assert (asked(test, "low"), asked(test, "high")) == ("0.5", "4")
    bad = page("errors", low="3", high="2", scale="log")
    assert not bad.exception
    assert "must be greater than" in bad.error[0].value
    negative = page("errors", low="-1", scale="log", roundings=",".join(view.ROUNDINGS[:6]))
    assert not negative.exception
    assert ["at most 4" in negative.error[0].value, "must be positive on a log scale" in negative.error[1].value] == [
        True,
        True,
    ]
    far = page("errors", high="1e400", x="one")
    assert not far.exception
    assert len(far.error) == 2


@pytest.mark.parametrize(
    ("x", "said"),
    [("1", "The dashed rule is x = 1."), ("2", "The dashed rule is x = 2."), ("2.5", "x = 2.5 is not in the range.")],
)
def test_the_ends_are_in_the_range(x: str, said: str) -> None:
    assert said in [caption.value for caption in healthy(page("errors", low="1", high="2", x=x)).caption]


def test_captions_say_what_some_curves_have() -> None:
    many = "A band without a line inside: the range has too many values to draw each. The errors fill the band."
    chance = "Stochastic: the band has the possible errors, the line inside is the expected error."
    query = {"fmts": "float16,float4_e2m1fn", "low": "0", "high": "2", "roundings": "nearest_even,stochastic_a"}
    assert {many, chance} <= {caption.value for caption in healthy(page("errors", **query)).caption}
    shown = {caption.value for caption in healthy(page("errors", fmts="float4_e2m1fn")).caption}
    assert not {many, chance} & shown


@pytest.mark.parametrize(
    ("roundings", "labels"),
    [("onnx", {"saturate"}), ("nearest_even", {"Overflow"}), ("onnx,nearest_even", {"saturate", "Overflow"})],
)
def test_the_options_are_those_of_the_roundings(roundings: str, labels: set[str]) -> None:
    test = healthy(page("errors", fmts="float8_e4m3fn", roundings=roundings))
    assert {box.label for kind in (test.toggle, test.selectbox) for box in kind} == labels


def test_what_is_copied(capsys: pytest.CaptureFixture[str]) -> None:
    for query in (
        {"fmts": "float8_e4m3fn,float8_e8m0fnu", "round_mode": "nearest", "saturate": "0", "low": "1", "x": "3/2"},
        {"fmts": "binary8p3se,e4m3,bias=8,inf=0,nan=negative-zero,int8", "low": "1", "roundings": "onnx,to_odd"},
    ):
        test = healthy(page("errors", **query))
        codes = [code.value for code in test.code]
        capsys.readouterr()
        exec(codes[1], {})
        out = capsys.readouterr().out.splitlines()
        state = read(Errors, query)[0]
        assert len(out) == sum(1 if name == "int8" else len(state.roundings) for name in state.fmts)
        assert out[0].startswith("LargestError(error=Fraction(")
    nodes = copied(page("errors", fmts="float8_e4m3fn,float8_e8m0fnu"))[2]
    names: dict[str, Any] = {}
    exec(nodes, names)
    onnx.checker.check_model(names["model"], full_check=True)
    assert len(names["nodes"]) == 2


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e8m0fnu", "uint4", "bool", "float64", "binary6p3ue"])
def test_the_error_at_the_number(name: str) -> None:
    for x in ("0.3", "1.2", "1"):
        found = curve(name, "0.1", "2", x=x)
        result = reference.decode(reference.encode(x, name), name).number
        assert found.at_x.mean == result - Fraction(x)
    assert curve(name, "0.1", "2", x="3").at_x is None
    assert curve(name, "0.1", "2", x="inf").at_x is None
