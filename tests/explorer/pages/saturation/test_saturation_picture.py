"""The drawings of Saturation: what they say in words, what is seen at the number's place, what opens Anatomy."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from lowprec import as_format
from lowprec.explorer.pages.saturation import picture, view
from lowprec.explorer.pages.saturation.table_view import OtherColumns

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
