"""The pictures of Compare: ranges and digits of one number, and which values a format has of another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lowprec import Format
from lowprec.reference.exact_cast import Value
from lowprec.teaching import HeldValues

from ...shared.digits import Digits, Window, columns_of, log2, weight
from ...shared.digits_grid import DigitsGrid
from ...shared.range_bars import RangeBars
from ...shared.ranges import axis_of, minus, range_of
from ...shared.svg import NARROW, WIDE, Drawing, Shapes, fitted, text_width
from .view import Pair, Row, count_text, short_name

__all__ = ["held_narrow", "held_wide", "narrow", "wide"]

_ROW = 39
_DOTS_TOP, _DOTS_HEIGHT = 46, 152


def _named(shapes: Shapes, x: float, y: float, name: str, room: float, size: float, **more: Any) -> None:
    text, size = fitted(name, room, size, 11, mono=True)
    element = shapes.add("g", {})
    inner = Shapes(element)
    if text != name:
        inner.add("title", {}, name)
    inner.text(x, y, text, size=size, mono=True, **more)


def _number_text(text: str, room: int) -> str:
    shown = minus(" ".join(text.split()))
    return shown if len(shown) <= room else shown[: room - 1] + "…"


# ---- one number in several formats


def _code(shapes: Shapes, right: float, y: float, window: Window, fmt: Format, size: float) -> None:
    """Draw sign and exponent, with their right edge at x."""
    shown = [("sign", window.sign), ("exponent", window.exponent)]
    shapes.code(right, y + size * 0.36, [one for one in shown if one[1]], size=size, anchor="end")
    if not fmt.is_float and window.sign == "1":
        shapes.text(right - 24, y + 4, "two's complement", size=11.5, fill="quiet", anchor="end")


def _windows(rows: Sequence[Row]) -> list[Window]:
    return [row.window for row in rows if row.window]


def _label(text: str, rows: Sequence[Row]) -> str:
    found = "; ".join(f"{row.outcome.format.name} {row.value or row.error}" for row in rows)
    return f"Ranges of formats, and the digits of {_number_text(text, 40)} that each keeps: {found}"


def wide(text: str, x: Value, digits: Digits | None, rows: Sequence[Row]) -> Drawing:
    """Return the picture for a desk: range, digits and value of each format in a row."""
    bottom = 91 + _ROW * len(rows)
    drawing = Drawing(WIDE, bottom + 4, _label(text, rows))
    grid = DigitsGrid(574, 23, columns_of(_windows(rows), digits, 19, 8), 15, 25)
    drawing.text(132, 16, "range: what the exponent bits buy", size=15, fill="exponent-text", bold=True)
    drawing.text(grid.left + 75, 16, "digits: what the mantissa bits buy", size=15, fill="mantissa-text", bold=True)
    drawing.text(WIDE, 16, "value, error", size=15, anchor="end", bold=True)
    drawing.text(562, 37, "exponent", size=13, fill="exponent-text", anchor="end")
    drawing.text(503, 37, "sign", size=13, fill="sign-text", anchor="end")
    for index in range(len(rows) + 1):
        drawing.line(0, 91 + _ROW * index, WIDE, 91 + _ROW * index, "line")
    groups = _range_rows(drawing, x, rows, (142, 422), 42, 110.5, _ROW, 20)
    grid.headings(drawing, 37, 12.5)
    if 0 in grid.columns and -1 in grid.columns:
        drawing.line(grid.x(-1), 42, grid.x(-1), bottom, "quiet", dashed=True)
    x_text, size = fitted(f"x = {_number_text(text, 40)}", 128 if log2(x) is not None else 400, 17, 11)
    drawing.text(0, 75.5, x_text, size=size, fill="accent", bold=True, mono=True)
    if digits is not None:
        grid.number(drawing, 70, digits)
    if any(row.window and row.window.changed for row in rows):
        drawing.text(WIDE, 74.5, "underlined: rounded up", size=12, fill="quiet", anchor="end")
    for index, (row, group) in enumerate(zip(rows, groups, strict=True)):
        y, fmt = 110.5 + _ROW * index, row.outcome.format
        handle = _handle(group, fmt.name, index, len(rows), (0, y - 17, 132, 34))
        _named(handle, 12, y, fmt.name, 118, 14)
        handle.text(12, y + 14, range_of(fmt).reach, size=11.5, fill="exponent-text")
        if row.window is not None:
            _code(group, 562, y, row.window, fmt, 14)
            grid.window(group, y, row.window, digits)
        elif row.special:
            group.badge(grid.left + 30, y + 5, row.value, row.special)
        else:
            group.text(grid.left, y + 5, row.error, size=13, fill="quiet")
            continue
        value, size = fitted(row.value, 134, 14.5, 10.5)
        group.text(WIDE, y - 2, value, size=size, anchor="end", bold=True, mono=True)
        has_words = bool(row.outcome.losses)
        error, size = fitted(row.error, 138, 12.5, 10.5, mono=not has_words)
        group.text(WIDE, y + 14, error, size=size, fill="quiet", anchor="end", mono=not has_words)
    return drawing


def _handle(row: Shapes, name: str, index: int, count: int, box: tuple[float, float, float, float]) -> Shapes:
    """Return shapes by which a row is dragged to another place, in a box; dots at its left say so."""
    handle = row.group(
        sort=f"fmts={name}", role="slider", aria_label=f"Place of {name}", aria_orientation="vertical",
        aria_valuemin=1, aria_valuemax=count, aria_valuenow=index + 1, tabindex="-1",
    )  # fmt: skip
    handle.add("title", {}, "Drag to another place")
    handle.rect(*box, "page")
    x, y = box[0] + 1.5, box[1] + box[3] / 2 - 4
    handle.path("".join(f"M{x + right:g} {y + down:g}h0" for right in (0, 4) for down in (0, 4, 8)), stroke="frame",
                width=2, stroke_linecap="round")  # fmt: skip
    return handle


def _range_rows(
    drawing: Drawing, x: Value, rows: Sequence[Row], ends: tuple[float, float], top: float, first: float, step: float,
    height: float,
) -> list[Shapes]:  # fmt: skip
    """Draw the range of each format and where the number lies; return a group for each row."""
    ranges, place = [range_of(row.outcome.format) for row in rows], log2(x)
    bars = RangeBars(drawing, axis_of(ranges, place, 6), *ends, size=13 if height == 20 else 12)
    bars.decades(top, first + step * len(rows) - step / 2)
    at = None if place is None else bars.x(place)
    if at is not None:
        drawing.line(at, top, at, first - step / 2, "accent", width=2)
    worded, groups = False, []
    for index, (one, row) in enumerate(zip(ranges, rows, strict=True)):
        group, y = drawing.group(), first + step * index
        replace(bars, shapes=group).bar(one, y, height, not worded, at)
        worded = worded or one.normal > one.smallest
        if at is not None:
            group.line(at, y - step / 2, at, y + step / 2, "accent", width=2)
            group.circle(at, y, 4, "accent" if row.is_inside else "page", stroke="accent")
        groups.append(group)
    return groups


def narrow(text: str, x: Value, digits: Digits | None, rows: Sequence[Row]) -> Drawing:
    """Return the picture for a telephone: first the ranges, then the digits."""
    count = len(rows)
    start = 30 + 25 * count
    drawing = Drawing(NARROW, start + 50 + 49 * count, _label(text, rows))
    for index, group in enumerate(_range_rows(drawing, x, rows, (82, 350), 18, 34.5, 25, 17)):
        name = rows[index].outcome.format.name
        handle = _handle(group, name, index, count, (0, 22.5 + 25 * index, 80, 24))
        _named(handle, 12, 39 + 25 * index, short_name(name), 66, 13)
    grid = DigitsGrid(121, 17.1, columns_of(_windows(rows), digits, 13, 2), 13, 21)
    grid.headings(drawing, start + 13, 11.5)
    x_text, size = fitted(f"x = {_number_text(text, 40)}", 118 if digits else 350, 15, 10.5)
    drawing.text(0, start + 37, x_text, size=size, fill="accent", bold=True, mono=True)
    if digits is not None:
        grid.number(drawing, start + 32, digits)
    for index, row in enumerate(rows):
        top = start + 46 + 49 * index
        drawing.line(0, top, NARROW, top, "line")
        _named(drawing, 0, top + 16, row.outcome.format.name, 210, 13)
        if row.window is not None:
            _code(drawing, 115, top + 33, row.window, row.outcome.format, 12)
            grid.window(drawing, top + 33, row.window, digits)
        elif row.special:
            drawing.badge(grid.left + 30, top + 37, row.value, row.special, size=12)
        else:
            note, size = fitted(row.error, NARROW, 12, 10.5, mono=False)
            drawing.text(0, top + 36, note, size=size, fill="quiet")
            continue
        value, size = fitted(row.value, 146, 13.5, 10.5)
        drawing.text(NARROW, top + 16, value, size=size, anchor="end", bold=True, mono=True)
    return drawing


# ---- which values of a format another one has


def held_wide(table: Sequence[Sequence[HeldValues]], pair: Pair) -> Drawing:
    """Return the picture for a desk: on the left how many values, on the right those of the chosen pair."""
    count = len(table)
    cell = max(min(57.0, 480 / count), 40.0)
    names = 80 if count <= 7 else 92
    height = max(62 + 26 * count, _DOTS_TOP + _DOTS_HEIGHT + 78)
    left = max(names + cell * count + 48, 400)
    drawing = Drawing(WIDE, height, _held_label(pair))
    drawing.text(0, 17, "How many values of a row does a column hold?", size=17, bold=True)
    _matrix(drawing, table, pair, (0, 40), names, cell, 26)
    _pair(drawing, pair, left, WIDE, 17)
    return drawing


def held_narrow(table: Sequence[Sequence[HeldValues]], pair: Pair) -> Drawing:
    """Return the picture for a telephone: the chosen pair, the matrix below it."""
    count, names = len(table), 66
    top = _DOTS_TOP + _DOTS_HEIGHT + 110
    drawing = Drawing(NARROW, top + 44 + 26 * count, _held_label(pair))
    _pair(drawing, pair, 0, NARROW, 17)
    drawing.text(0, top, "How many values of a row does a column hold?", size=15, bold=True)
    _matrix(drawing, table, pair, (0, top + 30), names, (NARROW - names) / count, 26)
    return drawing


def _held_label(pair: Pair) -> str:
    return f"{pair.values.source.name} in {pair.values.target.name}: {pair.title}"


def _matrix(
    drawing: Drawing, table: Sequence[Sequence[HeldValues]], pair: Pair, corner: tuple[float, float], names: float,
    cell: float, pitch: float,
) -> None:  # fmt: skip
    """Draw a cell for each pair: the count, and a bar as long as the share; a click chooses it."""
    left, top = corner[0] + names, corner[1]
    is_staggered = any(text_width(short_name(row[0].source.name), 11.5, mono=True) > cell for row in table)
    for index, row in enumerate(table):
        name = short_name(row[index].source.name)
        _named(drawing, corner[0], top + pitch * index + 27, name, names - 4, 13)
        text, size = fitted(name, cell * (1 + is_staggered) - 1, 11.5, 10.5)
        shown = drawing.group(label=name) if text != name else drawing
        y = top + 4 - 11 * (is_staggered and index % 2)
        shown.text(left + cell * (index + 0.5), y, text, size=size, fill="quiet", anchor="middle", mono=True)
    for index, row in enumerate(table):
        for column, found in enumerate(row):
            _cell(drawing, found, pair, left + cell * column, top + pitch * index + 10, cell - 2, pitch - 2)


def _cell(drawing: Drawing, found: HeldValues, pair: Pair, x: float, y: float, width: float, height: float) -> None:
    is_self, is_all = found.source == found.target, found.held == found.numbers
    label = f"{found.source.name} in {found.target.name}: {count_text(found.held)} of {count_text(found.numbers)}"
    chosen = None if is_self else f"pair={found.source.name},{found.target.name}"
    shapes = drawing.group(set=chosen, label=label)
    shapes.rect(x, y, width, height, "held" if is_all and not is_self else "panel", radius=2)
    if not is_all and found.held:
        shapes.rect(x, y, width * found.held / found.numbers, height, "mantissa", radius=2)
    if (found.source, found.target) == (pair.values.source, pair.values.target):
        shapes.rect(x, y, width, height, "none", radius=3, stroke="accent", stroke_width=2.5)
    text = count_text(found.held)
    size = min(12.5, 12.5 * (width - 1) / text_width(text, 12.5, mono=True))
    if size >= 10:
        fill = "quiet" if is_self else "mantissa-text"
        shapes.text(x + width / 2, y + height / 2 + 4.5, text, size=size, fill=fill, anchor="middle", mono=True,
                    bold=is_all and not is_self)  # fmt: skip


def _pair(drawing: Drawing, pair: Pair, left: float, right: float, size: float) -> None:
    """Draw the chosen pair between two x."""
    found = pair.values
    title = f"{short_name(found.source.name)} in {short_name(found.target.name)}: {pair.title}"
    text, size = fitted(title, right - left, size, 12, mono=False)
    drawing.text(left, 17, text, size=size, bold=True)
    (_dots if pair.dots else _bars)(drawing, pair, left, right)
    base = _DOTS_TOP + _DOTS_HEIGHT + 42
    marks, counted = (("held exactly", "rounded to a neighbour"), "a column is a binade")
    if not pair.dots:
        marks, counted = ("held exactly", "all values"), "a column is a binade, its height counts values"
    x = left + 44 if right - left > 500 else left
    for index, mark in enumerate(marks):
        if pair.dots:
            drawing.circle(
                x + 5, base - 5, 5, "page" if index else "mantissa-text", stroke="mantissa-text", stroke_width=1.6
            )
        else:
            drawing.rect(x, base - 11, 11, 11, "page" if index else "mantissa-text", stroke="mantissa-text")
        drawing.text(x + 17, base, mark, size=14)
        x += 17 + text_width(mark, 14) + 20
    lines = [f"positive values; {counted}", pair.others]
    if right - left > 500:
        drawing.text(right, base, lines[0], size=12.5, fill="quiet", anchor="end")
    else:
        drawing.text(left, base + 18, lines[0], size=12, fill="quiet")
    note, size = fitted(lines[1], right - left, 13, 10.5, mono=False)
    drawing.text(left, base + (20 if right - left > 500 else 36), note, size=size, fill="quiet")


def _columns(drawing: Drawing, pair: Pair, left: float, right: float) -> float:
    """Draw the weights below the columns of binades, and behind them the subnormals; return a column's width."""
    exponents = [one.exponent for one in pair.binades]
    pitch, bottom = (right - left) / len(exponents), _DOTS_TOP + _DOTS_HEIGHT
    normal = range_of(pair.values.source).normal
    subnormals = sum(exponent < normal for exponent in exponents) if pair.values.source.is_float else 0
    if subnormals:
        drawing.rect(left, _DOTS_TOP - 10, pitch * subnormals, _DOTS_HEIGHT + 10, "subnormal", opacity=0.55)
        if pitch * subnormals > 60:
            drawing.text(left + 5, _DOTS_TOP + 4, "subnormal", size=12.5 if right - left > 500 else 11,
                         fill="subnormal-text")  # fmt: skip
    step = next(step for step in (1, 3, 6, 12, 24, 48, 96, 192, 384) if pitch * step >= 46)
    last = exponents[-1]
    for index, exponent in enumerate(exponents):
        if exponent % step == 0 or (exponent == last and pitch * (last % step) >= 40 and pitch < 100):
            x = left + pitch * (index + 0.5)
            drawing.text(x, bottom + 18, weight(exponent), size=13, fill="quiet", anchor="middle")
    return pitch


