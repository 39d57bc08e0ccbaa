"""The drawing of Quantize: a tensor and its settings as pictures, what is between the values, and other scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...shared import theme
from ...shared.svg import NARROW, WIDE, Drawing, Shapes, text_width
from .columns_view import Area, Column, Curve, Histogram, Point, Window
from .pixels import GRAYS, SIGNED, levels, png

__all__ = ["About", "narrow", "wide"]

_LENS_ROWS, _LENS_COLUMNS = 14, 32
_FRAME = theme.ACCENT[1]
"""The accent of the dark scheme: pictures are dark in both."""

_HISTOGRAM, _CURVE = 112, 156
"""Their heights."""

_BETWEEN = "Grey: the numbers, each divided by the scale of its block. Blue: the values of the format."
_OTHER = (
    "The block in the purple frame: its error{unit}. At 1 its largest number becomes the largest value. "
    "Dots: the scales that the format has."
)
_ERRORS = "Error: orange is too small, blue too large, black exact."


@dataclass(frozen=True, slots=True)
class About:
    """What the drawing says of the tensor: its title, the line below, what its errors are in; picture or error."""

    title: str
    detail: str
    unit: str
    shows_errors: bool


def figure(number: float) -> str:
    """Return a number in three digits, with a minus sign where it has one."""
    return f"{number:.3g}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−")


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "< 1%"


def wide(window: Window, columns: Sequence[Column], about: About) -> Drawing:
    """Return the drawing for a desk: a column for the tensor and one for each setting."""
    count = max(4, len(columns) + 1)
    width = min(256.0, (WIDE - 24 * (count - 1)) / count)
    step = (WIDE - width) / (count - 1)
    picture = width * 9 / 16
    tall = 48 + picture + (8 + width * _LENS_ROWS / _LENS_COLUMNS if _has_lens(window.area) else 0)
    drawing = Drawing(WIDE, tall + 16 + _HISTOGRAM + 8 + _CURVE + 4, _label(columns, about))
    scale = _scale(window, columns)
    top = _top(columns)
    _head(drawing, 0, 0, width, about.title, about.detail)
    _pictures(drawing, 0, 48, width, window, None, about, scale)
    below = tall + 16
    _say(drawing, 0, below + 14, width, "Between which values?", _BETWEEN)
    _say(drawing, 0, below + _HISTOGRAM + 22, width, "One block, other scales", _OTHER.format(unit=about.unit))
    if about.shows_errors:
        _lines(drawing, 0, below + _HISTOGRAM + 146, width, _ERRORS, 13)
    for place, column in enumerate(columns, 1):
        x = place * step
        _head(drawing, x, 0, width, _name(column, columns), *_figures(column))
        _pictures(drawing, x, 48, width, window, column, about, scale)
        _histogram(drawing, x, below, width, column.histogram)
        _curve(drawing, x, below + _HISTOGRAM + 8, width, column, top)
    return drawing


def narrow(window: Window, columns: Sequence[Column], about: About) -> Drawing:
    """Return the drawing for a telephone: two pictures in a row, then what is below them, one after the other."""
    width, gap = 172.0, 14.0
    picture = width * 9 / 16
    tall = 46 + picture + (6 + width * _LENS_ROWS / _LENS_COLUMNS if _has_lens(window.area) else 0) + 18
    rows = math.ceil((len(columns) + 1) / 2)
    part = 30 + _HISTOGRAM + 8 + _CURVE + 14
    drawing = Drawing(NARROW, rows * tall + len(columns) * part, _label(columns, about))
    scale, top = _scale(window, columns), _top(columns)
    for place, column in enumerate([None, *columns]):
        x, y = place % 2 * (width + gap), place // 2 * tall
        figures = (about.detail,) if column is None else _figures(column)
        _head(drawing, x, y, width, about.title if column is None else _name(column, columns), *figures, size=15)
        _pictures(drawing, x, y + 46, width, window, column, about, scale)
    for place, column in enumerate(columns):
        y = rows * tall + place * part
        _fitted(drawing, 0, y + 16, NARROW, f"{column.label}: between which values?", 16, bold=True)
        _histogram(drawing, 0, y + 30, NARROW, column.histogram)
        _curve(drawing, 0, y + 30 + _HISTOGRAM + 8, NARROW, column, top)
    return drawing


def _label(columns: Sequence[Column], about: About) -> str:
    names = "; ".join(f"{column.title}, {_figures(column)[1]}" for column in columns)
    return f"{about.title[0].upper()}{about.title[1:]}, and what it becomes in {names}"


def _name(column: Column, columns: Sequence[Column]) -> str:
    """Return the title of a column, or its label where another one has the same."""
    return column.title if [one.title for one in columns].count(column.title) == 1 else column.label


def _figures(column: Column) -> tuple[str, str]:
    ratio = column.sqnr_db
    loss = f"{ratio:.1f} dB".replace("-", "−") if math.isfinite(ratio) else "no error" if ratio > 0 else "no SQNR"
    bits = f"{column.bits_per_value:.2f}".rstrip("0").rstrip(".")
    return f"{bits} bits, ", loss


def _fitted(shapes: Shapes, x: float, y: float, width: float, text: str, size: float, *, bold: bool = False) -> None:
    shapes.text(x, y, text, size=min(size, size * width / text_width(text, size)), bold=bold)


def _head(shapes: Shapes, x: float, y: float, width: float, title: str, *texts: str, size: float = 17) -> None:
    _fitted(shapes, x, y + 17, width, title, size, bold=True)
    line = shapes.text(x, y + 37, texts[0], size=14, fill="quiet")
    if len(texts) > 1:
        bold = Shapes(line).add("tspan", {"font-weight": 600, "fill": "var(--lp-text)"}, texts[1])
        bold.tail = None


def _say(shapes: Shapes, x: float, y: float, width: float, title: str, text: str) -> None:
    shapes.text(x, y, title, size=15, bold=True)
    _lines(shapes, x, y + 21, width, text, 14.5)


def _lines(shapes: Shapes, x: float, y: float, width: float, text: str, size: float) -> None:
    """Write a text in lines."""
    line = ""
    for word in text.split():
        if line and text_width(f"{line} {word}", size) > width * 1.06:
            shapes.text(x, y, line, size=size, fill="quiet")
            line, y = "", y + size * 1.36
        line = f"{line} {word}".strip()
    shapes.text(x, y, line, size=size, fill="quiet")


# ---- pictures


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    error: float


def _largest(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    found = values[np.isfinite(values)]
    return float(np.abs(found).max(initial=0))


def _scale(window: Window, columns: Sequence[Column]) -> _Scale:
    high = _largest(window.values)
    low = -high if (window.values < 0).any() else 0.0
    return _Scale(low, high, max((_largest(column.error) for column in columns), default=0.0))


def _has_lens(area: Area) -> bool:
    return area.rows > _LENS_ROWS or area.columns > _LENS_COLUMNS


def _lens(window: Window) -> Area:
    """Return the rows and columns around the chosen element that the lens shows."""
    area = window.area
    rows, columns = min(_LENS_ROWS, area.rows), min(_LENS_COLUMNS, area.columns)
    top = min(max(window.row - area.top - rows // 2, 0), area.rows - rows)
    left = min(max(window.column - area.left - columns // 2, 0), area.columns - columns)
    return Area(top, left, rows, columns)


def _pictures(
    shapes: Shapes, x: float, y: float, width: float, window: Window, column: Column | None, about: About, scale: _Scale
) -> None:
    """Draw a window of the tensor, or of a setting, and below it the lens, with the block of the chosen element."""
    if column is not None and about.shows_errors:
        pixels, palette = levels(column.error, -scale.error, scale.error), SIGNED
    else:
        pixels = levels(window.values if column is None else column.values, scale.low, scale.high)
        palette = GRAYS
    area, tall = window.area, width * 9 / 16
    cell = min(width / area.columns, tall / area.rows)
    name = about.title if column is None else column.title
    whole = Area(0, 0, area.rows, area.columns)
    _image(shapes, (x, y, cell), png(pixels, palette), whole, window, name, column is None)
    if not _has_lens(area):
        _block(shapes, x, y, cell, whole, window, column)
        return
    lens = _lens(window)
    _frame(shapes, x + lens.left * cell, y + lens.top * cell, lens.columns * cell, lens.rows * cell)
    below = y + tall + (8 if width > 200 else 6)
    size = width / _LENS_COLUMNS
    part = pixels[lens.top : lens.top + lens.rows, lens.left : lens.left + lens.columns]
    _image(shapes, (x, below, size), png(part, palette), lens, window, f"{name}, enlarged", False)
    _block(shapes, x, below, size, lens, window, column)


def _image(
    shapes: Shapes,
    place: tuple[float, float, float],
    address: str,
    area: Area,
    window: Window,
    name: str,
    is_first: bool,
) -> None:
    """Draw the pixels of an area, at a place by x, y and the size of a cell, and let one choose an element.

    The first of the drawing's images is the one that is reached by the Tab key.
    """
    x, y, cell = place
    size = {"x": float(x), "y": float(y), "width": area.columns * cell, "height": area.rows * cell}
    shapes.add("image", {**size, "href": address, "preserveAspectRatio": "none", "image-rendering": "pixelated"})
    first = f"{window.area.top + area.top},{window.area.left + area.left}"
    grid = f"at={area.rows},{area.columns},{first},{window.row},{window.column}"
    label = f"{name}: row {window.row}, column {window.column}; the arrow keys go on"
    acts = {"grid": grid, "role": "button", "aria-label": label, "tabindex": 0 if is_first else -1}
    shapes.add("rect", {**size, "fill": "transparent", **acts})


def _frame(shapes: Shapes, x: float, y: float, width: float, height: float, stroke_width: float = 2) -> None:
    size = {"x": float(x), "y": float(y), "width": float(width), "height": float(height)}
    style = {"fill": "none", "stroke": _FRAME, "stroke-width": stroke_width, "pointer-events": "none"}
    shapes.add("rect", {**size, **style})


def _block(shapes: Shapes, x: float, y: float, cell: float, area: Area, window: Window, column: Column | None) -> None:
    """Draw the chosen element, or the frame of its block and where the blocks of a setting begin."""
    top, left = window.area.top + area.top, window.area.left + area.left
    right, bottom = x + area.columns * cell, y + area.rows * cell
    if column is None:
        _frame(shapes, x + (window.column - left) * cell, y + (window.row - top) * cell, cell, cell)
        return
    edge = {"stroke": "#ffffff", "stroke-opacity": 0.55, "stroke-dasharray": "3 3", "pointer-events": "none"}
    for place in column.block_columns:
        if 0 < place - area.left < area.columns:
            at = x + (place - area.left) * cell
            shapes.add("line", {"x1": at, "x2": at, "y1": float(y), "y2": float(bottom), **edge})
    for place in column.block_rows:
        if 0 < place - area.top < area.rows:
            at = y + (place - area.top) * cell
            shapes.add("line", {"y1": at, "y2": at, "x1": float(x), "x2": float(right), **edge})
    block = column.block
    d = _edges(block.top - top, block.left - left, block, area, x, y, cell)
    shapes.add("path", {"d": d, "fill": "none", "stroke": _FRAME, "stroke-width": 2.5, "pointer-events": "none"})


def _edges(top: int, left: int, block: Area, area: Area, x: float, y: float, cell: float) -> str:
    """Return the frame of a block as a path; a side that lies outside the area is not drawn."""
    x1, x2 = x + max(left, 0) * cell, x + min(left + block.columns, area.columns) * cell
    y1, y2 = y + max(top, 0) * cell, y + min(top + block.rows, area.rows) * cell
    sides = []
    if top >= 0:
        sides.append(f"M{x1:.2f} {y1:.2f}H{x2:.2f}")
    if top + block.rows <= area.rows:
        sides.append(f"M{x1:.2f} {y2:.2f}H{x2:.2f}")
    if left >= 0:
        sides.append(f"M{x1:.2f} {y1:.2f}V{y2:.2f}")
    if left + block.columns <= area.columns:
        sides.append(f"M{x2:.2f} {y1:.2f}V{y2:.2f}")
    return "".join(sides) or f"M{x1:.2f} {y1:.2f}"


# ---- what is between the values, and other scales


def _histogram(shapes: Shapes, x: float, y: float, width: float, found: Histogram) -> None:
    """Draw how many numbers lie where between the values of the format."""
    left, right, base = x + 8, x + width - 12, y + 86.0
    low, high = found.edges[0], found.edges[-1]

    def at(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    most = max(found.counts) or 1
    bars: dict[bool, list[str]] = {False: [], True: []}
    for first, last, count in zip(found.edges, found.edges[1:], found.counts, strict=False):
        if count:
            tall, wide_ = max(1.0, 78 * count / most), at(last) - at(first) - 0.8
            bars[first >= found.largest or last <= found.lowest].append(
                f"M{at(first) + 0.4:.1f} {base:.0f}v-{tall:.1f}h{wide_:.1f}v{tall:.1f}z"
            )
    for is_beyond, parts in bars.items():
        if parts:
            shapes.path("".join(parts), fill="nan-text" if is_beyond else "frame")
    lines: list[float] = []
    labels: list[tuple[float, float, str]] = []
    for value in sorted(found.values, key=abs):
        place = at(value)
        if all(abs(place - other) >= 2.4 for other in lines):
            lines.append(place)
        text = figure(value)
        half = text_width(text, 13, mono=True) / 2 + 3
        if all(abs(place - other) >= half + others for other, others, _ in labels):
            labels.append((place, half, text))
    shapes.path(
        "".join(f"M{place:.1f} {base + 5:.0f}V{y + 4:.0f}" for place in lines), stroke="mantissa-text", width=1.6
    )
    shapes.line(x + 2, base, x + width - 2, base, "text")
    for place, _, text in labels:
        shapes.text(place, base + 20, text, size=13, fill="mantissa-text", anchor="middle", bold=True, mono=True)
    if found.beyond:
        sign = f"beyond ±{figure(found.largest)}" if low < 0 else f"> {figure(found.largest)}"
        shapes.text(
            x + width - 3, y + 15, f"{_percent(found.beyond)} {sign}", size=13, fill="nan-text", anchor="end", bold=True
        )


def _top(columns: Sequence[Column]) -> float:
    """Return the distance of two lines of the error's axis: two of them and a bit are drawn."""
    most = max((max(column.block_error, column.curve.best.error) for column in columns if column.curve), default=0.0)
    if not most:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most / 2))
    return next(factor * power for factor in (1, 2, 5, 10) if 2.1 * factor * power >= most)


