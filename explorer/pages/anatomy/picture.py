"""The pictures of Anatomy: a code's bits, formula, value and neighbours with a map of all codes; the table of codes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from lowprec import Format
from lowprec.spec.formats import Kind

from ...shared import theme
from ...shared.code_table import CELL_COLOURS, number_text
from ...shared.codes import Anatomy, columns, has_binades
from ...shared.codes import fields as bit_fields
from ...shared.interaction import Bits, PartTexts
from ...shared.numbers import code_text, short
from ...shared.svg import NARROW, WIDE, Drawing, Shapes, text_width
from . import view

__all__ = ["bits", "code", "has_map"]

_PARTS = tuple(one.name for one in fields(view.CodeTexts))[:-1]
_KINDS = tuple(theme.CLASSES)
_WORDS = {"nan": "NaN", "inf": "Inf"}
_GAP, _MAP_LEFT, _MAP_TOP = 8, 672, 30
_LONGEST_VALUE = 26


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things stand in one of the two drawings."""

    width: float
    block: float
    box: float
    in_a_row: int
    value_size: float
    formula_size: float
    small: float
    is_wide: bool


def has_map(fmt: Format) -> bool:
    """Whether a picture has a map of the format: of its codes or, up to 16 bits, of its binades."""
    return (1 < fmt.bits <= 8 and fmt.kind is not Kind.BOOL) or has_binades(fmt)


def bits(anatomy: Anatomy) -> Bits:
    """Return the bits of a code as switches, with the texts of the codes around it."""
    fmt, table = anatomy.format, view.text_table(anatomy.code, anatomy.format)
    names = (*_PARTS, *(f"formula {index}" for index in range(len(view.formula_slots(fmt)))), "typed")
    rows = [(*(getattr(row, name) for name in _PARTS), *row.formula, "") for row in table.rows]
    by_part = dict(zip(names, zip(*rows, strict=True), strict=True))
    same = [name for name, texts in by_part.items() if len(set(texts)) == 1]
    different = [name for name in names if name not in same]
    first, prefix = table.first_bit, table.prefix
    tables = [
        PartTexts(first, first, same, [[by_part[name][0] for name in same]], prefix),
        PartTexts(first, fmt.bits, different, list(zip(*(by_part[name] for name in different), strict=True)), prefix),
    ]
    return Bits("at", f"{anatomy.code:0{fmt.bits}b}", tables=[one for one in tables if one.parts])


def code(anatomy: Anatomy) -> tuple[Drawing, Drawing]:
    """Return the picture of a code, wide and narrow."""
    fmt = anatomy.format
    block = WIDE if not has_map(fmt) else _MAP_LEFT - 64
    fits = min(60.0, (block - _GAP * (len(anatomy.fields) - 1)) / fmt.bits)
    across = 8 if fmt.bits <= 16 else 16
    room = NARROW - _GAP * 2
    narrow_box = min(44.0, room / min(fmt.bits, across))
    longest = (
        max(len(row.value) for row in view.text_table(anatomy.code, fmt).rows) if fmt.bits <= 8 else _LONGEST_VALUE
    )
    slots = sum(len(part.text) for part in view.formula_slots(fmt)) + 3 + len(str(1 << fmt.mantissa_bits))
    wide = _Layout(WIDE, block, fits, fmt.bits, min(38, block / text_width("=" * (longest + 2), 1, True)),
                   min(22, block / text_width("=" * slots, 1, True)), 14, True)  # fmt: skip
    narrow = _Layout(NARROW, NARROW, narrow_box, across, min(30, NARROW / text_width("=" * (longest + 2), 1, True)),
                     max(10.2, min(18, NARROW / text_width("=" * slots, 1, True))), 12.5, False)  # fmt: skip
    return _draw(anatomy, wide), _draw(anatomy, narrow)


