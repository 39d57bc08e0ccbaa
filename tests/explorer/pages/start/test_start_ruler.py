"""The ruler of Start and the lesson of classroom mode: their values, codes and numbers against the oracle."""

from __future__ import annotations

from fractions import Fraction
from xml.etree import ElementTree

import pytest

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.start import classroom_picture
from lowprec.explorer.pages.start.classroom_view import NAN, SATURATE, steps
from lowprec.explorer.pages.start.picture import drag, drawing
from lowprec.explorer.pages.start.view import FORMATS, NUMBERS, place_of, ruler

VALUES = {"float4_e2m1fn": 15, "float6_e2m3fn": 63, "float8_e4m3fn": 253, "float8_e5m2": 247}


def test_the_numbers_are_those_from_minus_8_to_8_by_tenths() -> None:
    assert len(NUMBERS) == 161
    assert [Fraction(text) for text in NUMBERS] == [Fraction(n, 10) for n in range(-80, 81)]
    assert [place_of(text) for text in ("-8", "0", "2.60", "13/5", "8")] == [0, 80, 106, 106, 160]


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_number_becomes_what_the_oracle_says(fmt: str) -> None:
    marks = ruler(fmt)
    for one in marks.numbers:
        code = reference.encode(one.number, fmt)
        value = reference.decode(code, fmt)
        assert marks.marks[one.mark].code == code == int(one.bits, 2)
        assert one.value == str(value).replace("-", "−")
        away = abs(value.number - Fraction(one.number))
        assert one.away == (f"{float(away):.7g} away" if away else "exact: nothing is lost")


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_boxes_that_light_up_hold_the_bits_of_the_number(fmt: str) -> None:
    marks, row = ruler(fmt), lp.as_format(fmt)
    cuts = {
        "sign": (0, 1), "exponent": (1, row.bits - row.mantissa_bits), "mantissa": (row.bits - row.mantissa_bits, 99),
    }  # fmt: skip
    for place, text in enumerate(NUMBERS):
        bits = f"{reference.encode(text, fmt):0{row.bits}b}"
        lit = [box for box in marks.boxes if box.places and box.places[0] <= place <= box.places[1]]
        assert [box.field for box in lit] == list(cuts)
        assert [box.bits for box in lit] == [bits[first:last] for first, last in cuts.values()]


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_marks_are_the_values_up_to_8(fmt: str) -> None:
    values = [reference.decode(code, fmt) for code in range(1 << lp.as_format(fmt).bits)]
    found = sorted(value.number for value in values if not value.special and abs(value.number) <= 8)
    assert [mark.value for mark in ruler(fmt).marks] == found
    assert ruler(fmt).range.startswith(f"{VALUES[fmt]} numbers, ")
    finite = {value.number for value in values if not value.special}
    assert len(finite) == VALUES[fmt]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("fmt", FORMATS)
def test_the_drawing_shows_the_number_and_a_table_of_all_others(fmt: str, narrow: bool) -> None:
    marks, place = ruler(fmt), place_of("-0.1")
    shown = drawing(marks, place, narrow=narrow)
    root = ElementTree.fromstring(str(shown.drawing))
    parts = {one.get("data-part"): one.text for one in root.iter() if one.get("data-part")}
    texts = drag(marks, place).parts
    assert parts == {name: column[place] for name, column in texts.items()}
    assert all(len(column) == len(NUMBERS) for column in [*texts.values(), *shown.places.values()])
    here = [one for one in root.iter() if "here" in (one.get("class") or "").split() and one.get("data-first")]
    assert all(int(one.get("data-first", "")) <= place <= int(one.get("data-last", "")) for one in here)
    assert sum("lit" in (one.get("class") or "") for one in here) >= 2  # a box of less than a pixel is not drawn


E4M3, E5M2 = "float8_e4m3fn", "float8_e5m2"


def test_the_steps_say_what_the_oracle_computes() -> None:
    lesson = steps()
    assert len(lesson) == 5
    assert lesson[NAN - 1].sentence.endswith("its code is NaN.")
    assert "saturate" in lesson[SATURATE - 1].sentence
    for step in lesson[:4]:
        assert (step.lower.text, step.lower.distance, step.lower.code) == ("448", str(465 - 448), "0x7E")
        assert (step.upper.text, step.upper.distance, step.upper.code) == ("480", str(480 - 465), "0x7F")
        assert step.midpoint == Fraction(448 + 480, 2)
    assert reference.encode(448, E4M3) == 0x7E
    assert reference.decode(0x7F, E4M3).special == "nan"
    assert [reference.encode(465, E4M3, saturate=saturate) for saturate in (True, False)] == [0x7E, 0x7F]
    last = lesson[-1]
    assert [str(reference.decode(code, E5M2)) for code in (0x5F, 0x60)] == [last.lower.text, last.upper.text]
    assert reference.encode(465, E5M2) == 0x5F
    assert last.sentence.endswith("465 becomes 448.")


def test_a_step_draws_no_more_than_it_says() -> None:
    drawn = [str(classroom_picture.drawing(step)) for step in steps()]
    assert [">NaN<" in svg for svg in drawn] == [False, False, True, True, False]
    assert [">17<" in svg for svg in drawn] == [False, True, False, False, True]
    assert [">saturate<" in svg for svg in drawn] == [False, False, False, True, False]
    assert [">0x7F<" in svg for svg in drawn] == [False, False, True, True, False]