def _curve(shapes: Shapes, x: float, y: float, width: float, column: Column, step: float) -> None:
    """Draw the error of the block at other scales, with that of the setting and the best."""
    found = column.curve
    if found is None:
        shapes.text(x + 8, y + 14, f"error of the block {figure(column.block_error)}", size=14, bold=True)
        shapes.text(x + 8, y + 34, "Its scale has no other to compare.", size=13, fill="quiet")
        return
    left, right, top, base = x + 26.0, x + width - 9, y + 28.0, y + 136.0

    def at(point: Point) -> tuple[float, float]:
        share = (math.log2(point.ratio) + 1) / 2
        return left + share * (right - left), base - point.error / (2.4 * step) * (base - top)

    for place in range(3):
        level = base - place / 2.4 * (base - top)
        shapes.line(left, level, right + 9, level, "line")
        shapes.text(left - 5, level + 4, figure(place * step), size=12, fill="quiet", anchor="end", mono=True)
    for text, ratio in (("½", 0.5), ("1", 1.0), ("2", 2.0)):
        shapes.text(at(Point(ratio, 0))[0], base + 16, text, size=13, fill="quiet", anchor="middle")
    run: list[tuple[float, float]] = []
    stroke = "frame" if found.allowed else "mantissa-text"
    for point in (*found.line, None):
        if point is not None and at(point)[1] >= top:
            run.append(at(point))
        elif len(run) > 1:
            shapes.curve(run, stroke, width=2.2)
            run = []
        else:
            run = []
    for dot in found.allowed:
        if at(dot)[1] >= top:
            shapes.circle(*at(dot), 3, "mantissa-text")
    is_best = found.best.error >= found.chosen.error
    _marks(shapes, at, top, found, is_best)
    shapes.circle(x + 8, y + 8, 5.5, "page", stroke="text", stroke_width=2.5)
    rule = f"{found.rule} {figure(found.chosen.error)}"
    shapes.text(x + 19, y + 13, rule, size=14, bold=True)
    right_text = x + 19 + text_width(rule, 14) * 1.08 + 26
    shapes.circle(right_text, y + 8, 6, "accent")
    best = "the best, too" if is_best else f"best {figure(found.best.error)}"
    shapes.text(right_text + 11, y + 13, best, size=14, bold=True, fill="accent")


def _marks(shapes: Shapes, at: Callable[[Point], tuple[float, float]], top: float, found: Curve, is_best: bool) -> None:
    """Draw the scale of the setting as a ring, the best one as a dot."""
    if 0.5 <= found.chosen.ratio <= 2 and at(found.chosen)[1] >= top - 8:
        shapes.circle(*at(found.chosen), 6.5, "page", stroke="text", stroke_width=2.5)
        if is_best:
            shapes.circle(*at(found.chosen), 3, "accent")
    if not is_best:
        shapes.circle(*at(found.best), 6.5, "accent")