def _draw(anatomy: Anatomy, layout: _Layout) -> Drawing:
    fmt = anatomy.format
    table = view.text_table(anatomy.code, fmt)
    texts = table.rows[anatomy.code - int(f"{table.prefix}{'0' * (fmt.bits - table.first_bit)}", 2)]
    code_line = f"{fmt.name} {code_text(anatomy.code, fmt)}: bits {anatomy.code:0{fmt.bits}b}"
    label = f"{code_line}, {texts.kind}, {texts.equals}{texts.value}"
    drawing = Drawing(layout.width, 0, label)
    y = _bit_rows(drawing, anatomy, layout)
    y = _value(drawing, anatomy, texts, layout, y)
    y = _number_line(drawing, fmt, texts, layout, y)
    if has_map(fmt):
        left, top = (_MAP_LEFT, 0.0) if layout.is_wide else (0.0, y + 24)
        y = max(y, _map(drawing, anatomy, left, top, layout))
    drawing.resize(y + 8)
    return drawing


def _bit_rows(drawing: Shapes, anatomy: Anatomy, layout: _Layout) -> float:
    """Draw the bits, a part of a field in each row that it reaches; return the y below."""
    fmt, y = anatomy.format, 2.0
    height = min(56.0, max(28.0, layout.box * 1.1))
    for first in range(0, fmt.bits, layout.in_a_row):
        last = min(first + layout.in_a_row, fmt.bits)
        parts = [
            replace(field, first=max(field.first, first), last=min(field.last, last),
                    bits=field.bits[max(first - field.first, 0) : max(last - field.first, 0)])
            for field in bit_fields(anatomy.code, fmt)
            if field.first < last and field.last > first
        ]  # fmt: skip
        drawing.bits(
            0, y, [(part.name, part.bits) for part in parts], box=layout.box, height=height, between=_GAP,
            size=min(28.0, layout.box * 0.6), labels=[part.label for part in parts], switches=True,
            first=first, total=fmt.bits,
        )  # fmt: skip
        y += height + 30
    return y