def _dots(drawing: Drawing, pair: Pair, left: float, right: float) -> None:
    """Draw a dot for each value: held ones filled, the others open."""
    mantissa = pair.values.source.mantissa_bits
    places = 2**mantissa
    step = _DOTS_HEIGHT / max(places, 1)
    bottom, start = _DOTS_TOP + _DOTS_HEIGHT, left + (44 if mantissa else 0)
    right -= 6 * bool(pair.special) * (right - left < 500)
    pitch = _columns(drawing, pair, start, right)
    radius = max(min(5.0, step / 2 - 1, pitch / 2 - 1), 2.2)
    first = pair.binades[0].exponent
    for place in range(places):
        y = bottom - step * (place + 0.5)
        if mantissa:
            drawing.text(left + 34, y + 4.5, f"{place:0{mantissa}b}", size=min(13, step * 1.2), fill="mantissa-text",
                         anchor="end", mono=True)  # fmt: skip
    for dot in pair.dots:
        x, y = start + pitch * (dot.exponent - first + 0.5), bottom - step * (dot.place + 0.5)
        shapes = drawing.group()
        shapes.add("title", {}, dot.text)
        shapes.circle(
            x, y, radius, "mantissa-text" if dot.is_held else "page", stroke="mantissa-text", stroke_width=1.6
        )
    for place, name in pair.special:
        x, y = start + pitch * (len(pair.binades) - 0.5), bottom - step * (place + 0.5)
        size = 12 if pitch > 24 else 10.5
        drawing.text(min(x, right - 5), y + 4, name, size=size, fill=f"{name.lower()}-text",
                     anchor="middle", bold=True)  # fmt: skip


