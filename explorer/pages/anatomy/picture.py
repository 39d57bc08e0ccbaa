"""The picture of Anatomy: the bits of one code by field, its formula and value."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ...shared.codes import Anatomy
from ...shared.drawing import MARGIN, bit_boxes, draw, text_width
from ...shared.numbers import digits_of, short

__all__ = ["bit_row", "code_table"]


def bit_row(anatomy: Anatomy, dark: bool = False) -> str:
    """Return the picture of a code."""
    fmt = anatomy.format
    boxes = bit_boxes(anatomy.code, fmt)
    value = short(anatomy.value, 26, max(12, digits_of(fmt)))
    formula = sum(len(part.text) for part in anatomy.formula) + 3 + len(value)
    heading = text_width(len(fmt.name) + 4 + fmt.bits // 4 + len(anatomy.kind) + 6, 15)
    width = max(boxes.width, text_width(formula, 18), heading) + 2 * MARGIN
    return draw("pages/anatomy/bit_row", width, 178, dark, anatomy=anatomy, boxes=boxes, value=value)


_HEIGHT, _TOP = 34, 74


@functools.lru_cache(maxsize=16)
def code_table(title: str, cells: Sequence[tuple[str, str, str, int]], columns: int, dark: bool = False) -> str:
    """Return the picture of a table of codes: (code, value, class, code as a number) of each cell."""
    cell_width = max(44.0, max(text_width(max(len(code), len(value)), 11) for code, value, *_ in cells) + 10)
    placed = [
        (code, value, kind, MARGIN + index % columns * cell_width, _TOP + index // columns * _HEIGHT)
        for index, (code, value, kind, _) in enumerate(cells)
    ]
    kinds = tuple(dict.fromkeys(kind for *_, kind, _, _ in placed))
    across = max(columns * cell_width, text_width(len(title), 17), 110.0 * len(kinds))
    down = _TOP + -(-len(cells) // columns) * _HEIGHT + MARGIN
    size = {"cell_width": cell_width, "cell_height": _HEIGHT}
    return draw(
        "pages/anatomy/code_table", across + 2 * MARGIN, down, dark, title=title, cells=placed, kinds=kinds, **size
    )
