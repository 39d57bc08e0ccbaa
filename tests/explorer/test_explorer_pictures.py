"""Pictures to take along are documents of their own: well-formed SVG that holds what the page shows."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("jinja2")

import numpy as np

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.anatomy import picture as anatomy_picture
from lowprec.explorer.pages.conversion import packing_view, view
from lowprec.explorer.pages.conversion import picture as conversion_picture
from lowprec.explorer.pages.quantize import block_view
from lowprec.explorer.pages.quantize import picture as quantize_picture
from lowprec.explorer.pages.quantize.settings import mx_settings
from lowprec.explorer.pages.quantize.view import quantize
from lowprec.explorer.pages.rounding import picture as rounding_picture
from lowprec.explorer.pages.rounding.ruler import ruler
from lowprec.explorer.shared import codes as anatomy_view
from lowprec.explorer.shared.code_table import code_table
from lowprec.explorer.shared.format_names import format_named
from lowprec.explorer.shared.roundings import rounding
from lowprec.explorer.shared.svg import text_width
from lowprec.spec.formats import NUMERIC, Format

SVG = "{http://www.w3.org/2000/svg}"
DESCRIBED = [format_named(name) for name in ("binary8p3se", "binary6p4uf", "e1m1,nan=none,inf=0", "e4m3,signed=0")]
FORMATS = [*NUMERIC, *DESCRIBED]
E2M1 = lp.as_format("float4_e2m1fn")
BY_NAME = {"ids": lambda fmt: fmt.name}


def parsed(drawing: object) -> tuple[ElementTree.Element, list[str]]:
    """Return a picture's root and the texts in it, each a line; every box lies inside the picture."""
    root = ElementTree.fromstring(str(drawing))
    width, height = float(root.get("width")), float(root.get("height"))
    assert [float(part) for part in root.get("viewBox").split()] == [0, 0, width, height]
    assert root.find(f"{SVG}title").text == root.get("aria-label")
    for element in root.iter(f"{SVG}rect"):
        x, y = float(element.get("x", "0")), float(element.get("y", "0"))
        assert -1 <= x <= x + float(element.get("width")) <= width + 1
        assert -1 <= y <= y + float(element.get("height")) <= height + 1
    texts = list(root.iter(f"{SVG}text"))
    for element in texts:
        line, anchor = "".join(element.itertext()), element.get("text-anchor") or "start"
        reach = text_width(line, float(element.get("font-size")), "mono" in (element.get("class") or ""))
        start = float(element.get("x")) - {"start": 0, "middle": 0.5, "end": 1}[anchor] * reach
        assert -1 <= start <= start + reach <= width + 1, line
        assert 0 <= float(element.get("y")) <= height, line
    return root, ["".join(element.itertext()).strip() for element in texts]


def drawn_parts(drawing: object) -> tuple[ElementTree.Element, dict[str, str]]:
    root = ElementTree.fromstring(str(drawing))
    return root, {one.get("data-part") or "": one.text or "" for one in root.iter() if one.get("data-part")}


@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
def test_the_bits_of_a_code(fmt: Format) -> None:
    for code in {0, 1, fmt.max_code, fmt.code_mask, fmt.sign_mask | 1}:
        for drawing in anatomy_picture.code(anatomy_view.anatomy(f"{code:#x}", fmt)):
            root, parts = drawn_parts(drawing)
            switches = [one for one in root.iter() if one.get("role") == "switch"]
            assert "".join(one.find(f"{SVG}text").text or "" for one in switches) == f"{code:0{fmt.bits}b}"
            assert [one.get("data-bit") for one in switches] == [str(index) for index in range(fmt.bits)]
            assert f"{fmt.name} 0x{code:0{-(-fmt.bits // 4)}X}: " in root.find(f"{SVG}title").text
            value = reference.decode(code, fmt)
            if not value.special and len(str(value)) < 13:
                assert parts["equals"] + parts["value"] == f"= {value}".replace("-", "−")


def test_exponents_stand_above_the_line_and_what_follows_does_not() -> None:
    root, _ = drawn_parts(anatomy_picture.code(anatomy_view.anatomy("0x2a", "float8_e4m3fn"))[0])
    formula = [one for one in root.iter() if (one.get("data-part") or "").startswith("formula ")]
    height, heights = 0.0, {}
    for part in formula:
        height += float(part.get("dy", "0"))
        heights[part.text.strip()] = height
    raised = {text for text, at in heights.items() if at < -6}
    assert raised == {"0", "5", "− 7"}
    assert {round(at, 6) for text, at in heights.items() if text not in raised} == {0}


