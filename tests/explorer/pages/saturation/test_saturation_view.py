"""The picture of Saturation: where ranges end, who decides what is beyond, results at every place; what is drawn."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree

import pytest

from lowprec import as_format, reference
from lowprec.explorer.pages.saturation import picture, view
from lowprec.explorer.pages.saturation.table_view import OtherColumns
from lowprec.reference.exact_cast import Value

NO_OTHERS = OtherColumns()
GROUPS = {
    "saturate decides": ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    "always the largest value": ("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
    "always Inf": ("float16", "bfloat16"),
    "wrap around": ("int8", "uint8", "int4", "uint4"),
}


def rows(
    x: str = "1000", saturate: bool = True, opset: int = 28, others: OtherColumns = NO_OTHERS
) -> dict[str, view.Row]:
    found = view.ranges(x, saturate, opset, others)
    return {row.format.name: row for group in found.groups for row in group.rows}


def becomes(found: dict[str, view.Row]) -> list[str]:
    return [row.landing.result.text for row in found.values()]


def test_the_groups_say_who_decides() -> None:
    found = view.ranges("1000", True, 28, NO_OTHERS)
    assert {group.title: tuple(row.format.name for row in group.rows) for group in found.groups} == GROUPS


# by hand: the largest value is (2 - step) · 2^exponent; 1000 modulo 256 is 232, -24 as int8; modulo 16 it is 8
def test_what_1000_becomes() -> None:
    assert becomes(rows()) == [
        "448", "240", "1024", "1024", "1024", "7.5", "28", "6", "1000", "1000", "−24", "232", "−8", "8",
    ]  # fmt: skip
    assert [row.landing.how for row in rows().values()] == [
        "back", "back", "stays", "stays", "stays", "back", "back", "back", "stays", "stays", *["wraps"] * 4,
    ]  # fmt: skip
    assert becomes(rows(saturate=False))[:5] == ["NaN", "NaN", "1024", "1024", "1024"]


@pytest.mark.parametrize(
    ("saturate", "fates"),
    [(True, ["back"] * 5), (False, ["nan", "nan", "inf", "nan", "nan"])],
)
def test_four_fates(saturate: bool, fates: list[str]) -> None:
    found = [row.fate for row in rows(saturate=saturate).values()]
    assert found == [*fates, "back", "back", "back", "inf", "inf", "wraps", "wraps", "wraps", "wraps"]
    words = [row.beyond for row in rows().values()][-4:]
    assert words == ["128 becomes −128", "256 becomes 0", "8 becomes −8", "16 becomes 0"]


def test_walls() -> None:
    """1.75·2^8, 1.875·2^7, 1.75·2^15 twice, 2^127; (2 − 2^-10)·2^15 and (2 − 2^-7)·2^127."""
    found = rows()
    ends = ["448", "240", "57344", "57344", "2^127", "7.5", "28", "6", "65504", "≈3.39e38", "127", "255", "7", "15"]
    assert [row.end for row in found.values()] == ends
    e4m3 = found["float8_e4m3fn"]
    assert (e4m3.smallest, e4m3.normal, e4m3.largest) == (-9, -6, 8 + math.log2(1.75))
    scale = found["float8_e8m0fnu"]
    assert (scale.smallest, scale.normal, scale.largest) == (-127, -127, 127)
    assert (found["int8"].smallest, found["int4"].largest) == (0, math.log2(7))


def test_formats_that_an_opset_lacks() -> None:
    missing = {
        opset: [row.format.name for row in rows(opset=opset).values() if not row.is_there] for opset in (19, 23, 24, 28)
    }
    scale, six = "float8_e8m0fnu", ["float6_e2m3fn", "float6_e3m2fn"]
    assert missing == {19: [scale, *six, "float4_e2m1fn", "int4", "uint4"], 23: [scale, *six], 24: six, 28: []}


def test_inf_of_fnuz_changes_at_24() -> None:
    for opset, text in ((19, "NaN"), (23, "NaN"), (24, "240"), (28, "240")):
        found = rows(opset=opset)["float8_e4m3fnuz"].infinity
        assert (found.text, found.newer) == (text, "" if text == "240" else "240")
        note = view.ranges("1", True, opset, NO_OTHERS).groups[0].note
        assert ("before opset 24 FNUZ" in note) == (opset < 24)
    assert rows(opset=23, saturate=False)["float8_e4m3fnuz"].infinity.newer == ""


def test_negative_numbers_have_the_other_side() -> None:
    found = rows("-1000")
    assert [found[name].end for name in ("float8_e4m3fn", "int8", "uint8", "float8_e8m0fnu")] == [
        "−448", "−128", "0", "2^127",
    ]  # fmt: skip
    assert found["int8"].beyond == "−129 becomes 127"
    assert (found["uint8"].smallest, found["uint8"].largest, found["uint8"].beyond) == (None, 0, "−1 becomes 255")
    assert found["float8_e8m0fnu"].landing.result.text == "1024"  # the sign is ignored


@pytest.mark.parametrize(
    ("x", "place", "text"),
    [("0", -math.inf, "0"), ("-inf", math.inf, "−448"), ("nan", None, "NaN"), ("1/3", -1.585, "0.34375")],
)  # fmt: skip
def test_numbers_without_a_place(x: str, place: float | None, text: str) -> None:
    found = view.ranges(x, True, 28, NO_OTHERS)
    assert found.place == (place if place is None or math.isinf(place) else pytest.approx(place, abs=1e-3))
    assert rows(x)["float8_e4m3fn"].landing.result.text == text


def test_no_number() -> None:
    with pytest.raises(ValueError, match="`number` must be"):
        view.ranges("one", True, 28, NO_OTHERS)


def test_rules_beyond_onnx() -> None:
    others = OtherColumns((as_format("binary8p3se"), as_format("binary5p3uf")), overflow="ovf_inf")
    found = rows("-1e6", others=others)
    assert found["binary8p3se"].landing.result.text == "−Inf"
    assert (found["binary5p3uf"].fate, found["binary5p3uf"].largest) == ("nan", -math.inf)  # no sign, no Inf
    assert view.ranges("1", True, 28, others).groups[-1].note == "rounding nearest_even, overflow ovf_inf, NaN signed"


def test_places_are_about_one_step_apart() -> None:
    steps = [view.step_of(view.log2(Value.of(place)) or 0) for place in view.PLACES]
    assert all(abs(step - (view.FIRST_STEP + index)) < 0.35 for index, step in enumerate(steps))
    assert {"0.001", "1", "1000", "1e5", "1e10", "1e38"} <= set(view.PLACES)


@pytest.mark.parametrize(("saturate", "opset", "negative"), [(True, 28, False), (False, 23, True)])
def test_landings_are_those_of_the_oracle(saturate: bool, opset: int, negative: bool) -> None:
    names = [name for group in GROUPS.values() for name in group]
    found = view.landings(saturate, opset, NO_OTHERS, negative)
    assert len(found) == len(view.PLACES)
    for place, landings in zip(view.PLACES[::7], found[::7], strict=True):
        x = Value(Fraction(place), negative)
        for name, landing in zip(names, landings, strict=True):
            row = as_format(name)
            expected = reference.encode(x, row, saturate=saturate, opset=max(opset, row.since or 0))
            assert landing.result.code == expected, (place, name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("inf", "Inf"), ("-inf", "−Inf"), ("nan", "NaN"), ("-0", "−0"), ("-448", "−448"), ("0x1p127", "2^127"),
     ("0x1p-30", "2^−30"), ("1e-9", "≈1e−9"), ("1/3", "≈0.333"), ("123456789012", "≈1.23e11")],
)  # fmt: skip
def test_values_in_few_characters(text: str, shown: str) -> None:
    assert view.shown(Value.of(text)) == shown


# ---- the drawings


SVG = "{http://www.w3.org/2000/svg}"
ROWS = 14


def drawn(x: str = "1000", saturate: bool = True, opset: int = 28, others: OtherColumns = OtherColumns()) -> Any:  # noqa: B008
    ranges = view.ranges(x, saturate, opset, others)
    landings = view.landings(saturate, opset, others, ranges.negative)
    shown = [draw(ranges, landings, "saturate 1") for draw in (picture.wide, picture.narrow)]
    return shown, picture.drag(ranges, landings)


def tree(shown: Any) -> Any:
    return ElementTree.fromstring(str(shown.drawing))


def texts_seen(element: Any) -> list[str]:
    """Return all texts in an element that are not hidden."""
    classes = element.get("class", "").split()
    if "ghost" in classes and "here" not in classes:
        return []
    own = [element.text or ""] if element.tag in (f"{SVG}text", f"{SVG}tspan") else []
    return own + [text for part in element for text in texts_seen(part)]


def seen(shown: Any) -> str:
    return " | ".join(texts_seen(tree(shown)))


def test_classes_are_told_in_words() -> None:
    (wide, narrow), _ = drawn(saturate=False, opset=23)
    for words in ("becomes NaN", "128 becomes −128", "since opset 24", "since opset 28", "subnormal", "always Inf"):
        assert words in seen(wide)
    for words in ("NaN", "Inf", "since opset 28", "subnormal"):
        assert words in seen(narrow)
    assert "becomes NaN" not in seen(drawn()[0][0])
    assert "448 in float8_e4m3fn" in tree(drawn()[0][0]).get("aria-label")


@pytest.mark.parametrize(
    "x", ["1000", "-0.3", "1e10", "0", "inf", "nan", "460", "1e-30", "1e39", "123456789.123456789"]
)
def test_one_result_is_seen_in_each_row(x: str) -> None:
    others = OtherColumns((as_format("tf32"), as_format("binary5p3uf"), as_format("float64")))
    for options in ((True, 28), (False, 19)):
        (wide, narrow), _ = drawn(x, *options, others)
        for shown, columns in ((wide, 3), (narrow, 1)):
            links = tree(shown).findall(f".//{SVG}a")
            assert len(links) == (ROWS + 3) * columns
            for link in links:
                # the result is also the end of the row's label
                assert texts_seen(link) == [link.get("aria-label").split(" becomes ")[1].split(" in ")[0]]
                assert link.get("href").startswith("anatomy?fmt=")


def test_what_follows_the_number() -> None:
    (wide, narrow), drag = drawn("-1000")
    assert drag.values[drag.start] == "-1000"
    assert drag.parts["number"][drag.start] == "−1000"
    assert drag.parts["row0"][drag.start] == "−448"
    assert set(drag.parts) == {"number", "head", *(f"row{row}" for row in range(ROWS))}
    for shown in (wide, narrow):
        lengths = {len(values) for values in (*drag.parts.values(), *shown.places.values(), drag.values)}
        assert lengths == {len(view.PLACES)}
        assert shown.places["line"][drag.start] == pytest.approx((0, 0), abs=0.1)
        follows = {part.get("data-follow") for part in tree(shown).iter()} - {None}
        assert follows == {"line", "pill"}
    assert "−10" in seen(wide)


def test_what_a_reader_types_is_text() -> None:
    assert "<script>" not in str(drawn("1e10")[0][0].drawing)
    (wide, _), drag = drawn("nan")
    assert "NaN" in seen(wide)
    assert drag.start in (0, len(view.PLACES) - 1) or 0 <= drag.start < len(view.PLACES)


def test_a_frame_marks_what_newer_opsets_change() -> None:
    def frames(opset: int) -> list[str]:
        links = tree(drawn(opset=opset)[0][0]).findall(f".//{SVG}a")
        return [link.get("aria-label") for link in links if link.find(f"{SVG}rect") is not None]

    assert frames(28) == []
    assert frames(23) == [
        f"Inf becomes NaN in float8_{name}; in newer opsets {value}. Open in Anatomy"
        for name, value in (("e4m3fnuz", "240"), ("e5m2fnuz", "57344"))
    ]
