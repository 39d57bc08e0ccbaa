"""The table of codes: a cell for each, with its value, in the colour of its class; a click chooses it."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from lowprec import Format

from . import theme
from .svg import NARROW, WIDE, Drawing, text_width

__all__ = ["CELL_COLOURS", "code_table", "number_text"]

CELL_COLOURS = {kind: "mantissa" if kind in ("normal", "integer") else kind for kind in theme.CLASSES}
"""The colour of a cell by the class of its code."""


def number_text(text: str) -> str:
    """Return the text of a number with a minus sign, not a hyphen; Inf and NaN as they are written in prose."""
    return text.replace("-", "−").replace("nan", "NaN").replace("inf", "Inf")


_CELL_HEIGHT, _TABLE_TOP = 34, 40


def code_table(
    title: str,
    cells: Sequence[tuple[str, str, str, int]],
    across: int,
    selected: int,
    fmt: Format,
    label: str = "Table of codes",
) -> tuple[Drawing, Drawing]:
    """Return the table of codes, wide and narrow: (code, value, class, code as a number) of each cell.

    A cell may stand for all codes up to the one of the next cell: `selected` is then the first of them.
    """
    drawn = (
        _table(title, tuple(cells), min(across, most), width, selected, fmt, label)
        for width, most in ((WIDE, across), (NARROW, 4))
    )
    wide, narrow = drawn
    return wide, narrow


@functools.lru_cache(maxsize=8)
def _table(
    title: str,
    cells: tuple[tuple[str, str, str, int], ...],
    across: int,
    width: int,
    selected: int,
    fmt: Format,
    label: str,
) -> Drawing:
    cell_width = width / across
    kinds = dict.fromkeys(kind for *_, kind, _ in cells)
    drawing = Drawing(
        width, _TABLE_TOP + -(-len(cells) // across) * _CELL_HEIGHT,
        f"{title}: {len(cells)} codes, each with its value and its class: {', '.join(kinds)}",
    )  # fmt: skip
    drawing.text(0, 20, title, size=17, bold=True)
    grid = drawing.group(role="group", aria_label=label, columns=across)
    is_range = len(cells) > 1 and cells[1][3] - cells[0][3] > 1
    for index, (text, value, kind, number) in enumerate(cells):
        x, y = index % across * cell_width, _TABLE_TOP + index // across * _CELL_HEIGHT
        cell = grid.group(
            code=f"{number:0{fmt.bits}b}", range=f"{number:0{fmt.bits}b}"[: -fmt.mantissa_bits] if is_range else None,
            aria_pressed=str(number == selected).lower(), class_="cell here" if number == selected else "cell",
        )  # fmt: skip
        cell.rect(x, y, cell_width - 2, _CELL_HEIGHT - 2, CELL_COLOURS[kind], radius=3)
        right, room = x + cell_width - 7, cell_width - 12
        size = min(13.0, room / text_width("=" * max(len(value), 1), 1, True))
        cell.text(
            right,
            y + 13,
            text.replace("-", "−"),
            size=11.5 if width == WIDE else 10.5,
            fill=f"{CELL_COLOURS[kind]}-text",
            anchor="end",
            mono=True,
        )
        cell.text(
            right, y + 27, number_text(value), size=size, fill=f"{CELL_COLOURS[kind]}-text", anchor="end", mono=True
        )
    return drawing
