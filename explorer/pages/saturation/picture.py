"""The picture of Saturation: a bar for each range, a wall where it ends, what lies behind, and the results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ...shared.interaction import Drag, Shown
from ...shared.link import query_text
from ...shared.numbers import code_text
from ...shared.svg import NARROW, WIDE, Drawing, Shapes, paint, text_width
from .view import BREAK, FIRST_STEP, LAST_STEP, PLACES, Landing, Ranges, Result, Row, step_of

__all__ = ["drag", "narrow", "wide"]

_TICKS = ((-5, "10^−5"), (-4, "10^−4"), (-3, "0.001"), (-2, "0.01"), (-1, "0.1"), (0, "1"), (1, "10"), (2, "100"),
          (3, "1000"), (4, "10 000"), (5, "10^5"), (38, "10^38"))  # fmt: skip
"""Decimal logarithms and their labels."""

_TEXT_TICKS_OF_NARROW = ("0.1", "1", "10", "100", "1000", "10^38")
_STEPS = [step_of(exponent * math.log2(10)) for exponent, _ in _TICKS]
_PLAIN = ("normal", "subnormal", "integer")
_FIELD = "x"
_FADED = 0.22
_LAST = len(PLACES) - 1
_STEPS_OF_PLACES = tuple(step_of(math.log2(float(place))) for place in PLACES)

Landings = Sequence[Sequence[Landing]]
"""Of every place, of every row."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """Where the axis is: the x of its right end, the width of a step, the height of its line."""

    right: float
    step: float
    y: float
    left: float
    """What is left of it is not drawn."""

    def x(self, step: float) -> float:
        """Return the x of a step, not left of the drawing."""
        return max(self.far(step), self.left)

    def far(self, step: float) -> float:
        """Return the x of a step, even if it lies left of the drawing."""
        return self.right - (LAST_STEP - step) * self.step

    def at(self, place: float) -> float:
        """Return the x of a base-2 logarithm."""
        return self.x(step_of(place))


_WIDE_AXIS = _Axis(right=848.5, step=2.5, y=48, left=156)
_NARROW_AXIS = _Axis(right=302, step=1.3, y=44, left=0)
_COLUMNS = (914, 1010, 1102)
"""The middles of the columns of results."""


def drag(view: Ranges, landings: Landings) -> Drag:
    """Return the number as one that is dragged: its places, and the results at each as texts."""
    sign = "-" * view.negative
    values = [sign + place for place in PLACES]
    shown = [value.replace("-", "−") for value in values]
    parts = {f"row{row}": [at[row].result.text for at in landings] for row in range(len(landings[0]))}
    parts |= {"number": shown, "head": [f"{text} becomes" for text in shown]}
    step = 0.0 if view.place is None else step_of(view.place)
    return Drag(_FIELD, values, round(step - FIRST_STEP), parts)


def wide(view: Ranges, landings: Landings, options: str) -> Shown:
    """Return the drawing for a desk; `options` says by which options of Cast, for a saved picture."""
    axis, top = _WIDE_AXIS, 78.0
    height = top + sum(38.5 + 31 * len(group.rows) for group in view.groups) - 28
    drawing = Drawing(WIDE, height, _label(view, options))
    picture = _Picture(drawing, axis, view, landings)
    picture.ground(height - 8, 47)
    drawing.text(0, axis.y - 6, options, size=12.5, fill="quiet")
    heads = ((f"{view.number} becomes", "accent", "head"), ("Inf becomes", "text", None), ("NaN becomes", "text", None))
    for x, (text, fill, part) in zip(_COLUMNS, heads, strict=True):
        drawing.text(x, axis.y - 6, text, fill=fill, anchor="middle", bold=True, part=part)
    drawing.line(868, axis.y, WIDE, axis.y, "quiet")
    y, number = top, 0
    for group in view.groups:
        title = Shapes(drawing.text(0, y, group.title, size=15, bold=True))
        title.add("tspan", {"dx": 10, "fill": paint("quiet"), "font-size": 14, "font-weight": 400}, group.note)
        y += 23.5
        for row in group.rows:
            shapes = picture.row(row, number, y, 20)
            shapes.text(0, y + 5, row.format.name, mono=True, size=_name_size(row.format.name))
            picture.results(shapes, row, number, y + 5)
            y, number = y + 31, number + 1
        y += 8
    picture.number_line(height - 6)
    return picture.shown()


def narrow(view: Ranges, landings: Landings, options: str) -> Shown:
    """Return the drawing for a telephone: names above the bars, one column of results."""
    axis, top = _NARROW_AXIS, 72.0
    height = top + sum(32 + 45 * len(group.rows) for group in view.groups) - 12
    drawing = Drawing(NARROW, height, _label(view, options))
    picture = _Picture(drawing, axis, view, landings)
    picture.ground(height - 8, 60)
    drawing.text(NARROW, axis.y - 6, "becomes", size=12, fill="quiet", anchor="end")
    y, number = top, 0
    for group in view.groups:
        drawing.text(0, y, group.title, size=14.5, bold=True)
        for row in group.rows:
            shapes = picture.row(row, number, y + 45, 18)
            shapes.text(0, y + 29, row.format.name, mono=True, size=min(13.5, _name_size(row.format.name)))
            picture.result(shapes, row, number, 330, y + 50)
            y, number = y + 45, number + 1
        y += 32
    picture.number_line(height - 6)
    return picture.shown()


def _name_size(name: str) -> float:
    """Return the size of a name in the column of names."""
    return min(14.0, 148 / max(text_width(name, 1, mono=True), 1))


def _label(view: Ranges, options: str) -> str:
    """Return in a sentence what the picture shows."""
    results = ", ".join(
        f"{row.landing.result.text} in {row.format.name}" for group in view.groups for row in group.rows
    )
    return f"The range of each format on a logarithmic axis ({options}): {view.number} becomes {results}"


def _runs(values: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Return the runs of equal values, each with its first and last place."""
    place = 0
    for value, run in groupby(values):
        length = len(list(run))
        yield value, place, place + length - 1
        place += length