def _value(drawing: Shapes, anatomy: Anatomy, texts: view.CodeTexts, layout: _Layout, y: float) -> float:
    """Draw formula, value, class and code; return the y below."""
    fmt, size = anatomy.format, layout.formula_size
    y += size + 4
    line = Shapes(drawing.text(0, y, "", size=size, mono=True, xml_space="preserve"))
    raised = False
    for index, (part, text) in enumerate(zip(view.formula_slots(fmt), texts.formula, strict=True)):
        shift = size * 0.4 * (raised - part.is_exponent)
        line.add("tspan", {
            "part": f"formula {index}", "dy": float(shift) if shift else None,
            "font-size": round(size * 0.7, 1) if part.is_exponent else None,
            "fill": f"var(--lp-{part.field}-text)" if part.field else None, "font-weight": 600 if part.field else None,
        }, text)  # fmt: skip
        raised = part.is_exponent
    drawing.text(0, y, texts.sentence, size=min(size, 18), part="sentence")
    y += layout.value_size + 12
    line = Shapes(drawing.text(0, y, "", size=layout.value_size, mono=True, bold=True, xml_space="preserve"))
    for name in ("equals", "value"):
        line.add("tspan", {"part": name}, getattr(texts, name))
    y += 34
    widest = max(text_width(kind, 14) for kind in _KINDS) + 16
    for kind in _KINDS:
        shown = "ghost here" if kind == texts.kind else "ghost"
        drawing.badge(widest / 2, y, _WORDS.get(kind, kind), CELL_COLOURS[kind], class_=shown, when=f"kind={kind}")
    after, size = widest + 14, layout.small + 1
    reach = text_width("=" * (5 + fmt.bits // 4 + len(str(fmt.code_mask))), 1, True)
    if not layout.is_wide and fmt.bits > 16:
        after, y, size = 0.0, y + 24, min(size, NARROW / reach)
    drawing.text(after, y, texts.code, size=size, mono=True, part="code")
    if layout.is_wide:
        drawing.text(after + reach * size + 18, y, texts.powers, size=layout.small, fill="quiet", mono=True,
                     part="powers", xml_space="preserve")  # fmt: skip
    if anatomy.typed is not None:
        y += 24
        drawing.text(0, y, _typed(anatomy), size=layout.small, fill="accent", part="typed")
    return y + 18


def _typed(anatomy: Anatomy) -> str:
    """Return what became of the number that was typed."""
    assert anatomy.typed is not None
    typed = number_text(short(anatomy.typed, 24))
    if anatomy.error is None or anatomy.ulps is None:
        return f"typed {typed}"
    if anatomy.is_exact:
        return f"typed {typed}: exact"
    return f"typed {typed}: the code is off by {number_text(f'{short(anatomy.error)} = {short(anatomy.ulps)}')} ulp"


def _number_line(drawing: Shapes, fmt: Format, texts: view.CodeTexts, layout: _Layout, y: float) -> float:
    """Draw the code's value between its neighbours, not to scale; return the y below."""
    width = min(layout.block, 640.0)
    places = [width / 6, width / 2, width * 5 / 6]
    size = min(16.0 if layout.is_wide else 14.0, (width / 3 - 6) / text_width("=" * len(apart_of(fmt)), 1, True))
    staggered = size < 10.5
    size = max(size, 11.5 if layout.is_wide else 10.5)
    line_y = y + 30
    drawing.line(0, line_y, width, line_y, "quiet")
    for (side, near), x in zip((("previous", "below"), ("next", "above")), (places[0], places[2]), strict=True):
        one = drawing.group(label=side, code=getattr(texts, f"{near}_bits"), code_part=f"{near}_bits", class_="near")
        one.rect(x - width / 6 + 3, line_y - 12, width / 3 - 6, 86 + 18 * staggered, "page", radius=6, stroke="line")
        one.line(x - width / 6 + 3, line_y, x + width / 6 - 3, line_y, "quiet")
        one.line(x, line_y - 10, x, line_y + 10, "mantissa-text", width=3)
        shift = 18 * (staggered and near == "above")
        value_x, anchor = (x, "middle") if not staggered else (0, "start") if near == "below" else (width, "end")
        one.text(value_x, line_y + 30 + shift, getattr(texts, near), size=size, mono=True, anchor=anchor, part=near)
        one.text(x, line_y + 50 + 18 * staggered, getattr(texts, f"{near}_code"), size=layout.small - 1.5, fill="quiet",
                 mono=True, anchor="middle", part=f"{near}_code")  # fmt: skip
        one.text(x, line_y + 67 + 18 * staggered, side, size=layout.small, fill="quiet", anchor="middle")
    drawing.line(places[1], line_y - 12, places[1], line_y + 12, "accent", width=4)
    drawing.circle(places[1], line_y, 6, "accent", stroke="page")
    drawing.text(places[1], line_y + 50, "this value", size=layout.small, fill="accent", anchor="middle", bold=True)
    for near, left, right in (("below", places[0], places[1]), ("above", places[1], places[2])):
        drawing.text((left + right) / 2, line_y - 19, getattr(texts, f"{near}_away"), size=min(size, layout.small),
                     fill="quiet", anchor="middle", mono=True, part=f"{near}_away")  # fmt: skip
    return line_y + 80 + 18 * staggered


@functools.cache
def apart_of(fmt: Format) -> str:
    """Return about the longest text of a neighbour."""
    rows = view.text_table(1, fmt).rows
    return max((text for row in rows for text in (row.below, row.above)), key=len)


def _map(drawing: Shapes, anatomy: Anatomy, left: float, top: float, layout: _Layout) -> float:
    """Draw a cell for each code, or for each binade of a format of more bits; return the y below."""
    fmt = anatomy.format
    cells = _map_cells(fmt)
    across = columns(fmt) if fmt.bits <= 8 else 16 if len(cells) > 64 else 8
    down = -(-len(cells) // across)
    margin = 30.0 if fmt.bits == 8 else 0.0
    cell_width = (layout.width - left - margin) / across
    cell_height = min(46.0, (400.0 if layout.is_wide else 300.0) / down)
    name = "binades" if fmt.bits > 8 else "codes"
    drawing.text(left, top + 14, f"All {len(cells)} {name}", size=layout.small, bold=True)
    heading = "click one to show it" if fmt.bits > 8 or len(cells) < 128 else "first digit down, second across"
    drawing.text(layout.width, top + 14, heading, size=layout.small - 1.5, fill="quiet", anchor="end")
    grid_top = top + _MAP_TOP + (18 if margin else 0)
    if margin:
        for digit in range(16):
            drawing.text(left + margin + (digit + 0.5) * cell_width, grid_top - 6, f"{digit:X}", size=12, fill="quiet",
                         anchor="middle", mono=True)  # fmt: skip
            drawing.text(left + margin - 9, grid_top + (digit + 0.7) * cell_height, f"{digit:X}", size=12, fill="quiet",
                         anchor="end", mono=True)  # fmt: skip
    grid = drawing.group(role="group", aria_label=name.capitalize(), columns=across, font_size=layout.small - 2)
    shown = f"{anatomy.code:0{fmt.bits}b}"
    words = _words(cells, across)
    for index, (one, label) in enumerate(cells):
        x, y = left + margin + index % across * cell_width, grid_top + index // across * cell_height
        is_shown = shown.startswith(one.prefix)
        cell = grid.group(
            label=label, code=one.bits, range=one.prefix if one.prefix != one.bits else None,
            aria_pressed=str(is_shown).lower(), class_="cell here" if is_shown else "cell",
        )  # fmt: skip
        cell.rect(x, y, cell_width - 1.5, cell_height - 1.5, CELL_COLOURS[one.kind], radius=2)
        text = one.text if text_width(one.text, layout.small - 2, True) <= cell_width - 3 else ""
        if text and cell_height >= 14:
            cell.text(x + cell_width / 2 - 0.75, y + cell_height / 2 + 4, text, mono=True, anchor="middle",
                      fill=f"{CELL_COLOURS[one.kind]}-text", size=layout.small - 2)  # fmt: skip
    for first, count in words:
        kind = cells[first][0].kind
        room = count * cell_width
        if not all(
            text_width(one.text, layout.small - 2, True) <= cell_width - 3 for one, _ in cells[first : first + count]
        ):
            x, y = left + margin + first % across * cell_width, grid_top + first // across * cell_height
            size = min(layout.small, cell_height, room / len(kind) / 0.66)
            if size >= 10 and cell_height >= 12:
                drawing.text(x + room / 2, y + cell_height / 2 + 4, _WORDS.get(kind, kind), size=size, bold=True,
                             fill=f"{CELL_COLOURS[kind]}-text", anchor="middle", pointer_events="none")  # fmt: skip
    return grid_top + down * cell_height


def _words(cells: Sequence[tuple[view.BinadeCell, str]], across: int) -> list[tuple[int, int]]:
    """Return the first and longest run in a row of cells of each class, (first, count): its word stands there."""
    best: dict[str, tuple[int, int]] = {}
    start = 0
    for index in range(1, len(cells) + 1):
        if index == len(cells) or index % across == 0 or cells[index][0].kind != cells[start][0].kind:
            kind = cells[start][0].kind
            if index - start > best.get(kind, (0, 0))[1]:
                best[kind] = (start, index - start)
            start = index
    return list(best.values())


@functools.lru_cache(maxsize=16)
def _map_cells(fmt: Format) -> tuple[tuple[view.BinadeCell, str], ...]:
    if fmt.bits > 8:
        return tuple((one, f"{one.text}, {one.kind}") for one in view.binade_cells(fmt))
    rows = view.text_table(0, fmt).rows
    return tuple(
        (view.BinadeCell(f"{number:0{fmt.bits}b}", f"{number:0{fmt.bits}b}", number_text(row.value), row.kind),
         f"{code_text(number, fmt)}: {row.value}, {row.kind}")
        for number, row in enumerate(rows)
    )  # fmt: skip
