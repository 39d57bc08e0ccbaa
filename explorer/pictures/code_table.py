"""The picture of the code table: every code of a narrow format, or those nearby, with its value and class."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .drawing import MARGIN, draw, text_width

__all__ = ["code_table"]

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
    return draw("code_table", across + 2 * MARGIN, down, dark, title=title, cells=placed, kinds=kinds, **size)
