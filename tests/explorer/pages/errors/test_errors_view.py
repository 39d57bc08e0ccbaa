"""The page Errors: its sentences and numbers against fractions, its chart, what is copied."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from support.explorer_pages import asked, copied, healthy, page, sent
from support.snippets import offered, run

from lowprec import as_format
from lowprec.explorer.pages.errors import view
from lowprec.explorer.pages.errors.state import Errors
from lowprec.explorer.shared.link import read
from lowprec.reference.exact_cast import Value

SVG = "{http://www.w3.org/2000/svg}"
OPTIONS: dict[str, Any] = {"saturate": True, "round_mode": "up", "overflow": "default"}


def curve(name: str, low: str, high: str, measure: str = "absolute", rounding: str = "onnx", x: str = "0.3") -> Any:
    ends = view.range_of(low, high, "linear")
    return view.curve(as_format(name), rounding, ends, measure, Value.of(x), 1, **OPTIONS)


def picture(test: Any) -> dict[str, Any]:
    (found,) = sent(test, "picture")
    return found


def svg(test: Any, index: int = 0) -> Any:
    return ElementTree.fromstring(picture(test)["drawings"][index]["svg"])


def words(test: Any, index: int = 0) -> list[str]:
    return [text.text for text in svg(test, index).iter(f"{SVG}text")]


@pytest.mark.parametrize("index", [0, 1])
def test_the_largest_error_in_words(index: int) -> None:
    """The tie 17/16 becomes 1, 1/17 of it away; that of bfloat16 is 257/256."""
    query = {"fmts": "float8_e4m3fn,bfloat16", "low": "1", "high": "2", "measure": "relative"}
    shown = words(healthy(page("errors", **query)), index)
    assert shown[shown.index("float8_e4m3fn") + 1] == "at most ≈5.882 %, at 1.0625"
    assert shown[shown.index("bfloat16") + 1] == "at most ≈0.3891 %, at 1.00390625"
    assert round(100 / 17, 3) == 5.882
    assert round(100 / 257, 4) == 0.3891


def test_bounds() -> None:
    found = {
        view.bound(curve("float8_e4m3fn", "0", "2"), "relative"): "just above 0",
        view.bound(curve("float8_e4m3fn", "0", "1", rounding="away_from_zero"), "relative"): "no bound just above",
        view.bound(curve("float8_e4m3fn", "1", "2", rounding="toward_zero"), "absolute"): "0.125, just below 1.125",
        view.bound(curve("float8_e4m3fn", "448", "1000"), "absolute"): "at most 552, at 1000",
        view.bound(curve("int8", "0", "300"), "absolute"): "at most 257, just below 129",
        view.bound(curve("float16", "66000", "70000"), "absolute"): "no finite result in the range",
        view.bound(curve("int8", "0", "1"), "ulp"): "at most 1 ulp, just below 1",
    }
    for text, part in found.items():
        assert part in text
    assert (
        view.without_result_text(curve("float16", "1", "70000")) == "float16 has no finite result from 65520 to 70000."
    )


def path_points(d: str) -> list[tuple[float, float]]:
    pairs = (part.split() for part in d.rstrip("z")[1:].split("L"))
    return [(float(x), float(y)) for x, y in pairs]


def test_the_picture_has_the_saw_tooth() -> None:
    """Values 1, 1.5, 2: down from each to the midpoint, up from there; in pixels, by the picture's own axes."""
    root = svg(healthy(page("errors", fmts="float4_e2m1fn", low="1", high="2", x="1.2")))
    line = next(path for path in root.iter(f"{SVG}path") if path.get("stroke") == "var(--lp-mantissa-text)")
    points = path_points(line.get("d"))
    left, right = points[0][0], points[-1][0]
    zero, lowest = points[0][1], max(y for _, y in points)
    found = [((x - left) / (right - left) + 1, -(y - zero) / (lowest - zero) / 4) for x, y in points]
    expected = [(1, 0), (1.25, -0.25), (1.25, 0.25), (1.5, 0), (1.5, 0), (1.75, -0.25), (1.75, 0.25), (2, 0)]
    assert [tuple(round(number, 2) + 0.0 for number in point) for point in found] == expected
    (mark,) = (circle for circle in root.iter(f"{SVG}circle") if circle.get("stroke"))
    assert (float(mark.get("cx")) - left) / (right - left) == pytest.approx(0.2, abs=0.01)
    assert -(float(mark.get("cy")) - zero) / (lowest - zero) / 4 == pytest.approx(-0.2, abs=0.01)


def test_axes_have_round_numbers() -> None:
    shown = words(healthy(page("errors", low="0.5", high="4", scale="log", measure="relative")))
    assert {"0.5", "1", "2", "−5 %", "0 %", "5 %"} <= set(shown)
    assert shown[0] == "error / |x|"


