"""The pictures of Arithmetic: a running sum and one of its steps; the digits of an operation and its one rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from lowprec.reference.values import Value

from ...shared.axis import spread, ticks
from ...shared.digits import Window, changed_digits, columns_of, digits_of_number, window_of
from ...shared.digits_grid import DigitsGrid
from ...shared.interaction import Drag, Shown
from ...shared.numbers import apart, short
from ...shared.ranges import minus
from ...shared.svg import NARROW, WIDE, Drawing, Shapes, fitted, text_width
from .lens import Lens, Mark
from .operation_view import SYMBOLS, Calculation, Operand
from .sum_view import Curve, Order, Sum, terms_text
from .sum_view import Shown as Step

__all__ = ["drag", "operation", "running_sum"]

_COLOURS = {"exact": ("exponent-text", "7 4"), "mean of the runs": ("sign-text", "2 3")}
_OTHER = ("mantissa-text", "10 3 2 3")


def drag(steps: Sequence[Step], at: Step) -> Drag | None:
    """Return what a reader drags: the step, along the running sum."""
    if not steps:
        return None
    lenses = [step.lens for step in steps]
    parts = {
        "step": [f"step {step.index}" for step in steps],
        "formula": [step.formula for step in steps],
        "sum": [step.sum for step in steps],
        "rule": [step.rule for step in steps],
        "left": [_end_text(lens.left) if lens else "" for lens in lenses],
        "right": [_end_text(lens.right) if lens else "" for lens in lenses],
        "middle": [lens.middle if lens else "" for lens in lenses],
    }
    nearest = min(range(len(steps)), key=lambda place: abs(steps[place].index - at.index))
    return Drag("step", [str(step.index) for step in steps], nearest, parts)


# ---- a running sum


@dataclass(frozen=True, slots=True)
class _Box:
    """Where the curves are: a step becomes x, a sum y."""

    left: float
    top: float
    right: float
    bottom: float
    last: int
    low: float
    high: float

    def x(self, step: float) -> float:
        return self.left + (self.right - self.left) * (step - 1) / max(self.last - 1, 1)

    def y(self, height: float) -> float:
        return self.bottom - (self.bottom - self.top) * (height - self.low) / (self.high - self.low)


def running_sum(result: Sum, at: Step, steps: Sequence[Step], *, wide: bool) -> Shown:
    """Return the picture of a sum: its curves, a step between two values, and the results of other orders."""
    found, curve = result.found, result.curve
    left, right = (84.0, 850.0) if wide else (50.0, 316.0)
    title = f"{terms_text(result.settings, len(found.terms))} in {found.format.name}"
    final = f"{minus(apart(found.sum, found.format))}, exactly {minus(short(found.exact, 14, 8))}"
    width = WIDE if wide else NARROW
    drawing = Drawing(width, 500, f"{title}: {final}. {at.formula}, rounded to {at.sum}: {at.rule}")
    text, size = fitted(f"{title}: {final}", width, 16 if wide else 14, 11, mono=False)
    drawing.text(0, 16, text, size=size, bold=True)
    bottom, places = 24.0, {}
    box = None if curve is None else _box(curve, left, 60, right, 262 if wide else 190, found.length)
    if curve is not None and box is not None:
        _frame(drawing, box, wide)
        _stall(drawing, result, box)
        _curves(drawing, result, curve, box)
        bottom = _names(drawing, result, curve, box, wide)
        places = _pill(drawing, box, at, steps)
    lens_left, lens_right = (200.0, 952.0) if wide else (56.0, 302.0)
    bottom = _step(drawing, at, bottom + 22, lens_left, lens_right, wide)
    if at.lens is not None:
        places |= _lens_places(at.lens, steps, lens_left, lens_right)
    if box is not None and at.lens is None:
        places.setdefault("exact", [(0.0, 0.0)] * len(steps))
        places.setdefault("result", [(0.0, 0.0)] * len(steps))
    height = _orders(drawing, result.orders, found.method, bottom + 14, wide)
    drawing.resize(height)
    return Shown(drawing, left, right, left if box is None else box.x(at.index), places)


def _box(curve: Curve, left: float, top: float, right: float, bottom: float, last: int) -> _Box | None:
    """Return where the curves are; None where no sum is a number."""
    ends = [value for values in curve.series.values() for value in values if value is not None]
    if not ends:
        return None
    low, high = min(*ends, 0.0), max(*ends, 0.0)
    return _Box(left, top, right, bottom, last, low, high if high > low else low + 1.0)


def _frame(drawing: Drawing, box: _Box, wide: bool) -> None:
    """Draw both axes with round numbers."""
    for number in ticks(Fraction(box.low), Fraction(box.high), 6 if wide else 5):
        y = box.y(float(number))
        drawing.line(box.left, y, box.right, y, "line" if number else "quiet")
        drawing.text(box.left - 8, y + 4, minus(short(number, 7, 2).replace("e+", "e")), size=12.5 if wide else 11.5,
                     fill="quiet", anchor="end", mono=True)  # fmt: skip
    for number in ticks(Fraction(1), Fraction(max(box.last, 2)), 9 if wide else 5):
        if number.denominator == 1:
            x = box.x(int(number))
            drawing.line(x, box.bottom, x, box.bottom + 5, "quiet")
            drawing.text(x, box.bottom + 18, str(number), size=12.5, fill="quiet", anchor="middle", mono=True)
    drawing.line(box.left, box.bottom, box.right, box.bottom, "quiet")
    drawing.text(box.right, box.bottom + 34, "step", size=12.5, fill="quiet", anchor="end")


def _stall(drawing: Drawing, result: Sum, box: _Box) -> None:
    """Mark the steps that change nothing."""
    if result.stalls_at is None:
        return
    x = box.x(result.stalls_at)
    drawing.rect(x, box.top, box.right - x, box.bottom - box.top, "panel", opacity="0.7")
    text = f"from step {result.stalls_at} on the sum stays as it is"
    if (room := box.right - x - 10) > 60:
        shown, size = fitted(text, room, 13.5, 10.5, mono=False)
        height = box.bottom if result.found.sum.special else box.y(float(result.found.sum))
        y = height - 8 if height - 24 > box.top else height + 18
        drawing.text(box.right - 5, y, shown, size=size, fill="quiet", anchor="end")


def _look(result: Sum, name: str) -> tuple[str, dict[str, Any]]:
    """Return the colour of a series and its dashes."""
    if name == result.found.format.name:
        return "accent", {}
    colour, dashes = _COLOURS.get(name, _OTHER)
    return colour, {"stroke_dasharray": dashes}


def _curves(drawing: Drawing, result: Sum, curve: Curve, box: _Box) -> None:
    """Draw a line for each series, and the band that holds most runs."""
    if curve.band is not None:
        band = [one for one in zip(curve.steps, *curve.band, strict=True) if None not in one]
        forth = [(box.x(step), box.y(high or 0.0)) for step, _, high in band]
        back = [(box.x(step), box.y(low or 0.0)) for step, low, _ in reversed(band)]
        inside = [(x, min(max(y, box.top), box.bottom)) for x, y in (*forth, *back)]
        if inside:
            drawing.path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in inside) + "z", fill="sign-text", opacity="0.2")
    for name, values in reversed(curve.series.items()):
        colour, dashes = _look(result, name)
        for is_number, run in groupby(zip(curve.steps, values, strict=True), key=lambda pair: pair[1] is not None):
            points = [(box.x(step), box.y(value or 0.0)) for step, value in run]
            if is_number and len(points) > 1:
                drawing.curve(points, colour, width=2.5, **dashes)
            elif is_number:
                drawing.circle(*points[0], 3, colour)


def _names(drawing: Drawing, result: Sum, curve: Curve, box: _Box, wide: bool) -> float:
    """Write the name of each line and where it ends; return how far down that goes."""
    names = list(curve.series)
    ends = [next((value for value in reversed(curve.series[name]) if value is not None), None) for name in names]
    wanted = [box.bottom if end is None else box.y(end) for end in ends]
    top = box.bottom + 52
    placed = spread(wanted, 40, box.top + 8, box.bottom) if wide else [top + 18 * row for row in range(len(names))]
    for name, end, y in zip(names, wanted, placed, strict=True):
        colour, dashes = _look(result, name)
        last = {"exact": result.found.exact, "float32": result.single.sum}.get(name, result.found.sum)
        text = minus(short(last, 14, 8))
        if name == "mean of the runs" and result.spread is not None:
            name, text = f"mean of {result.spread.count} runs", minus(short(Value.of(result.spread.mean), 10, 6))
        x = 886.0 if wide else 0.0
        if wide:
            drawing.path(f"M{box.right:g} {end:.1f}L{x - 12:g} {y:.1f}", stroke=colour)
        drawing.line(x - 12 * wide, y - 4, x + 16, y - 4, colour, width=3, **dashes)
        label, size = fitted(name, 250 if wide else 190, 14 if wide else 13, 11)
        drawing.text(x + 22, y, label, size=size, fill=colour, bold=True, mono=True)
        if wide:
            drawing.text(x + 22, y + 16, text, size=13, mono=True)
        else:
            drawing.text(NARROW, y, text, size=13, anchor="end", mono=True)
    return box.bottom + 34 if wide else placed[-1]


def _pill(drawing: Drawing, box: _Box, at: Step, steps: Sequence[Step]) -> dict[str, Sequence[tuple[float, float]]]:
    """Draw the step that is looked at as a line with a pill; return the places of the dot on the running sum."""
    x, height = box.x(at.index), at.height if at.height is not None else box.low
    drawing.rect(box.left - 20, 30, box.right - box.left + 40, box.bottom - 30, "page", opacity="0", data_drag_area="")
    moved = drawing.group(follow="x")
    moved.line(x, 46, x, box.bottom, "accent", width=1.5)
    moved.pill(x, 38, f"step {at.index}", size=13, drag=bool(steps), part="step", label="Step")
    dot = drawing.group(follow="dot")
    dot.circle(x, box.y(height), 5.5, "accent", stroke="page")
    count = max(len(steps) - 1, 1)
    across = [box.left + (box.right - box.left) * place / count - x for place in range(len(steps))]
    heights = [box.low if step.height is None else step.height for step in steps]
    down = [box.y(min(max(one, box.low), box.high)) - box.y(height) for one in heights]
    return {"dot": list(zip(across, down, strict=True))}


def _step(drawing: Drawing, at: Step, top: float, left: float, right: float, wide: bool) -> float:
    """Draw a step: as a formula, and the exact sum between two values."""
    formula, size = fitted(at.formula, (right - left) if wide else NARROW - 70, 17 if wide else 14, 9.5)
    middle = (left + right) / 2 if wide else 0.0
    anchor = "middle" if wide else "start"
    drawing.text(middle, top + 6, formula, size=size, anchor=anchor, bold=True, mono=True, part="formula")
    if wide:
        drawing.text(left - 16, top + 6, "one step", size=15, anchor="end", bold=True)
        drawing.text(right + 16, top + 6, "rounded:", size=14, fill="quiet")
        text, size = fitted(at.sum, 118, 17, 9.5)
        drawing.text(right + 78, top + 6, text, size=size, fill="accent", bold=True, mono=True, part="sum")
    else:
        text, size = fitted(f"→ {at.sum}", 66, 14, 9.5)
        drawing.text(NARROW, top + 6, text, size=size, fill="accent", anchor="end", bold=True, mono=True)
    bottom = top + 14
    if at.lens is not None:
        bottom = _lens(drawing, at.lens, top + 18, left, right)
    rule, size = fitted(at.rule, 700 if wide else NARROW, 14, 10.5, mono=False)
    drawing.text((left + right) / 2, bottom + 14, rule, size=size, fill="quiet", anchor="middle", part="rule")
    return bottom + 16


def _end_text(mark: Mark) -> str:
    return f"{mark.text} = {mark.meaning}" if mark.meaning else mark.text


def _lens_places(
    lens: Lens, steps: Sequence[Step], left: float, right: float
) -> dict[str, Sequence[tuple[float, float]]]:
    """Return the places of the exact sum and of the result, for each step that a reader can drag to."""
    exact, result = [], []
    for step in steps:
        one = step.lens or lens
        exact.append(((right - left) * (one.at - lens.at), 0.0))
        goes, drawn = (side.at if side.goes is None else side.goes for side in (one, lens))
        result.append(((right - left) * (goes - drawn), 0.0))
    return {"exact": exact, "result": result}


def _lens(shapes: Shapes, lens: Lens, top: float, left: float, right: float) -> float:
    """Draw an exact number between two values of the format, and which of them it becomes; return the bottom."""
    width = right - left
    shapes.rect(left - 40, top + 14, width + 80, 24, "panel")
    shapes.rect(left, top + 14, width, 24, "mantissa")
    if lens.middle:
        shapes.rect(left + width / 2, top + 14, width / 2, 24, "nan" if lens.right.meaning else "held")
    goes = lens.at if lens.goes is None else lens.goes
    for place, mark, part in ((left, lens.left, "left"), (right, lens.right, "right")):
        shapes.line(place, top + 8, place, top + 44, "nan-text" if mark.meaning else "text", width=4)
        text, size = fitted(_end_text(mark), 200 if width > 400 else 130, 15, 10)
        half = text_width(text, size, mono=True) / 2
        middle = min(max(place, half), left + right - half)
        shapes.text(middle, top + 62, text, size=size, anchor="middle", bold=True, mono=True, part=part,
                    fill="nan-text" if mark.meaning else "text")  # fmt: skip
    if lens.middle:
        middle = left + width / 2
        shapes.line(middle, top + 8, middle, top + 44, "text", width=2, dashed=True)
        if width > 400:
            shapes.text(middle, top + 62, lens.middle, size=13, fill="quiet", anchor="middle", mono=True, part="middle")
    moved = shapes.group(follow="result")
    moved.circle(left + width * goes, top + 26, 9, "page", stroke="accent", stroke_width=3)
    dot = shapes.group(follow="exact")
    dot.circle(left + width * lens.at, top + 26, 5.5, "accent")
    return top + 68


def _orders(drawing: Drawing, orders: Sequence[Order], chosen: str, top: float, wide: bool) -> float:
    """Draw what every order of the same terms gives; a click chooses one. Return the bottom."""
    drawing.text(0, top + 14, "Six orders, the same terms", size=15, bold=True)
    columns, gap = (6, 8.0) if wide else (3, 6.0)
    width = ((WIDE if wide else NARROW) - gap * (columns - 1)) / columns
    for index, order in enumerate(orders):
        ulps = "" if order.ulps is None else "exact" if not order.ulps else f"{minus(short(order.ulps, 8, 3))} ulp"
        value = minus(short(order.sum, 12, 7))
        x, y = (width + gap) * (index % columns), top + 24 + 62 * (index // columns)
        cell = drawing.group(set=f"method={order.method}", label=f"{order.method}: {value}, {ulps}")
        is_chosen = order.method == chosen
        cell.rect(x, y, width, 56, "soft" if is_chosen else "panel", radius=6, stroke="accent" if is_chosen else None)
        cell.text(x + width / 2, y + 17, order.method, size=13, anchor="middle", bold=True)
        cell.text(x + width / 2, y + 34, value, size=14, anchor="middle", mono=True)
        cell.text(x + width / 2, y + 49, ulps, size=11.5, anchor="middle", fill="quiet")
    return top + 24 + 62 * -(-len(orders) // columns)


# ---- one operation


def operation(result: Calculation, name: str, *, wide: bool) -> Drawing:
    """Return the picture of an operation: its digits by weight, the exact result between two values, all roundings."""
    found = result.operation
    fmt, width = found.format, WIDE if wide else NARROW
    shown = f"{minus(short(found.exact, 18, 9))} becomes {minus(apart(found.value, fmt))} in {fmt.name}"
    drawing = Drawing(width, 400, f"{_formula(name, result.operands)} = {shown}: {found.explanation.rule}")
    title, size = fitted(
        f"{_formula(name, result.operands)} in {fmt.name}", width, 16 if wide else 14, 10.5, mono=False
    )
    drawing.text(0, 16, title, size=size, bold=True)
    top = _digit_rows(drawing, result, name, wide)
    lens_left, lens_right = (200.0, 952.0) if wide else (56.0, 302.0)
    if result.lens is not None:
        top = _lens(drawing, result.lens, top + 2, lens_left, lens_right)
    rule, size = fitted(found.explanation.rule, width, 14, 10.5, mono=False)
    drawing.text(width / 2, top + 14, rule, size=size, fill="quiet", anchor="middle")
    drawing.resize(_roundings(drawing, result, top + 26, wide))
    return drawing


def _signs(name: str) -> list[str]:
    return ["", *SYMBOLS[name].split()]


def _formula(name: str, operands: Sequence[Operand]) -> str:
    texts = [minus(short(operand.value, 14, 8)) for operand in operands]
    return " ".join(f"{sign} {text}".strip() for sign, text in zip(_signs(name), texts, strict=True))


def _digit_rows(drawing: Drawing, result: Calculation, name: str, wide: bool) -> float:
    """Draw the operands, the exact result and the rounded one, their digits in columns of the same weights."""
    found = result.operation
    fmt, exact = found.format, digits_of_number(found.exact)
    rows: list[tuple[str, Value, int | None, bool]] = [
        (sign, operand.value, operand.code, False) for sign, operand in zip(_signs(name), result.operands, strict=True)
    ]
    rows += [("=", found.exact, None, False), ("→", found.value, found.code, True)]
    windows: list[Window | None] = [
        None if code is None or value.special else window_of(code, value, fmt) for _, value, code, _ in rows
    ]
    count, left, pitch, box = (27, 330.0, 23.0, 15.0) if wide else (20, 0.0, 17.0, 12.5)
    columns = columns_of([window for window in windows if window and window.first <= 1100], exact, count, count // 3)
    grid = DigitsGrid(left, pitch, columns, box, 24 if wide else 20)
    grid.headings(drawing, 36, 12)
    step, y = (36.0, 60.0) if wide else (44.0, 66.0)
    for (sign, value, _, is_result), window in zip(rows, windows, strict=True):
        if sign == "=":
            drawing.line(
                0, y - step / 2 - 6 * (not wide), WIDE if wide else NARROW, y - step / 2 - 6 * (not wide), "quiet"
            )
        text = f"{sign} {minus(short(value, 18, 10))}".strip()
        fill = "accent" if sign == "=" else "text"
        label, size = fitted(text, 200 if wide else 250, 15 if wide else 13, 10)
        drawing.text(0, y + 5 if wide else y - 17, label, size=size, fill=fill, bold=True, mono=True)
        word = {"=": "exact", "→": fmt.name}.get(sign, "")
        place = (WIDE, y + 5) if wide else (NARROW, y - 17)
        drawing.text(
            *place, word, size=min(13.5, 180 / max(text_width(word, 1, True), 1)), fill="quiet", anchor="end", mono=True
        )
        if value.special:
            drawing.badge(left + 40, y + 5, {"nan": "NaN", "inf": "Inf"}[value.special], value.special)
        elif window is None and exact is not None:
            grid.number(drawing, y, exact)
        elif window is not None:
            digits = exact if is_result else None
            changed = (
                changed_digits(window, digits) if digits and value.magnitude > found.exact.magnitude else frozenset()
            )
            grid.window(
                drawing,
                y,
                Window(window.sign, window.exponent, window.hidden, window.kept, window.last, changed),
                digits,
            )
            if wide and window.exponent and fmt.bits <= 32:
                strip = [
                    (field, bits) for field, bits in (("sign", window.sign), ("exponent", window.exponent)) if bits
                ]
                drawing.code(left - 10, y + 5, strip, size=13, anchor="end")
        y += step
    return y - step / 2


def _roundings(drawing: Drawing, result: Calculation, top: float, wide: bool) -> float:
    """Draw what every rounding makes of the exact result; a click chooses one. Return the bottom."""
    drawing.text(0, top + 14, "Every rounding of the exact result", size=15, bold=True)
    columns, gap = (len(result.rows), 8.0) if wide else (3, 6.0)
    width = ((WIDE if wide else NARROW) - gap * (columns - 1)) / columns
    fmt = result.operation.format
    for index, row in enumerate(result.rows):
        x, y = (width + gap) * (index % columns), top + 24 + 50 * (index // columns)
        value = "NaN" if row.value.special == "nan" else minus(apart(row.value, fmt)).replace("inf", "Inf")
        chance = "," in row.rounding
        cell = drawing.group(
            set=None if chance else f"rounding={row.rounding}", label=f"{row.rounding.replace('_', ' ')}: {value}"
        )
        cell.rect(x, y, width, 44, "soft" if row.is_chosen else "panel", radius=6,
                  stroke="accent" if row.is_chosen else None)  # fmt: skip
        name, size = fitted(row.rounding.replace("_", " "), width - 6, 13, 9.5, mono=False)
        cell.text(x + width / 2, y + 17, name, size=size, anchor="middle", bold=True)
        kind = row.value.special or ""
        text, size = fitted(value, width - 6, 14, 9.5)
        cell.text(
            x + width / 2, y + 35, text, size=size, anchor="middle", mono=True, fill=f"{kind}-text" if kind else "text"
        )
    return top + 24 + 50 * -(-len(result.rows) // columns)
