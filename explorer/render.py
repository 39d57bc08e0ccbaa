"""What every page shows the same way: heading, layout of a code, what to take along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from lowprec import Format
from lowprec.reference.explanation import Explanation

from . import theme
from .controls import Controls
from .views.anatomy import Anatomy, fields
from .views.numbers import apart, code_text, digits_of, short
from .views.rounding import Rounding
from .views.saturation import Cell, Table

__all__ = [
    "KINDS",
    "RULES",
    "facts",
    "formula",
    "heading",
    "html",
    "legend",
    "page_link",
    "strip",
    "style",
    "table",
    "take_along",
    "value_line",
]

RULES = {name: f"https://onnx.ai/onnx/operators/onnx__{name}.html"
         for name in ("Cast", "BitCast", "QuantizeLinear", "DequantizeLinear")}  # fmt: skip
"""The operator pages."""

KINDS = tuple(theme.CLASSES)
"""The classes of codes, in the order of a legend."""

_STYLE = """
.stMainBlockContainer { max-width: 76rem; padding: 1rem 2rem 3rem; }
.st-key-menu { border-bottom: 1px solid light-dark(#d9dbe2, #363a45); padding-bottom: .3rem; }
.st-key-menu [class*="-here"] { box-shadow: inset 0 -3px 0 var(--lp-accent); }
.stApp h1 { font-size: 2rem; padding: .5rem 0 .25rem; }
.stApp h2, .stApp h3 { font-size: 1.3rem; }
@media (max-width: 640px) { .stMainBlockContainer { padding: 1rem 1rem 2rem; } }
.stApp [data-testid="stCaptionContainer"] { opacity: 1; }
.stApp [data-testid="stCaptionContainer"] p { color: var(--lp-quiet); }
.stApp [data-tag] { background: transparent; border: 1px solid var(--lp-accent); }
.stApp [data-tag] * { color: light-dark(#23262f, #e6e8ee); fill: currentColor; }
.lp, .lp table { font-variant-numeric: tabular-nums; }
.lp-mono { font-family: var(--lp-mono); }
.lp-strip { font-family: var(--lp-mono); display: inline-flex; flex-wrap: wrap; gap: 2px; }
.lp-strip span { padding: .1rem .35rem; border-radius: .25rem; overflow-wrap: anywhere; }
.lp-chip { display: inline-block; padding: .05rem .5rem; border-radius: .25rem; margin: 0 .35rem .25rem 0; }
.lp-scroll { /* an edge is shaded where there is more of the table beyond it */
  --paper: light-dark(#fff, #14161c); --shade: light-dark(rgb(0 0 0 / .3), rgb(255 255 255 / .35));
  overflow-x: auto; background-repeat: no-repeat; background-attachment: local, local, scroll, scroll;
  background-image: linear-gradient(to right, var(--paper) 40%, transparent),
    linear-gradient(to left, var(--paper) 40%, transparent),
    linear-gradient(to right, var(--shade), transparent), linear-gradient(to left, var(--shade), transparent);
  background-position: 0 0, 100% 0, 0 0, 100% 0; background-size: 3rem 100%, 3rem 100%, .8rem 100%, .8rem 100%;
}
.lp-table { border-collapse: collapse; width: 100%; font-size: .9rem; }
.lp-table th, .lp-table td {
  text-align: right; padding: .3rem .6rem; white-space: nowrap;
  border-bottom: 1px solid light-dark(#d9dbe2, #363a45);
}
.lp-table thead th { font-weight: 600; }
.lp-table tbody th { font-weight: 400; }
.lp-cell { display: inline-block; padding: .05rem .35rem; border-radius: .25rem; }
.lp-changed { outline: 2px solid var(--lp-accent); }
.lp-table th:first-child { text-align: left; }
.lp-table td { font-family: var(--lp-mono); }
.lp-table a { color: inherit; text-decoration: underline dotted; }
.lp-table a:hover, .lp-table a:focus-visible { color: var(--lp-accent); }
.lp-line { display: flex; flex-wrap: wrap; align-items: baseline; gap: .4rem .8rem; font-size: 1.35rem; }
.lp-line .lp-chip { font-size: .9rem; border: 1px solid currentColor; }
.lp-formula, .lp-value { font-family: var(--lp-mono); overflow-wrap: anywhere; }
.lp-formula :is(.lp-sign, .lp-exponent, .lp-mantissa) { border-radius: .2rem; padding: 0 .15rem; }
.lp-value { font-weight: 700; }
.lp .lp-facts {
  display: grid; grid-template-columns: minmax(6rem, max-content) minmax(0, 1fr); gap: .25rem 1rem;
  margin: 0; padding: 0;
}
.lp-facts dt { color: var(--lp-quiet); }
.lp .lp-facts :is(dt, dd) { margin: 0; padding: 0; }
.lp-facts dd { font-family: var(--lp-mono); overflow-wrap: anywhere; max-height: 9rem; overflow-y: auto; }
.lp-why { margin: .2rem 0 0; }
.lp-interval { position: relative; padding: 2.2rem .75rem 0; }
.lp-x { position: absolute; top: 0; color: var(--lp-accent); font-weight: 700; white-space: nowrap; }
.lp-interval .lp-x { margin: 0 .75rem; font-family: var(--lp-mono); }
.lp-bar { position: relative; height: 6px; border-radius: 3px; background: light-dark(#d9dbe2, #363a45); }
.lp-bar i { position: absolute; top: 50%; transform: translate(-50%, -50%); }
.lp-tick { width: 3px; height: 22px; background: currentColor; }
.lp-mid { width: 0; height: 22px; border-left: 2px dashed currentColor; }
.lp-dot { width: 16px; height: 16px; border-radius: 50%; background: var(--lp-accent); }
.lp-ends { display: grid; grid-template-columns: 1fr auto 1fr; gap: .75rem; padding-top: .8rem; }
.lp-end { font-family: var(--lp-mono); min-width: 0; overflow-wrap: anywhere; }
.lp-right { text-align: right; }
.lp-middle { text-align: center; color: var(--lp-quiet); }
.lp-crown {
  background: var(--lp-accent); color: light-dark(#fff, #14161c);
  border-radius: .25rem; padding: 0 .4rem; margin: 0 .4rem;
}
.lp-wrap { overflow-wrap: anywhere; white-space: normal !important; }
.lp-table span.lp-wrap { display: inline-block; min-width: 15rem; text-align: left; }
.lp-table .lp-strip { flex-wrap: nowrap; }
"""


def style() -> None:
    """Put the colours and the few rules of our own on the page, once a run."""
    fields = "".join(f".lp-{name} {{ background: var(--lp-{name}); color: var(--lp-{name}-text); }}"
                     for name in (*theme.FIELDS, *theme.CLASSES))  # fmt: skip
    mono = "--lp-mono: 'Source Code Pro', 'DejaVu Sans Mono', monospace;"
    st.html(f"<style>.stApp {{ {theme.css()} {mono} }} {_STYLE} {fields}</style>")


def heading(title: str, what: str, rule: str, operator: str = "Cast") -> None:
    """Show the title, one line that says what to do here, and a link to the rule on the operator's page."""
    st.title(title, anchor=False)
    st.markdown(f"{what} [{rule}]({RULES[operator]})")


def html(body: str) -> None:
    """Show our own HTML; whoever writes it escapes what a visitor typed."""
    st.html(f'<div class="lp">{body}</div>')


def strip(fmt: Format, code: int) -> str:
    """Return a code's bits as HTML, coloured by field, with a title for each."""
    bits = f"{code:0{fmt.bits}b}"
    parts = (f'<span class="lp-{part.name}" title="{part.label}">{part.bits}</span>' for part in fields(code, fmt))
    return f'<span class="lp-strip" role="img" aria-label="bits {bits}">{"".join(parts)}</span>'


def legend(names: Sequence[str]) -> str:
    """Return the named fields or classes as coloured chips, as HTML."""
    return "".join(f'<span class="lp-chip lp-{name}">{name}</span>' for name in names)


def formula(found: Anatomy) -> str:
    """Return the formula of a code's value as HTML, its numbers coloured by the field they come from."""
    tags = {True: "sup", False: "span"}
    parts = "".join(
        f'<{tags[part.raised]} class="lp-{part.field}">{escape(part.text)}</{tags[part.raised]}>'
        for part in found.formula
    )
    return f'<span class="lp-formula">{parts}</span>'


def value_line(found: Anatomy) -> None:
    """Show a code's formula, value and class: what the page is about, in large letters."""
    equals = "" if found.value.special else "= "
    html(
        f'<div class="lp-line">{formula(found)} '
        f'<span class="lp-value">{equals}{escape(short(found.value, 26, max(12, digits_of(found.format))))}</span> '
        f'<span class="lp-chip lp-{found.kind}">{found.kind}</span></div>'
    )


def result(why: Explanation) -> None:
    """Show what a number becomes, and the rule that decided, in large letters."""
    fmt = why.format
    html(
        f'<div class="lp-line"><span class="lp-formula">{escape(short(why.x, 26, 12))}</span> → '
        f'<span class="lp-value">{escape(short(why.value, 26, max(12, digits_of(fmt))))}</span> {strip(fmt, why.code)} '
        f'<span class="lp-formula">{code_text(why.code, fmt)}</span></div><p class="lp-why">{escape(why.rule)}'
        f"{'' if not why.is_tie else ' (x lies exactly in the middle)'}</p>"
    )


def mode_rows(found: Rounding) -> list[tuple[str, ...]]:
    """Return the rows of the table of all ways to round, as HTML cells."""
    fmt = found.explanation.format
    rows: list[tuple[str, ...]] = []
    for mode in found.modes:
        name, in_onnx = (f"<b>{escape(mode.name)}</b>", "yes") if mode.is_onnx else (escape(mode.name), "no")
        if mode.code is None or mode.value is None:
            rows.append((name, "beyond the last value", in_onnx, "", "", ""))
            continue
        link = page_link("anatomy", {"fmt": fmt.name, "at": code_text(mode.code, fmt)}, code_text(mode.code, fmt))
        error = "" if mode.error is None else short(mode.error)
        rows.append((name, escape(apart(mode.value, fmt)), in_onnx, link, strip(fmt, mode.code), error))
    return rows


def outcomes(found: Table, caption: str) -> None:
    """Show a table of results, each a link to the code in Anatomy."""
    rows = [(escape(row.label), *(_outcome(cell, row.label) for cell in row.cells)) for row in found.rows]
    table(("x", *found.columns), rows, caption)


def _outcome(cell: Cell, label: str) -> str:
    code = code_text(cell.code, cell.format)
    link = page_link("anatomy", {"fmt": cell.format.name, "at": code}, f"{code[2:]} {short(cell.value, 8, 4)}")
    given = f"<small>{escape(cell.given)} → </small>" if cell.given != label else ""
    frame = " lp-changed" if cell.changed else ""
    return f'{given}<span class="lp-cell lp-{cell.kind}{frame}">{link}</span>'


def is_dark() -> bool:
    """Whether the page is shown in the dark scheme."""
    return st.context.theme.type == "dark"


def facts(rows: Sequence[tuple[str, str]]) -> None:
    """Show names and texts in two columns."""
    html('<dl class="lp-facts">' + "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in rows) + "</dl>")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> None:
    """Show a table of HTML cells, the first of each row its heading; it scrolls sideways alone where it is too wide."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in rows
    )
    html(f'<div class="lp-scroll" tabindex="0" role="region" aria-label="{escape(caption)}">'
         f'<table class="lp-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')  # fmt: skip


def page_link(path: str, query: Mapping[str, str], label: str) -> str:
    """Return a link to a page of the explorer, as HTML."""
    return f'<a href="{escape(f"{path}?{urlencode(query)}")}" target="_self">{escape(label)}</a>'


def take_along(page: Controls[Any], path: str, python: str, onnx: str) -> None:
    """Show the link to this very page, and the Python and the ONNX that do the same; each has a button that copies."""
    st.header("Take it along", anchor=False)
    parts = urlsplit(st.context.url or "http://127.0.0.1:8501")
    link = f"{parts.scheme}://{parts.netloc}/{path}?{urlencode(page.query())}"
    texts = (("Link", link, None), ("Python", python, "python"), ("ONNX node", onnx, "python"))
    for column, (label, body, language) in zip(st.columns(len(texts)), texts, strict=True):
        with column:
            st.caption(label)
            st.code(body, language=language, wrap_lines=True)