def _category(result: Result, row: Row) -> str:
    """Return how a result is drawn: plain, or in the colours of its class; integers are plain."""
    return "plain" if result.kind in _PLAIN or row.format.is_integer else result.kind


class _Picture:
    """One drawing on its way: what both sizes have in common."""

    def __init__(self, drawing: Drawing, axis: _Axis, view: Ranges, landings: Landings) -> None:
        self.drawing, self.axis, self.view, self.landings = drawing, axis, view, landings
        self.at = None if view.place is None else axis.at(view.place)
        self.xs = [axis.x(step) for step in _STEPS_OF_PLACES]
        self.half_pill = 0.0
        self.subnormal = self._row_of_word()

    def _row_of_word(self) -> Row | None:
        """Return the row that says what the yellow is: the one with most room left of it."""
        rows = [row for group in self.view.groups for row in group.rows if row.is_there]
        rows = [row for row in rows if row.smallest is not None and row.smallest != row.normal]
        return max(rows, key=lambda row: row.smallest or 0, default=None)

    def ground(self, bottom: float, room: float) -> None:
        """Draw the axis with its hairlines, and the area where a press begins to drag; labels apart by `room`."""
        drawing, axis = self.drawing, self.axis
        drawing.rect(axis.left, 0, axis.right - axis.left, bottom, "page", data_drag_area="")
        sign = "−" * self.view.negative
        for step, (exponent, text) in zip(_STEPS, _TICKS, strict=True):
            x = axis.far(step)
            if x < axis.left:
                continue
            if exponent < 38:
                drawing.line(x, axis.y, x, bottom, "line")
            if axis is _NARROW_AXIS and (text not in _TEXT_TICKS_OF_NARROW or (exponent > 1 and exponent < 38)):
                continue
            self.tick(x, sign + text, room / 2)
        near_end, far_start = (axis.far(step) for step in BREAK)
        drawing.line(axis.left, axis.y, near_end, axis.y, "quiet")
        drawing.line(far_start, axis.y, axis.right, axis.y, "quiet")

    def tick(self, x: float, text: str, reach: float) -> None:
        """Draw a label of the axis, not seen while the number's pill is above it."""
        is_near = [abs(place - x) < reach for place in self.xs]
        is_covered = self.at is not None and abs(self.at - x) < reach
        for covered, first, last in _runs(["covered" if near else "" for near in is_near]):
            if not covered:
                here = (
                    "ghost here" if not is_covered and (self.at is None or (self.at < x) == (first == 0)) else "ghost"
                )
                self.drawing.text(x, self.axis.y - 6, text, size=12.5, fill="quiet", anchor="middle", mono=True,
                                  first=first, last=last, class_=here)  # fmt: skip

    def row(self, row: Row, number: int, y: float, height: float) -> Shapes:
        """Draw the bar, the wall and the fate of a row with its middle at y; return its group."""
        axis, top = self.axis, y - height / 2
        shapes = self.drawing.group(opacity=None if row.is_there else _FADED)
        wall = axis.at(row.largest)
        self.fate(shapes, row, wall, y, height)
        field = "mantissa" if row.format.is_integer else "exponent"
        start = wall
        if row.smallest is not None and row.normal is not None:
            start, normal = axis.at(row.smallest), axis.at(row.normal)
            shapes.rect(start, top, normal - start, height, "subnormal")
            shapes.rect(normal, top, wall - normal, height, field)
        if row is self.subnormal:
            shapes.text(start - 7, y + 4.5, "subnormal", size=13, fill="subnormal-text", anchor="end")
        shapes.line(wall, y - height * 0.65, wall, y + height * 0.65, "text", width=3)
        near_end = axis.far(BREAK[0])
        end = min(wall, near_end) - (6 if wall < near_end else 8)
        size = 13 if axis is _WIDE_AXIS else 12
        shapes.text(end, y + 4.5, row.end, size=size, fill=f"{field}-text", anchor="end", mono=True, bold=True)
        near, far = near_end, axis.far(BREAK[1])
        shapes.rect(near, top - 4, far - near, height + 8, "page")  # the break goes through all rows
        self.landing(shapes, row, number, wall, y, height)
        if not row.is_there:
            x, anchor, down = (axis.left + 4, "start", 4.5) if axis is _WIDE_AXIS else (axis.right, "end", -15.5)
            self.drawing.text(x, y + down, f"since opset {row.since}", size=13, fill="quiet", anchor=anchor)
        return shapes

    def fate(self, shapes: Shapes, row: Row, wall: float, y: float, height: float) -> None:
        """Draw what lies behind the wall: chevrons back to it, the colour of Inf or NaN, or saw teeth."""
        right, top = self.axis.right, y - height / 2
        if row.fate == "back":
            shapes.rect(wall, top, right - wall, height, "panel")
            marks = (x for x in range(int(self.axis.left) + 9, int(right), 14) if x > wall + 7)
            shapes.path("".join(f"M{x} {y - 4:g}l-4 4l4 4" for x in marks), stroke="cut", width=1.4)
        elif row.fate == "wraps":
            shapes.rect(wall, top, right - wall, height, "mantissa", opacity=0.45)
            teeth = (x for x in range(int(wall) + 2, int(right) - 17, 18))
            shapes.path(
                "".join(f"M{x} {y + 7:g}l17 -14v14" for x in teeth), stroke="mantissa-text", width=1.3, opacity=0.6
            )
        else:
            shapes.rect(wall, top, right - wall, height, row.fate)
            if 2 * (right - self.middle(wall)) > text_width(row.beyond, 13) + 4:
                shapes.text(
                    self.middle(wall), y + 4.5, row.beyond, size=13, fill=f"{row.fate}-text", anchor="middle", bold=True
                )

    def middle(self, wall: float) -> float:
        """Return the middle of what lies behind a wall, after the break."""
        return (max(self.axis.far(BREAK[1]), wall) + self.axis.right) / 2

    def landing(self, shapes: Shapes, row: Row, number: int, wall: float, y: float, height: float) -> None:
        """Draw how the number comes to its result: a dot on the line, or an arrow back to the wall."""
        at = self.at
        if at is None:
            return
        for how, first, last in _runs([places[number].how for places in self.landings]):
            here = "ghost here" if how == row.landing.how else "ghost"
            more: dict[str, Any] = {"first": first, "last": last, "class_": here}
            if how == "back":
                clip = shapes.add("svg", {"x": wall + 4, "y": y - height, "width": self.axis.right - wall,
                                          "height": 2 * height, "aria-hidden": "true", **more})  # fmt: skip
                inner = Shapes(clip)
                inner.line(at - 2000 - wall, height, at - wall - 4, height, "accent", width=2.2, follow="line")
                shapes.path(f"M{wall + 2:g} {y:g}l9 -5v10z", fill="accent", **more)
            else:
                fill = {"stays": "accent", "wraps": "mantissa-text"}.get(how, f"{how}-text")
                fill = "mantissa-text" if row.format.is_integer else fill
                shapes.circle(at, y, 5, fill, follow="line", **more)
        if self.axis is _WIDE_AXIS and row.fate not in ("back", "stays"):
            self.word(shapes, row, wall, y)

    def word(self, shapes: Shapes, row: Row, wall: float, y: float) -> None:
        """Write what a number behind the wall becomes: beside the line where there is room, at the wall before it."""
        assert self.at is not None
        is_integer = row.format.is_integer
        text = row.beyond if is_integer else f"becomes {row.beyond}"
        width, fill = text_width(text, 13) + 10, f"{'mantissa' if is_integer else row.fate}-text"
        edge = self.axis.right if is_integer else self.middle(wall) - text_width(row.beyond, 13)

        def place(x: float) -> str:
            if x <= wall:
                return "wall" if is_integer and wall + 12 + width < edge else ""
            if x + 12 + width < edge:
                return "right"
            is_free = is_integer or x - 12 < edge
            return "left" if is_free and x - 12 - width > wall else ""

        for where, first, last in _runs([place(x) for x in self.xs]):
            if not where:
                continue
            start = {"wall": wall + 14, "right": self.at + 12, "left": self.at - 8 - width}[where]
            group = shapes.group(
                first=first, last=last, class_="ghost here" if where == place(self.at) else "ghost",
                follow=None if where == "wall" else "line",
            )  # fmt: skip
            if is_integer:
                group.rect(start - 5, y - 8.5, width, 17, "page", radius=4)
            group.text(start, y + 4.5, text, size=13, fill=fill, bold=True)

    def results(self, shapes: Shapes, row: Row, number: int, y: float) -> None:
        """Write what the number, Inf and NaN become; each opens Anatomy."""
        self.result(shapes, row, number, _COLUMNS[0], y)
        for x, name, result in ((_COLUMNS[1], "Inf", row.infinity), (_COLUMNS[2], "NaN", row.nan)):
            link = _link(shapes, x, y, row, name, result)
            _written(link, x, y, result, "plain" if result.kind in _PLAIN else result.kind)

    def result(self, shapes: Shapes, row: Row, number: int, x: float, y: float) -> None:
        """Write what the number becomes, by its class at each place of the line."""
        shown = row.landing.result
        link = _link(shapes, x, y, row, self.view.number, shown)
        here = _category(shown, row)
        for kind, first, last in _runs([_category(places[number].result, row) for places in self.landings]):
            sample = shown if kind == here else self.landings[first][number].result
            _written(link, x, y, sample, kind, part=f"row{number}" if kind == "plain" else None,
                     first=first, last=last, class_="ghost here" if kind == here else "ghost")  # fmt: skip
        if here not in {_category(places[number].result, row) for places in self.landings}:
            _written(link, x, y, shown, here, first=-1, last=-1, class_="ghost here")

    def number_line(self, bottom: float) -> None:
        """Draw the number: a line through all rows and a pill to drag."""
        drawing, at = self.drawing, self.at
        near_end, far_start = (self.axis.far(step) for step in BREAK)
        for x in (near_end, far_start - 6):
            drawing.line(x, self.axis.y + 5, x + 6, self.axis.y - 5, "quiet", width=1.3)
        size = 15.0
        self.half_pill = text_width(self.view.number, size, mono=True) / 2 + 20
        middle = self.pill_x(self.axis.right if at is None else at)
        if at is not None:
            drawing.line(at, 28, at, bottom, "accent", width=2, follow="line")
        group = drawing.group(follow="pill")
        group.pill(middle, 16, self.view.number, size=size, drag=True, part="number", label="Number")

    def pill_x(self, x: float) -> float:
        """Return the middle of the pill: above the line, but within the drawing."""
        return min(max(x, self.half_pill), self.drawing.width - self.half_pill)

    def shown(self) -> Shown:
        """Return the drawing with the places of all that follows the number."""
        at = self.axis.right if self.at is None else self.at
        line = [(round(x - at, 1), 0.0) for x in self.xs]
        pill = [(round(self.pill_x(x) - self.pill_x(at), 1), 0.0) for x in self.xs]
        ends = self.axis.far(FIRST_STEP), self.axis.far(LAST_STEP)
        return Shown(self.drawing, *ends, at, {"line": line, "pill": pill})


def _link(shapes: Shapes, x: float, y: float, row: Row, name: str, result: Result) -> Shapes:
    """Return a group that opens a code in Anatomy; a frame marks a result that newer opsets change."""
    query = query_text({"fmt": row.format.name, "at": code_text(result.code, row.format)})
    newer = f"; in newer opsets {result.newer}" if result.newer else ""
    label = f"{name} becomes {result.text} in {row.format.name}{newer}. Open in Anatomy"
    link = Shapes(shapes.add("a", {"href": f"anatomy?{query}", "aria-label": label}))
    link.add("title", {}, label)
    if result.newer:
        link.rect(x - 34, y - 17.5, 68, 25, "none", radius=4, stroke="text", stroke_width=1.5)
    return link


def _written(shapes: Shapes, x: float, y: float, result: Result, kind: str, **more: Any) -> None:
    """Write a result, in a box if it is of a class with colours."""
    if kind == "plain":
        size = min(14.0, 92 / text_width(result.text, 1, mono=True))
        shapes.text(x, y, result.text, size=size, anchor="middle", bold=True, mono=True, **more)
    else:
        shapes.badge(x, y, result.text, kind, mono=kind == "zero", **more)
