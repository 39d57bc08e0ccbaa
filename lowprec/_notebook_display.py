"""What is shown: aligned and Markdown tables, things counted in words; HTML of tables, bits and intervals."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction

__all__ = [
    "aligned_table",
    "and_so_text",
    "bit_row",
    "count_text",
    "fact_name",
    "fact_text",
    "facts_html",
    "html_block",
    "html_lines",
    "html_table",
    "interval",
    "markdown_table",
]


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


def count_text(n: int, noun: str) -> str:
    """Return a number of things in words: ``1 tensor``, ``2 tensors``."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def and_so_text(n: int, one: str, many: str) -> str:
    """Return that the same is true of n other tensors, with the verb for one of them and for many, or nothing."""
    return f", and so {one if n == 1 else many} {count_text(n, 'other tensor')}" if n else ""


# ---- HTML: text is escaped; colours are those of the page

_TABLE = "font:.9em monospace;border-collapse:collapse;margin:.3em 0"
_CAPTION = "caption-side:top;text-align:left;font-weight:bold;color:inherit;padding:0 .5em"
_CELL = "padding:.1em .5em;text-align"
_HEADER = "border-bottom:1px solid"


def html_table(rows: Rows, caption: str = "", right: Collection[int] = ()) -> str:
    """Return the rows as a table in HTML; every cell is escaped.

    Parameters
    ----------
    rows : sequence of sequence of str
        The first row is the header, and the first cell of each row names it. A row of one cell, where the header has
        more, is the title of the rows below it. Without a header, the first row is empty.
    caption : str
        What the table shows.
    right : collection of int
        The columns whose cells end together: those of numbers.

    Returns
    -------
    str
        One element.

    Examples
    --------
    >>> print(html_table([("", "max"), ("int4", "<8")], "integers", right=[1]))
    <table class="dataframe"...>
    <caption ...>integers</caption>
    <thead><tr ...><td></td><th scope="col" ...right">max</th></tr></thead>
    <tbody>
    <tr><th scope="row" ...left">int4</th><td ...nowrap">&lt;8</td></tr>
    </tbody>
    </table>
    """
    header, *body = rows
    lines = [f'<table class="dataframe" style="{_TABLE}">']  # the class by which dark themes know what has no colours
    if caption:
        lines.append(f'<caption style="{_CAPTION}">{html.escape(caption)}</caption>')
    if header:
        cells = "".join(_cell(text, "col", index in right) for index, text in enumerate(header))
        lines.append(f'<thead><tr style="{_HEADER}">{cells}</tr></thead>')
    lines.append("<tbody>")
    for number, (first, *others) in enumerate(body):
        if not others and len(header) > 1:
            lines += ["</tbody>", "<tbody>"] if number else []
            lines.append(f"<tr>{_cell(first, 'rowgroup', False, len(header))}</tr>")
            continue
        cells = "".join(_cell(text, "", index in right) for index, text in enumerate(others, 1))
        lines.append(f"<tr>{_cell(first, 'row', 0 in right)}{cells}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def _cell(text: str, scope: str, is_number: bool, columns: int = 1) -> str:
    """Return a cell: a header where there is a scope, and a text to name something by."""
    if not text:
        return "<td></td>"
    tag, attributes = ("th", f' scope="{scope}"') if scope else ("td", "")
    attributes += f' colspan="{columns}"' if columns > 1 else ""
    align = "right;white-space:nowrap" if is_number and not scope else "right" if is_number else "left"
    return f'<{tag}{attributes} style="{_CELL}:{align}">{html.escape(text)}</{tag}>'


def html_lines(lines: Iterable[str]) -> str:
    """Return lines of text, each as an element.

    Examples
    --------
    >>> html_lines(["a < b"])
    '<div>a &lt; b</div>'
    """
    return "\n".join(f"<div>{html.escape(line)}</div>" for line in lines)


def html_block(*parts: str) -> str:
    """Return elements as one, those that are empty left out."""
    return "\n".join(['<div style="overflow-x:auto">', *(part for part in parts if part), "</div>"])


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """Return named facts as a table; None and empty texts are left out, and what is not printable is escaped.

    Examples
    --------
    >>> print(facts_html("weight", {"shape": (2, 3), "max_error": 1 / 3, "why": ""}))
    <div ...>
    <table ...>
    <caption ...>weight</caption>
    <tbody>
    <tr><th ...>shape</th><td ...>2x3</td></tr>
    <tr><th ...>max error</th><td ...>0.333333</td></tr>
    </tbody>
    </table>
    </div>
    """
    rows = [(fact_name(name), fact_text(fact)) for name, fact in facts.items() if fact not in (None, "")]
    return html_block(html_table([(), *rows], _printable(title)))


_NAMES = {"nan": "NaN", "inf": "Inf", "rms_error": "RMS error", "sqnr_db": "SQNR dB"}


def fact_name(name: str) -> str:
    """Return the name of an attribute as a table shows it.

    Examples
    --------
    >>> fact_name("max_abs_error"), fact_name("sqnr_db")
    ('max abs error', 'SQNR dB')
    """
    return _NAMES.get(name, name.replace("_", " "))


def fact_text(fact: object) -> str:
    """Return a fact as a cell shows it: floats with six digits, shapes as 2x3.

    Examples
    --------
    >>> [fact_text(one) for one in (448, 1 / 3, True, (2, 3), ())]
    ['448', '0.333333', 'yes', '2x3', 'scalar']
    """
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, tuple):
        return "x".join(map(str, fact)) or "scalar"
    return f"{fact:.6g}" if isinstance(fact, float) else _printable(str(fact))


