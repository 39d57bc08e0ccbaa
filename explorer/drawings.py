"""HTML drawings of Cast & BitCast: the steps of a conversion, and whose bits a packed byte holds."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

from lowprec import Format
from lowprec.reference.exact_cast import Value
from lowprec.reference.explanation import Explanation, hex_float

from . import render
from .views.anatomy import anatomy
from .views.compare import differences
from .views.conversion import BitCasting, Conversion, Packing
from .views.numbers import apart, code_text, digits_of, short

__all__ = ["STYLE", "bitcast", "cast", "listed", "packed", "readings"]

STYLE = """
.lp ol.lp-steps { list-style: none; margin: .5rem 0 0; padding: 0; counter-reset: step; }
.lp-steps > li {
  counter-increment: step; position: relative; padding: 0 0 1.1rem 2.6rem; margin: 0; min-width: 0;
}
.lp-steps > li::before {
  content: counter(step); position: absolute; left: 0; top: 0; width: 1.7rem; height: 1.7rem; border-radius: 50%;
  display: grid; place-items: center; font-weight: 700; color: light-dark(#fff, #14161c); background: var(--lp-accent);
}
.lp-steps > li:not(:last-child)::after {
  content: ""; position: absolute; left: .8rem; top: 2rem; bottom: .3rem; width: 2px;
  background: light-dark(#d9dbe2, #363a45);
}
.lp-steps strong { display: block; padding-bottom: .3rem; }
.lp-row { display: flex; flex-wrap: wrap; gap: .3rem .8rem; align-items: baseline; }
.lp-long { font-family: var(--lp-mono); overflow-wrap: anywhere; max-height: 6rem; overflow-y: auto; }
.lp-quiet { color: light-dark(#5a5f6d, #a3a8b6); font-size: .9rem; }
.lp-pack { display: flex; flex-wrap: wrap; gap: 1rem; font-family: var(--lp-mono); padding: .4rem 0; }
.lp-byte { display: grid; gap: .2rem; justify-items: center; }
.lp-cells { display: grid; grid-template-columns: repeat(8, 1.2rem); gap: 2px; text-align: center; }
.lp-cells span { padding: .25rem 0; }
.lp-cells .lp-owner { font-size: .75rem; border-top: 3px solid currentColor; background: none; padding: .1rem 0; }
.lp-none { color: light-dark(#5a5f6d, #a3a8b6); }
"""

_COLOURS = ("exponent", "mantissa", "sign", "subnormal")
"""What neighbouring codes of a byte are told apart by, beside their number; 6 bits need four."""


def cast(found: Conversion, typed: Value | None) -> str:
    """Return the steps of a Cast; `typed` is the number that named the source code, None where a code was given."""
    source, target = found.source, found.target
    formula = render.formula(anatomy(code_text(found.code, source), source))
    note = ""
    if typed is not None and (typed.special, typed.number) != (found.value.special, found.value.number):
        note = f"The number is no value of {source.name}: this is the code that Cast gives it."
    parts = [(f"Read the code as {source.name}", _line(source, found.code) + f"<div>{formula}</div>" + _quiet(note))]
    if not found.value.special:
        parts.append(("Its exact value", _exact(found.value)))
    told = found.explanation
    if told is not None and (told.lower or told.upper):
        parts.append((f"Its neighbours in {target.name}", _neighbours(told, found.result)))
    parts.append(("The rule that decides", escape(found.rule)))
    parts.append((f"The code in {target.name}", _line(target, found.result, found.result_value) + _quiet(_loss(found))))
    items = "".join(f"<li><strong>{escape(title)}</strong>{body}</li>" for title, body in parts)
    return f'<ol class="lp-steps">{items}</ol>'


def _exact(value: Value) -> str:
    digits, few = str(value), short(value, 40, 9)
    first = "" if few == digits else f'<div class="lp-value">{few}</div>'
    return f'{first}<div class="lp-mono">{hex_float(value)}</div><div class="lp-long">{digits}</div>'


def _loss(found: Conversion) -> str:
    if found.exact:
        return "the same value: nothing was lost"
    errors = differences(found.value, found.result_value, found.target)
    if not errors.absolute or errors.ulps is None:
        return "not the same value"
    return f"error {short(errors.absolute)}, {short(errors.ulps)} ulp of {found.target.name}"


def bitcast(read: BitCasting) -> str:
    """Return the same bits as the other format reads them, or why it cannot."""
    if read.value is None:
        return _quiet(f"Not to {read.target.name}: {read.problem}.")
    return _line(read.target, read.code, read.value) + _quiet(read.note)


def readings(found: Sequence[BitCasting]) -> str:
    """Return the same bits as every format of their width reads them, as a table."""
    rows = "".join(
        f'<tr><th scope="row">{escape(read.target.name)}</th>'
        f"<td>{escape(apart(read.value, read.target))}</td>"
        f"<td>{render.strip(read.target, read.code)}</td></tr>"
        for read in found
        if read.value is not None
    )
    return _scrolled(rows, "Readings")


def _quiet(text: str) -> str:
    return f'<div class="lp-quiet">{escape(text)}</div>' if text else ""


def _line(fmt: Format, code: int, value: Value | None = None) -> str:
    """Return a code, its bits and its value, if wanted; the code leads to Anatomy."""
    text = code_text(code, fmt)
    shown = value and f'<span>=</span><span class="lp-value">{escape(short(value, 26, digits_of(fmt)))}</span>'
    link = render.page_link("anatomy", {"fmt": fmt.name, "at": text}, text)
    return f'<div class="lp-row"><span class="lp-mono">{link}</span>{render.strip(fmt, code)}{shown or ""}</div>'


def _neighbours(told: Explanation, result: int) -> str:
    """Return the values on both sides of x and the midpoint, the highest first; the one that x becomes is marked."""
    fmt, rows = told.format, []
    for name, near in (("upper", told.upper), ("midpoint", told.midpoint), ("lower", told.lower)):
        if isinstance(near, Value):
            rows.append((name, "", "", apart(near, fmt), "x is here: a tie" if told.is_tie else ""))
        elif near is not None:
            code, value = near
            mark = "← x becomes this" if code == result else ""
            rows.append((name, code_text(code, fmt), render.strip(fmt, code), apart(value, fmt), mark))
    body = "".join(
        f'<tr><th scope="row">{name}</th><td>{code}</td><td>{bits}</td><td>{escape(value)}</td><td>{mark}</td></tr>'
        for name, code, bits, value, mark in rows
    )
    return _scrolled(body, "Neighbours")


def _scrolled(rows: str, label: str) -> str:
    table = f'<table class="lp-table"><tbody>{rows}</tbody></table>'
    return f'<div class="lp-scroll" tabindex="0" role="region" aria-label="{label}">{table}</div>'


def packed(found: Packing) -> str:
    """Return each byte as eight bits, highest first, coloured and numbered by the code they belong to."""
    drawn = []
    for index, (byte, owners) in enumerate(zip(found.packed, found.owners, strict=True)):
        cells = "".join(
            f'<span class="{_class(owner)}">{byte >> (7 - place) & 1}</span>' for place, owner in enumerate(owners)
        )
        labels = "".join(_label(whose, len(list(run))) for whose, run in groupby(owners))
        drawn.append(
            f'<div class="lp-byte"><div class="lp-cells">{cells}{labels}</div>'
            f"<span>byte {index} = 0x{byte:02X}</span></div>"
        )
    return f'<div class="lp-pack">{"".join(drawn)}</div>'


def _label(owner: int | None, bits: int) -> str:
    return f'<span class="lp-owner" style="grid-column: span {bits}">{"–" if owner is None else owner}</span>'


def _class(owner: int | None) -> str:
    return "lp-zero" if owner is None else f"lp-{_COLOURS[owner % len(_COLOURS)]}"


def listed(found: Packing) -> str:
    """Return the codes of a list in the colours they have in the bytes, each with its number."""
    width = found.format.bits
    chips = "".join(
        f'<span class="lp-chip {_class(index)}"><small>{index}:</small> {code:0{width}b}</span>'
        for index, code in enumerate(found.codes)
    )
    return f'<div class="lp-mono">{chips}</div>'
