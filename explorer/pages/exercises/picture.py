"""The drawings of Exercises: an answer and what is wrong about it; the score, with all tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...shared.codes import fields
from ...shared.svg import Drawing, Shapes, text_width
from .exercises import Mark, Task, Verdict, shown_text

__all__ = ["ANSWER_WIDTHS", "SCORE_WIDTH", "Line", "answer_drawing", "score_drawing"]

ANSWER_WIDTHS = (756, 324)
"""Of the drawing of an answer, for a desk and for a telephone."""

SCORE_WIDTH = 300
_POINTS = {Fraction(1): "1", Fraction(1, 2): "½", Fraction(0): "0"}


@dataclass(frozen=True, slots=True)
class Line:
    """A task in the list: its points, None while it is open; whether it is shown now."""

    task: Task
    points: Fraction | None
    is_here: bool


def _wrapped(text: str, width: float, size: float) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, size) > width and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _paragraph(shapes: Shapes, y: float, text: str, width: float, left: float, size: float, **more: object) -> float:
    for line in _wrapped(text, width, size) if text else ():
        shapes.text(left, y, line, size=size, **more)  # type: ignore[arg-type]
        y += size * 1.4
    return y


def _bit_fields(task: Task, code: int) -> tuple[list[tuple[str, str]], list[str]]:
    if task.topic == "packing":
        bits = f"{code:08b}"
        return [("exponent", bits[:4]), ("mantissa", bits[4:])], ["high bits", "low bits"]
    parts = fields(code, task.fmt)
    return [(part.name, part.bits) for part in parts], [part.label or "value" for part in parts]


def answer_drawing(task: Task, answer: int | None, said: Verdict | None, width: int, *, is_done: bool) -> Drawing:
    """Return the bits or choices of a task, and below what is said and drawn about the answer that was checked."""
    is_narrow = width < 700
    height = _answer(None, task, answer, said, width, is_done, is_narrow)
    label = f"{''.join(task.question)} " + (said.title if said else "No answer was checked yet.")
    drawing = Drawing(width, height, label)
    _answer(drawing, task, answer, said, width, is_done, is_narrow)
    return drawing


def _answer(
    drawing: Drawing | None, task: Task, answer: int | None, said: Verdict | None, width: int, is_done: bool,
    is_narrow: bool,
) -> float:  # fmt: skip
    """Draw an answer and return the height that it takes; without a drawing it is measured alone."""
    shapes = drawing or Drawing(width, 1, "")
    y = _choices(shapes, task, answer, width, is_done) if task.choices else _switches(shapes, task, answer, said,
                                                                                       is_narrow, is_done)  # fmt: skip
    if said is None:
        return y + 4
    top, inset = y + 8, 10 if is_narrow else 24
    group = Shapes(shapes.add("g", {}))
    y = top + (26 if is_narrow else 34)
    size = 15 if is_narrow else 18
    room = width - 2 * inset
    y = _paragraph(group, y, said.title, room, inset, size, bold=True, fill="accent" if said.is_right else "text")
    y = _paragraph(group, y, said.sentence, room, inset, size)
    if said.marks or said.badge:
        y = _interval(group, y + 4, said, inset, width - inset, is_narrow)
    y = _paragraph(group, y + 4, said.lead, room, inset, size, fill="quiet")
    panel = shapes.rect(0, top, width, y - top, "panel", radius=10)
    shapes.element.remove(panel)
    shapes.element.insert(list(shapes.element).index(group.element), panel)
    return y + 4


def _switches(
    shapes: Shapes, task: Task, answer: int | None, said: Verdict | None, is_narrow: bool, is_done: bool
) -> float:
    box, height = (34, 44) if is_narrow else (64, 68)
    parts, labels = _bit_fields(task, answer or 0)
    end = shapes.bits(
        0, 2, parts, box=box, height=height, gap=3 if is_narrow else 4, between=6 if is_narrow else 8,
        size=20 if is_narrow else 27, labels=labels, switches=not is_done,
    )  # fmt: skip
    if not is_narrow and said is not None and answer is not None:
        text = f"= {shown_text(task.values[answer])}"
        if task.topic == "packing":
            text = f"= 0x{answer:02X}"
        if end + 24 + text_width(text, 24, mono=True) <= ANSWER_WIDTHS[0]:
            shapes.text(end + 24, 45, text, size=24, bold=True, mono=True, part="value")
    return height + 30


def _choices(shapes: Shapes, task: Task, answer: int | None, width: int, is_done: bool) -> float:
    count, gap = len(task.choices), 10
    box = min((width - gap * (count - 1)) / count, 150)
    for index, text in enumerate(task.choices):
        is_chosen = index == answer
        action = {} if is_done else {"set": f"answer={index}", "label": f"Answer {text}"}
        group = shapes.group(**action)
        x = index * (box + gap)
        group.rect(x + 1, 2, box - 2, 60, "soft" if is_chosen else "page", radius=8,
                   stroke="accent" if is_chosen else "frame", stroke_width=2)  # fmt: skip
        group.text(x + box / 2, 40, text, size=22, anchor="middle", mono=True, bold=is_chosen,
                   fill="accent" if is_chosen else "text")  # fmt: skip
    return 70


def _places(marks: Sequence[Mark], left: float, right: float) -> tuple[list[float], bool]:
    """Return the x of each mark, and whether they are to scale: near ones are drawn apart where others are far."""
    low, high = marks[0].value, marks[-1].value
    if low == high:
        return [(left + right) / 2] * len(marks), True
    share = [float((mark.value - low) / (high - low)) for mark in marks]
    least, is_exact = 0.13, True
    for index in range(1, len(share)):
        if marks[index].value != marks[index - 1].value and share[index] - share[index - 1] < least:
            share[index], is_exact = share[index - 1] + least, False
    return [left + (right - left) * one / share[-1] for one in share], is_exact


def _interval(shapes: Shapes, top: float, said: Verdict, left: float, right: float, is_narrow: bool) -> float:
    """Draw the answer beside the number, with the distances; return where it ends."""
    inset, small, size = (36, 13, 15) if is_narrow else (52, 16, 19)
    line = top + 62
    if not said.marks:
        assert said.badge is not None
        shapes.badge((left + right) / 2, top + 40, f"your code: {said.badge[1]}", said.badge[0], size=size)
        return top + 66
    main = [mark for mark in said.marks if mark.role != "midpoint"]
    xs, is_exact = _places(main, left + inset, right - inset)
    at = {mark.role: x for mark, x in zip(main, xs, strict=True)}
    ends = [at[main[0].role], at[main[-1].role]]
    if said.badge is not None or len(main) == 1:
        ends = [left + inset, right - inset]
        at[main[0].role] = (left + right) / 2
    shapes.rect(ends[0], line - 18, ends[1] - ends[0], 36, "mantissa")
    if {"answer", "right"} <= set(at) and "midpoint" in {mark.role for mark in said.marks} and is_exact:
        middle = (at["answer"] + at["right"]) / 2
        edge = sorted((middle, at["right"]))
        shapes.rect(edge[0], line - 18, edge[1] - edge[0], 36, "soft")
        shapes.line(middle, line - 24, middle, line + 24, "quiet", width=2, dashed=True)
    used: list[tuple[float, float]] = []
    for mark in main:
        x = at[mark.role]
        text = mark.text
        if mark.role == "number":
            shapes.circle(x, line, 9, "accent")
            shapes.circle(x, line, 3.5, "panel")
            shapes.text(_kept(x, f"x = {text}", size, left, right), top + 22, f"x = {text}", size=size, fill="accent",
                        anchor="middle", bold=True, mono=True)  # fmt: skip
            continue
        shapes.line(x, line - 27, x, line + 27, "text", width=4 if mark.role != "right" else 3)
        if mark.role == "answer":
            word, half = "your code", text_width("your code", small, mono=False) / 2 + 12
            middle = min(max(x, left + half), right - half)
            if "number" in at and abs(at["number"] - middle) < half + text_width(f"x = {text}", size, mono=True) / 2:
                word, half = "you", text_width("you", small) / 2 + 10
                middle = min(max(x, left + half), right - half)
            shapes.rect(middle - half, top + 2, 2 * half, small + 12, "text", radius=6)
            shapes.text(middle, top + 7 + small, word, size=small, fill="page", anchor="middle", bold=True)
        half = text_width(text, size - 1, mono=True) / 2
        middle = _kept(x, text, size - 1, left, right)
        row = 0 if all(middle + half < a or middle - half > b for a, b in used) else 1
        used.append((middle - half, middle + half) if not row else (0, 0))
        shapes.text(middle, line + 88 + 20 * row, text, size=size - 1, anchor="middle", bold=True, mono=True)
    for first, last, text, is_good in said.distances:
        pair = sorted((at[said.marks[first].role], at[said.marks[last].role]))
        _distance(shapes, pair, line + 44, text, is_good, small)
    y = line + 96 + 20 * any(one == (0, 0) for one in used)
    notes = [f"midpoint {mark.text}" for mark in said.marks if mark.role == "midpoint"]
    notes += ["not to scale"] * (not is_exact)
    if notes:
        shapes.text((left + right) / 2, y + 14, ", ".join(notes), size=small - 1, fill="quiet", anchor="middle")
        y += 22
    return y + 18


def _kept(x: float, text: str, size: float, left: float, right: float) -> float:
    """Return the middle of a text at x such that it stays between two ends."""
    half = text_width(text, size, mono=True) / 2
    return min(max(x, left + half), right - half)


def _distance(shapes: Shapes, pair: Sequence[float], y: float, text: str, is_good: bool, size: float) -> None:
    first, last = pair[0] + 3, pair[1] - 3
    colour = "accent" if is_good else "quiet"
    shapes.line(first, y, last, y, colour, width=1.5)
    for x in (first, last):
        shapes.line(x, y - 4, x, y + 4, colour, width=1.5)
    half = text_width(text, size, mono=True) / 2 + 5
    middle = (first + last) / 2
    is_inside = 2 * half < last - first
    if is_inside:
        shapes.rect(middle - half, y - 9, 2 * half, 18, "panel")
    shapes.text(middle, y + 5.5 if is_inside else y + 20, text, size=size, fill=colour, anchor="middle", mono=True,
                bold=is_good)  # fmt: skip


# ---- the score


def _total(points: Sequence[Fraction]) -> str:
    whole = sum(points, Fraction(0))
    return f"{whole // 1 or ''}{'½' if whole % 1 else ''}" or "0"


def score_drawing(lines: Sequence[Line]) -> Drawing:
    """Return the points so far, the tasks that are done, and all tasks by what they practise; each opens its task."""
    done = [line for line in lines if line.points is not None]
    earned = [line.points for line in done if line.points is not None]
    topics = list(dict.fromkeys(line.task.topic for line in lines))
    height = 78 + 38 * len(done) + 44 + 30 * len(topics) + 8
    total = _total(earned)
    drawing = Drawing(SCORE_WIDTH, height, f"{total} of {len(done)} points; {len(lines) - len(done)} tasks are open")
    drawing.text(0, 54, total, size=60, bold=True)
    drawing.text(
        text_width(total.replace("½", "00"), 60) + 8,
        54,
        f"of {len(done)} point{'s' * (len(done) != 1)}" if done else f"of {len(lines)} tasks done",
        size=18,
        fill="quiet",
    )
    y = 78.0
    drawing.line(0, y, SCORE_WIDTH, y, "line")
    for line in done:
        group = drawing.group(set=f"number={line.task.number}", label=f"Task {line.task.number}: {line.task.title}")
        group.rect(0, y + 1, SCORE_WIDTH, 36, "page")
        title = line.task.title if len(line.task.title) <= 29 else f"{line.task.title[:28]}…"
        group.text(0, y + 24, title, size=14)
        group.text(SCORE_WIDTH - 34, y + 24, line.task.result, size=14, anchor="end", mono=True, bold=True)
        _points(group, SCORE_WIDTH - 13, y + 19, line.points)
        y += 38
        drawing.line(0, y, SCORE_WIDTH, y, "line")
    y += 34
    drawing.text(0, y, "What you practise", size=16, bold=True)
    for topic in topics:
        y += 30
        drawing.text(0, y, topic, size=15)
        of_topic = [line for line in lines if line.task.topic == topic]
        for index, line in enumerate(reversed(of_topic)):
            _dot(drawing, SCORE_WIDTH - 9 - 20 * index, y - 5, line)
    return drawing


def _points(shapes: Shapes, x: float, y: float, points: Fraction | None) -> None:
    is_whole = points == 1
    shapes.circle(x, y, 12, "accent" if is_whole else "soft" if points else "zero")
    fill = "page" if is_whole else "accent" if points else "zero-text"
    shapes.text(x, y + 4.5, _POINTS[points or Fraction(0)], size=13, anchor="middle", bold=True, fill=fill)


def _dot(drawing: Drawing, x: float, y: float, line: Line) -> None:
    word = "open" if line.points is None else f"{_POINTS[line.points]} points"
    group = drawing.group(set=f"number={line.task.number}", label=f"Task {line.task.number}, {word}")
    group.rect(x - 10, y - 12, 20, 24, "page")
    group.circle(x, y, 6.5, "accent" if line.points == 1 else "zero")
    if line.points == Fraction(1, 2):
        group.path(f"M{x} {y - 6.5}a6.5 6.5 0 0 0 0 13z", fill="accent")
    if line.points == 0:
        group.path(f"M{x - 3} {y - 3}l6 6m0 -6l-6 6", stroke="zero-text", width=1.5)
    if line.is_here:
        group.circle(x, y, 8.5, "none", stroke="accent", stroke_width=2)
