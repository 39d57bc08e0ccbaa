"""The twenty exercises: right codes from the question by the oracle, some by hand; two of them in a browser."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import pytest
from support.browser import Visit
from support.explorer_controls import agrees

from lowprec import reference
from lowprec.explorer.pages.exercises import exercises
from lowprec.explorer.pages.exercises.exercises import COUNT, Task, points, task, verdict
from lowprec.explorer.pages.exercises.picture import ANSWER_WIDTHS, Line, answer_drawing, score_drawing
from lowprec.explorer.pages.exercises.state import Exercises
from lowprec.explorer.shared.glossary import GLOSSARY, term

SEEDS = (0, 1, 2, 4711)


def number(text: str) -> Fraction:
    """Return what a text of a question means: a decimal, a power of two, or steps times one."""
    total = Fraction(1)
    for part in text.replace("−", "-").split("·"):
        base, _, power = part.strip().partition("^")
        total *= Fraction(int(base)) ** int(power) if power else Fraction(base)
    return total


def finite(one: Task, sign: bool = True) -> dict[int, Fraction]:
    """Return the finite values of the format of a task by code; `sign` says whether those below 0 are among them."""
    values = {code: reference.decode(code, one.fmt) for code in range(2**one.fmt.bits)}
    return {code: value.number for code, value in values.items() if not value.special and (sign or not value.negative)}


def nearest(values: dict[int, Fraction], x: Fraction) -> int:
    """Return the code of the value nearest to a number, of two equally near ones the even code."""
    return min(values, key=lambda code: (abs(values[code] - x), code % 2, code))


def directed(one: Task, x: Fraction) -> int:
    """Return the code of the neighbour that the rule of a task takes."""
    values = finite(one)
    lower = max(value for value in values.values() if value < x)
    upper = min(value for value in values.values() if value > x)
    code = {value: one_code for one_code, value in reversed(list(values.items()))}
    away, toward = (upper, lower) if x > 0 else (lower, upper)
    rule = one.setting.removeprefix("rounding ")
    if rule == "to odd":
        return code[lower] if code[lower] % 2 else code[upper]
    return code[{"toward zero": toward, "away from zero": away, "toward +Inf": upper, "toward −Inf": lower}[rule]]


def expected(one: Task) -> set[int]:
    """Return the right answers of a task, from the text of its question."""
    text, before, name = one.question[1], one.question[0], one.fmt.name
    kind = one.number
    if kind in (1, 2, 7):
        return {code for code, value in finite(one).items() if value == number(text)}
    if kind == 3:
        low, high = Fraction(text), Fraction(re.findall(r"\d+", one.question[2])[0])
        return {one.choices.index(str(sum(low <= value < high for value in finite(one).values())))}
    if kind == 4:
        return {max(finite(one), key=finite(one).__getitem__)}
    if kind == 5:
        later = {code: value for code, value in finite(one, sign=False).items() if value > number(text)}
        return {min(later, key=later.__getitem__)}
    if kind == 6:
        nan = {"float8_e4m3fn": {0x7F, 0xFF}, "float8_e5m2": {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF}}
        ieee = {*range(0x79, 0x80), *range(0xF9, 0x100)}
        return nan.get(name, ieee if name == "float8_e4m3" else {0x80})
    if kind == 8:
        return {int(number(text)) + 2**one.fmt.bits}
    if kind in (9, 10, 12):
        return {nearest(finite(one), number(text))}
    if kind == 11:
        return {directed(one, number(text))}
    if kind == 13:  # from there the values are 2 apart
        return {one.choices.index(str(2 ** (one.fmt.mantissa_bits + 1)))}
    if kind == 14:
        if "saturate on" in one.setting:
            return {max(finite(one), key=finite(one).__getitem__)}
        return {"float8_e4m3fn": {0x7F, 0xFF}, "float8_e5m2": {0x7C}}.get(name, {0x80})
    if kind == 15:
        return {int(text) % 2**one.fmt.bits}
    if kind == 16:
        opset = int(re.findall(r"\d+", one.setting)[0])
        return {0x80} if opset < 24 else {0xFF if text.startswith("−") else 0x7F}
    if kind == 17:
        first, second = (int(part, 16) for part in text.split(", "))
        return {16 * second + first}
    if kind == 18:
        assert before.startswith("The largest")
        return {127 - 2 + math.floor(math.log2(Fraction(text)))}
    scale = number(re.findall(r"scale (?:is )?([\d.]+)", one.setting)[0])
    if kind == 19:
        return {nearest(finite(one), number(text) / scale)}
    zero = int(one.setting.rsplit(" ", 1)[1])
    return {round(number(text) / scale) + zero}


@pytest.mark.parametrize("place", range(1, COUNT + 1))
@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_answers_follow_from_the_question(seed: int, place: int) -> None:
    one = task(seed, place)
    assert one.right == expected(one)
    assert one.number == place
    assert one.hint
    assert verdict(one, min(one.right)).sentence == one.why


def test_there_are_twenty_tasks_of_five_topics() -> None:
    assert COUNT == 20
    topics = list(dict.fromkeys(task(0, place).topic for place in range(1, COUNT + 1)))
    assert topics == ["bits and values", "rounding", "beyond the range", "packing", "blocks and scales"]


def test_a_task_is_a_function_of_seed_and_number() -> None:
    before = task(8, 9)
    exercises.task.cache_clear()
    assert task(8, 9) == before
    assert len({task(seed, 9).question for seed in range(20)}) > 10


@pytest.mark.parametrize(
    ("place", "question", "right", "result"),
    [
        (1, "Set the code of 3.375.", {0x4B}, "3.375"),  # 1.6875 * 2: the fields 4 and 11 of 16
        (8, "Set the code of −6.", {0xA}, "−6"),
        (9, "Which code does 3.3 become?", {0x45}, "3.25"),  # 1.625 * 2
        (10, "Which code does 6.75 become?", {0x4E}, "7"),  # between 6.5, an odd code, and 7
        (13, "64 ones are added one after the other in float8_e4m3fn. What is the sum?", {1}, "16"),
        (14, "Which code does 670 become?", {0x7E}, "448"),
        (15, "Which code does 183 become?", {183}, "−73"),
        (17, "Which byte do the codes 0x0, 0xB make?", {0xB0}, "176"),
        (18, "The largest of a block is 0.34. Which code has its scale?", {123}, "0.0625"),
    ],
)
def test_tasks_of_a_seed_by_hand(place: int, question: str, right: set[int], result: str) -> None:
    one = task(4711, place)
    assert ("".join(one.question), one.right, one.result) == (question, right, result)


def test_the_other_neighbour_is_drawn_with_both_distances() -> None:
    said = verdict(task(4711, 9), 0x46)  # 3.3 lies between 3.25 and 3.5
    assert (said.title, said.sentence) == (
        "Close: that is the other neighbour.",
        "It is 0.2 away, the one below only 0.05.",
    )
    assert [(mark.text, mark.role) for mark in said.marks] == [
        ("3.25", "right"), ("3.3", "number"), ("3.375", "midpoint"), ("3.5", "answer")
    ]  # fmt: skip
    assert said.distances == ((1, 3, "0.2", False), (0, 1, "0.05", True))
    assert said.lead == "3.3 lies below the midpoint 3.375."


def test_other_wrong_answers() -> None:
    assert verdict(task(4711, 9), 0x7F).badge == ("nan", "NaN")
    assert verdict(task(4711, 10), 0x4D).sentence == "Both are 0.25 away, and the tie goes to the other."
    assert verdict(task(4711, 1), 0xCB).sentence == "Only the sign is wrong."
    assert verdict(task(4711, 13), 0).sentence == "That is the exact sum; each step is rounded."
    assert verdict(task(4711, 17), 0x0B).sentence == "The codes are there, but in the other order."
    assert verdict(task(4711, 18), 122).sentence == "0.34 over it is 10.88, 8 or more, where all become 6."
    assert verdict(task(4711, 4), 6).sentence == "6 is a value too, and larger."


@pytest.mark.parametrize("place", range(1, COUNT + 1))
def test_every_answer_has_a_verdict_and_a_drawing(place: int) -> None:
    one = task(3, place)
    for answer in range(0, len(one.values), 7 if len(one.values) > 16 else 1):
        said = verdict(one, answer)
        assert said.is_right == (answer in one.right)
        for width in ANSWER_WIDTHS:
            drawing = str(answer_drawing(one, answer, said, width, is_done=said.is_right))
            assert 'aria-label="' in drawing
            assert ('role="switch"' in drawing) == (not one.choices and not said.is_right)
        if not said.is_right:
            assert str(one.result) not in said.title.split() or one.choices


def test_points() -> None:
    assert [points(tries, True) for tries in range(4)] == [1, Fraction(1, 2), 0, 0]
    assert points(0, False) == 0
    lines = [Line(task(1, place), {1: Fraction(1), 2: Fraction(1, 2)}.get(place), place == 3) for place in range(1, 21)]
    assert "1½ of 2 points; 18 tasks are open" in str(score_drawing(lines))


def test_the_glossary_is_in_order_and_short() -> None:
    names = [one.name for one in GLOSSARY]
    assert names == sorted(names, key=str.casefold)
    assert {"ulp", "binade", "subnormal", "tie", "SQNR", "opset", "FNUZ", "saturate", "block scale"} <= set(names)
    assert all(
        one.meaning.endswith(".") and one.meaning.count(". ") == 0 and len(one.meaning) < 120 for one in GLOSSARY
    )
    assert term("tie") == "A number half-way between its two neighbours."


# ---- in a browser, from the bare address by clicks


SEED = Exercises().seed


def bits(page: Any) -> str:
    switches = page.get_by_role("switch").locator("visible=true")
    return "".join(str(int(one.get_attribute("aria-checked") == "true")) for one in switches.all())


def shows(visit: Visit, one: Task, answer: int | None, score: str) -> None:
    """Check what the page shows: the task, the bits of the answer, None where it is done, the points."""
    page = visit.page
    agrees(visit)
    assert page.get_by_text(f"{one.number} of 20", exact=True).is_visible()
    page.get_by_text(one.question[1], exact=True).first.wait_for()
    assert bits(page) == ("" if answer is None else f"{answer:0{one.fmt.bits}b}")
    assert page.get_by_text(score, exact=True).locator("visible=true").count() >= 1, score


def set_bits(visit: Visit, code: int, width: int) -> None:
    for place, bit in enumerate(f"{code:0{width}b}"):
        if bits(visit.page)[place] != bit:
            visit.page.get_by_role("switch").locator("visible=true").nth(place).click()
    visit.settle()


@pytest.mark.parametrize("visit", [{}, {"phone": True}], ids=["desk", "phone"], indirect=True)
def test_two_tasks(visit: Visit) -> None:
    page, first = visit.enter("Exercises"), task(SEED, 1)
    width, right = first.fmt.bits, min(first.right)
    shows(visit, first, 0, "of 20 tasks done")
    set_bits(visit, right ^ 1, width)
    shows(visit, first, right ^ 1, "of 20 tasks done")
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_role("button", name="Check again").wait_for()
    visit.settle()
    shows(visit, first, right ^ 1, "of 20 tasks done")
    set_bits(visit, right, width)
    page.get_by_role("button", name="Check again").click()
    page.get_by_role("button", name="Next task").wait_for()
    visit.settle()
    shows(visit, first, None, "of 1 point")
    page.get_by_role("button", name="Next task").click()
    visit.address_has("number=2")
    shows(visit, task(SEED, 2), 0, "of 1 point")
    page.get_by_role("button", name="Hint").click()
    page.get_by_text("Hint.").wait_for()
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("link", name="See it on its page").wait_for()
    visit.settle()
    shows(visit, task(SEED, 2), None, "of 2 points")
    assert visit.width_is_kept()