def _printable(text: str) -> str:
    return text if text.isprintable() else ascii(text)


# ---- drawings: lines and letters in the colour of the text, no background

_GAP, _TOP, _HEIGHT, _LETTER = 6, 16, 20, 6
"""Pixels: between fields; above and of the bits; the width of a small letter."""

_SHADES = (".4", ".2", ".05")
"""How much of the colour of the text fills the first field, the second, and all others."""


def _svg(width: int, height: int, label: str, content: str) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    style = "display:block;margin:.4em 0;max-width:100%"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{html.escape(label)}" {size} style="{style}" '
        f'fill="currentColor" font-family="monospace" font-size="10">{content}</svg>'
    )


def bit_row(fields: Sequence[tuple[str, str]], label: str) -> str:
    """Return the bits of a code as a drawing, field by field.

    Parameters
    ----------
    fields : sequence of (str, str)
        What is written above each field, and its bits or as many other characters; from the highest bit down. Empty
        fields are left out.
    label : str
        What the drawing shows, for those who do not see it.

    Returns
    -------
    str
        An SVG element. Where there are more than 32 bits they have no digits.
    """
    shown = [(title, bits) for title, bits in fields if bits]
    count = sum(len(bits) for _, bits in shown)
    step = 18 if count <= 16 else 11 if count <= 32 else 6
    left, parts = 1, []
    for shade, (title, bits) in zip((*_SHADES, *_SHADES[-1:] * len(shown)), shown, strict=False):
        width = step * len(bits)
        parts.append(f'<text x="{left}" y="{_TOP - 5}">{html.escape(title)}</text>')
        parts.append(
            f'<rect x="{left}" y="{_TOP}" width="{width}" height="{_HEIGHT}" fill-opacity="{shade}" '
            'stroke="currentColor"/>'
        )
        lines = "".join(f"M{left + step * index} {_TOP}v{_HEIGHT}" for index in range(1, len(bits)))
        parts.append(f'<path d="{lines}" stroke="currentColor" stroke-opacity=".5"/>' if lines else "")
        if step > _LETTER and bits.strip():
            places = " ".join(f"{left + step * index + step / 2:g}" for index in range(len(bits)))
            text = f'<text x="{places}" y="{_TOP + 14}" font-size="12" text-anchor="middle">{html.escape(bits)}</text>'
            parts.append(text)
        left += max(width, _LETTER * len(title)) + _GAP
    return _svg(left, _TOP + _HEIGHT + 1, label, "".join(parts))


def interval(ends: tuple[str, str], place: Fraction, chosen: int | None, label: str) -> str:
    """Return where a number lies between two others as a drawing; the midpoint is marked too.

    Parameters
    ----------
    ends : (str, str)
        The texts of the two.
    place : Fraction
        How much of the way to the second one it is, 0 to 1.
    chosen : int or None
        Which of the two is filled: 0 or 1.
    label : str
        What the drawing shows, for those who do not see it.

    Returns
    -------
    str
        An SVG element.
    """
    left, width, line = 10, 300, 34
    at = f"{left + float(place * width):g}"
    parts = [
        f'<path d="M{left} {line}h{width}M{left + width // 2} {line - 5}v10" stroke="currentColor" fill="none"/>',
        f'<path d="M{at} {line - 3}l-4 -8h8z"/><text x="{at}" y="{line - 15}" text-anchor="middle">x</text>',
    ]
    for index, (x, anchor, text) in enumerate(zip((left, left + width), ("start", "end"), ends, strict=True)):
        fill = "" if index == chosen else ' fill="none"'
        parts.append(f'<circle cx="{x}" cy="{line}" r="4" stroke="currentColor"{fill}/>')
        edge = left - 6 if index == 0 else left + width + 6
        parts.append(f'<text x="{edge}" y="{line + 18}" text-anchor="{anchor}">{html.escape(text)}</text>')
    return _svg(2 * left + width, line + 24, label, "".join(parts))