def test_a_stochastic_band() -> None:
    """Around the midpoint 1.25 of float4_e2m1fn either neighbour; the expected error is 0."""
    test = healthy(page("errors", fmts="float4_e2m1fn", low="1", high="1.5", roundings="stochastic_b"))
    root = svg(test)
    bands = [path for path in root.iter(f"{SVG}path") if path.get("d").endswith("z") and path.get("opacity")]
    lines = [path for path in root.iter(f"{SVG}path") if path.get("stroke-width") == "2"]
    (band,), (line,) = bands, lines
    heights = {y for _, y in path_points(line.get("d"))}
    assert max(heights) - min(heights) < 0.2
    points = path_points(band.get("d"))
    assert max(y for _, y in points) - min(y for _, y in points) > 100


def test_many_values_and_large_relative_errors() -> None:
    test = healthy(page("errors", fmts="float16", low="0", high="2", measure="relative", roundings="away_from_zero"))
    assert len(picture(test)["drawings"][0]["svg"]) < 100_000
    for rounding in ("away_from_zero", "stochastic_a"):
        few = healthy(page("errors", fmts="float8_e4m3fn", measure="relative", roundings=rounding))
        assert any("cut off" in text.value for text in few.caption)


def test_the_ranges() -> None:
    test = healthy(page("errors"))
    (box,) = (box for box in test.selectbox if box.label == "Range")
    assert box.value == "0 to 2"
    assert len(box.options) == 3 + 2 * 4
    for label in (*box.options[1:], box.options[0]):
        (box,) = (box for box in test.selectbox if box.label == "Range")
        healthy(box.set_value(label).run())
        assert view.range_of(asked(test, "low"), asked(test, "high"), asked(test, "scale"))
        assert len(sent(test, "picture")) == 1
        assert next(box for box in test.selectbox if box.label == "Range").value == label
    own = healthy(page("errors", low="0.1", high="3"))
    assert next(box for box in own.selectbox if box.label == "Range").value == "0.1 to 3"


@pytest.mark.parametrize(("x", "is_inside"), [("1", True), ("2", True), ("2.5", False), ("nan", False)])
def test_the_ends_are_in_the_range(x: str, is_inside: bool) -> None:
    test = healthy(page("errors", low="1", high="2", x=x))
    pills = [text for text in svg(test).iter(f"{SVG}text") if text.get("fill") == "var(--lp-page)"]
    assert [text.text for text in pills] == [x] * is_inside
    said = [caption.value for caption in test.caption]
    assert (f"x = {x} is not in the range." in said) != is_inside


def test_captions_say_what_some_curves_have() -> None:
    many = "A band without a line inside: the range has too many values to draw each. The errors fill the band."
    chance = "Stochastic: the band has the possible errors, the line inside is the expected error."
    query = {"fmts": "float16,float4_e2m1fn", "low": "0", "high": "2", "roundings": "nearest_even,stochastic_a"}
    shown = "\n".join(caption.value for caption in healthy(page("errors", **query)).caption)
    assert many in shown
    assert chance in shown
    plain = "\n".join(caption.value for caption in healthy(page("errors", fmts="float4_e2m1fn")).caption)
    assert many not in plain
    assert chance not in plain


@pytest.mark.parametrize(
    ("roundings", "labels"),
    [("onnx", {"saturate"}), ("nearest_even", {"Overflow"}), ("onnx,nearest_even", {"saturate", "Overflow"})],
)
def test_the_options_are_those_of_the_roundings(roundings: str, labels: set[str]) -> None:
    test = healthy(page("errors", fmts="float8_e4m3fn", roundings=roundings))
    assert {box.label for kind in (test.toggle, test.selectbox) for box in kind} == labels | {"Range"}


def test_every_curve_has_a_label_and_a_look() -> None:
    """Sixteen curves: six colours, then the same dashed, then dotted; no two labels over each other."""
    names, rules = "float8_e4m3fn,float8_e5m2,float16,bfloat16", "nearest_even,toward_zero,to_odd,stochastic_a"
    test = healthy(page("errors", fmts=names, roundings=rules, low="1", high="2"))
    labels = [text for text in svg(test).iter(f"{SVG}text") if ", " in text.text and text.get("class") == "mono"]
    assert len(labels) == 16
    heights = sorted(float(label.get("y")) for label in labels)
    assert all(above < below for above, below in pairwise(heights))


def test_what_is_copied(capsys: pytest.CaptureFixture[str]) -> None:
    for query in (
        {"fmts": "float8_e4m3fn,float8_e8m0fnu", "round_mode": "nearest", "saturate": "0", "low": "1", "x": "3/2"},
        {"fmts": "binary8p3se,e4m3,bias=8,inf=0,nan=negative-zero,int8", "low": "1", "roundings": "onnx,to_odd"},
    ):
        test = healthy(page("errors", **query))
        out = run(test.code[1].value, capsys)[1].splitlines()
        state = read(Errors, query)[0]
        assert len(out) == sum(1 if name == "int8" else len(state.roundings) for name in state.fmts)
        assert out[0].startswith("LargestError(error=Fraction(")
    names = run(copied(page("errors", fmts="float8_e4m3fn,float8_e8m0fnu"))[2], capsys)[0]
    assert offered(names, names["nodes"], 28)[1] == [17, 24]