def assert_inside(root: ElementTree.Element) -> None:
    """Assert that all boxes but the ground and all texts are in the part of a picture that is seen."""
    _, top, _, height = (float(part) for part in root.get("viewBox").split())
    for element in root.iter(f"{SVG}rect"):
        if element.get("class") != "ground":
            y = float(element.get("y"))
            assert top <= y <= y + float(element.get("height")) <= top + height
    assert all(top < float(element.get("y")) < top + height for element in root.iter(f"{SVG}text"))


def interval_of(x: str, fmt: object, wide: bool = True) -> Any:
    """Return the root and the texts of the picture of a rounding."""
    explanation = rounding(x, fmt).explanation
    found = ruler(explanation, "sat_finite")
    if found is None:
        return None
    rules = {"chosen": "nearest_even", "rule_name": "nearest even", "saturate": True}
    shown = rounding_picture.interval(found, explanation, **rules, wide=wide)
    root = ElementTree.fromstring(str(shown.drawing))
    return root, [element.text or "" for element in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("wide", [True, False], ids=["wide", "narrow"])
@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
def test_an_interval(fmt: Format, wide: bool) -> None:
    for x in ("0.3", "-7/3", "1e40", "1", "0", "1e-50", "123456789.123456789"):
        drawn = interval_of(x, fmt, wide)
        if drawn is None:
            continue
        root, texts = drawn
        bits = "".join(text for text in texts if set(text) <= {"0", "1"})
        found = rounding(x, fmt).interval
        for code, _ in [end for end in (found.left, found.right) if end and found.winner != "exact"]:
            assert f"{code:0{fmt.bits}b}" in bits or f"0x{code:0{-(-fmt.bits // 4)}X}" in texts
        assert "lies between" in root.get("aria-label")
        assert_inside(root)
        width = float(root.get("width"))
        for element in root.iter(f"{SVG}rect"):
            left = float(element.get("x", "0"))
            assert -1 <= left <= left + float(element.get("width")) <= width + 1
        assert len([text for text in texts if text == "stochastic"]) == 4 * fmt.is_float


def test_x_is_drawn_where_it_lies() -> None:
    """0.3 is 3/5 of the way from 0.28125 to 0.3125."""
    root, texts = interval_of("0.3", "float8_e4m3fn")
    walls = [float(line.get("x1")) for line in root.iter(f"{SVG}line") if line.get("stroke-width") == "4"]
    place = (float(root.find(f".//{SVG}circle").get("cx")) - walls[0]) / (walls[1] - walls[0])
    assert place == pytest.approx(0.6, abs=0.001)
    bands = {one.get("fill"): one for one in root.iter(f"{SVG}rect") if one.get("y") == "120"}
    assert float(bands["var(--lp-held)"].get("x")) == pytest.approx(sum(walls) / 2, abs=0.01)
    assert "midpoint 0.296875" in texts
    assert root.get("aria-label") == "0.3 lies between 0.28125 and 0.3125; it becomes 0.3125"


@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
@pytest.mark.parametrize("notation", ["decimal", "exact"])
def test_a_table_of_codes(fmt: Format, notation: str) -> None:
    cells = anatomy_view.table(1, fmt, notation)
    for drawing in code_table("Codes", cells, anatomy_view.columns(fmt), 1, fmt):
        root, _ = drawn_parts(drawing)
        shown = [one for one in root.iter() if one.get("data-code")]
        for one, (code, value, _, number) in zip(shown, cells, strict=True):
            assert one.get("data-code") == f"{number:0{fmt.bits}b}"
            value = value.replace("-", "−").replace("nan", "NaN").replace("inf", "Inf")
            assert [text.text for text in one.findall(f"{SVG}text")] == [code, value]
            assert one.get("aria-pressed") == str(number == 1).lower()


@pytest.mark.parametrize("target", FORMATS, **BY_NAME)
def test_the_steps_of_a_cast(target: Format) -> None:
    found = view.conversion(0x3E99999A, lp.as_format("float32"), target)
    for wide in (True, False):
        _, texts = parsed(conversion_picture.cast_steps(found, wide=wide))
        bits = "".join(text for text in texts if text in ("0", "1"))
        assert bits == f"{0x3E99999A:032b}{found.result:0{target.bits}b}"
        assert any(found.rule.startswith(text.rstrip("…")) for text in texts)


def test_the_longest_value_that_is_written_in_full() -> None:
    """2^-24 has 26 characters, 2^-25 one more."""
    for code, text in ((0x33800000, "0.000000059604644775390625"), (0x33000000, "≈2.98023")):
        found = view.conversion(code, lp.as_format("float32"), lp.as_format("bfloat16"))
        _, texts = parsed(conversion_picture.cast_steps(found))
        assert sum(text.replace("-", "−") in line for line in texts) == 2


def test_a_cast_from_a_format_with_a_long_name() -> None:
    fmt = format_named("e7m8,bias=100,signed=0,inf=0,nan=all-ones")
    _, texts = parsed(conversion_picture.cast_steps(view.conversion(0x0101, fmt, E2M1)))
    assert texts[0].startswith(f"{fmt.name} 0x0101 = ")


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.bits < 8], **BY_NAME)
@pytest.mark.parametrize("count", [1, 3, 5, 24])
def test_packed_bytes(fmt: Format, count: int) -> None:
    codes = [index * 5 % (fmt.code_mask + 1) for index in range(count)]
    _, texts = parsed(conversion_picture.packed_bytes(packing_view.packing(codes, fmt), wide=count % 2 == 0))
    stream = sum(code << index * fmt.bits for index, code in enumerate(codes))  # the first in the lowest bits
    packed = stream.to_bytes(-(-count * fmt.bits // 8), "little")
    assert [text for text in texts if text.startswith("byte ")] == [
        f"byte {index} = 0x{byte:02X}" for index, byte in enumerate(packed)
    ]
    assert [text for text in texts if re.fullmatch(r"\d+: [01]+", text)] == [
        f"{index}: {code:0{fmt.bits}b}" for index, code in enumerate(codes)
    ]


@pytest.mark.parametrize("name", ["float4_e2m1fn", "int8", "float8_e4m3fn"])
def test_one_block_in_proportion(name: str) -> None:
    """By OCP MX the scale of a block whose largest element is 12 is 2^(3 - emax); a bar is as long as |x|."""
    fmt, x = lp.as_format(name), np.array([12, -6, 3, 0], np.float32)
    exponent = 3 - {"float4_e2m1fn": 2, "int8": 0, "float8_e4m3fn": 8}[name]
    block = block_view.block(quantize(x, mx_settings(fmt, 4)), 0)
    root, texts = parsed(quantize_picture.one_block(block))
    assert f"scale: float8_e8m0fnu 0x{exponent + 127:02X} = 2^{exponent}".replace("-", "−") in texts
    bars = [element for element in root.iter(f"{SVG}rect") if element.get("fill-opacity")]
    heights = [float(bar.get("height")) for bar in bars]
    assert heights == pytest.approx([120, 60, 30, 0], abs=0.02)  # 180 pixels from 12 to -6
    tops = [float(bar.get("y")) for bar in bars]
    assert tops[1] == pytest.approx(tops[0] + heights[0], abs=0.02)  # below zero


def test_texts_are_escaped() -> None:
    hostile = "<script>alert('x')</script>&"
    fmt = lp.as_format("float4_e2m1fn")
    root, _ = drawn_parts(code_table(hostile, (("0", hostile, "normal", 0),), 2, 0, fmt)[0])
    assert [one.text for one in root.iter(f"{SVG}text")] == [hostile, "0", hostile]
    assert hostile in root.find(f"{SVG}title").text


@pytest.mark.parametrize(
    ("text", "name"),
    [("bits float8_e4m3fn 0x2a", "bits-float8_e4m3fn-0x2a"), ("interval e4m3,bias=8 -0.3", "interval-e4m3-bias-8-0.3"),
     ("../../etc/passwd", "etc-passwd"), ("word " * 30, "-".join(["word"] * 12)), ("a" * 60, "a" * 60),
     ("a" * 61, "a" * 60), ("1" * 100, "1" * 60)],
)  # fmt: skip
def test_names_of_files(text: str, name: str) -> None:
    file_name = pytest.importorskip("lowprec.explorer.shared.browser.save_picture").file_name
    assert file_name(text) == name