def _bars(drawing: Drawing, pair: Pair, left: float, right: float) -> None:
    """Draw for each binade how many values it has, and how many are held, on a logarithmic scale."""
    most = max(one.values for one in pair.binades)
    levels = math.log2(most) + 1
    bottom, start = _DOTS_TOP + _DOTS_HEIGHT, left + 44
    for level in range(0, int(levels), max(1, round(levels / 5))):
        y = bottom - _DOTS_HEIGHT * (level + 1) / levels
        drawing.line(start, y, right, y, "line")
        drawing.text(
            start - 8,
            y + 4.5,
            count_text(2**level) if level <= 10 else f"2^{level}",
            size=12,
            fill="mantissa-text",
            anchor="end",
            mono=True,
        )
    pitch = _columns(drawing, pair, start, right)
    counted = [one.values for one in pair.binades], [one.held for one in pair.binades]
    for counts, fill in zip(counted, ("none", "mantissa-text"), strict=True):
        heights = [_DOTS_HEIGHT * (math.log2(count) + 1) / levels if count else 0.0 for count in counts]
        d = f"M{start:.2f} {bottom}"
        for index, height in enumerate(heights):
            d += f"V{bottom - height:.1f}H{start + pitch * (index + 1):.2f}"
        drawing.path(f"{d}V{bottom}z", fill=fill, stroke="mantissa-text", width=1.2 if fill == "none" else 0)
