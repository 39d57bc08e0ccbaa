"""Rows of cells as a table: aligned text, Markdown."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["Rows", "aligned_table", "markdown_table"]

Rows = Sequence[Sequence[str]]
"""The first row is the header."""


def aligned_table(rows: Rows, right: Collection[int] = ()) -> str:
    """Return the rows as lines of text, every column as wide as its longest cell; columns in `right` end together.

    Examples
    --------
    >>> print(aligned_table([("format", "bits"), ("int4", "4")]))
    format  bits
    int4    4
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    justify = [str.rjust if index in right else str.ljust for index in range(len(widths))]
    lines = (
        "  ".join(place(cell, width) for place, cell, width in zip(justify, row, widths, strict=True)) for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def markdown_table(rows: Rows) -> str:
    """Return the rows as a table in Markdown.

    Examples
    --------
    >>> print(markdown_table([("format", "bits"), ("int4", "4")]))
    | format | bits |
    | --- | --- |
    | int4 | 4 |
    """
    header, *body = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ("---",) * len(header), *body))
