"""The lesson of classroom mode: its numbers and codes against the oracle."""

from __future__ import annotations

from fractions import Fraction

from lowprec import reference
from lowprec.explorer.pages.start.classroom_picture import drawing
from lowprec.explorer.pages.start.classroom_view import NAN, SATURATE, steps

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
    drawn = [str(drawing(step)) for step in steps()]
    assert [">NaN<" in svg for svg in drawn] == [False, False, True, True, False]
    assert [">17<" in svg for svg in drawn] == [False, True, False, False, True]
    assert [">saturate<" in svg for svg in drawn] == [False, False, False, True, False]
    assert [">0x7F<" in svg for svg in drawn] == [False, False, True, True, False]
