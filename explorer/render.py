"""What every page shows the same way: heading, layout of a code, what to take along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from lowprec import Format

from . import theme
from .controls import Controls

__all__ = ["RULES", "fields_of", "heading", "html", "legend", "page_link", "strip", "style", "table", "take_along"]

RULES = {name: f"https://onnx.ai/onnx/operators/onnx__{name}.html"
         for name in ("Cast", "BitCast", "QuantizeLinear", "DequantizeLinear")}  # fmt: skip
"""The operator pages."""

_STYLE = """
.stMainBlockContainer { max-width: 76rem; }
.lp, .lp table { font-variant-numeric: tabular-nums; }
.lp-mono { font-family: var(--lp-mono); }
.lp-strip { font-family: var(--lp-mono); display: inline-flex; flex-wrap: wrap; gap: 2px; }
.lp-strip span { padding: .1rem .35rem; border-radius: .25rem; overflow-wrap: anywhere; }
.lp-chip { display: inline-block; padding: .05rem .5rem; border-radius: .25rem; margin: 0 .35rem .25rem 0; }
.lp-scroll { overflow-x: auto; }
.lp-table { border-collapse: collapse; width: 100%; font-size: .9rem; }
.lp-table th, .lp-table td {
  text-align: right; padding: .3rem .6rem; white-space: nowrap;
  border-bottom: 1px solid light-dark(#d9dbe2, #363a45);
}
.lp-table th { font-weight: 600; }
.lp-table th:first-child { text-align: left; }
.lp-table td { font-family: var(--lp-mono); }
.lp-table a { color: inherit; text-decoration: underline dotted; }
.lp-table a:hover, .lp-table a:focus-visible { color: var(--lp-accent); }
.lp-wrap { overflow-wrap: anywhere; white-space: normal !important; }
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


def fields_of(fmt: Format) -> list[tuple[str, int, int]]:
    """Return (field, first, last + 1) of a code's bits, the highest first; an integer has a sign and a mantissa."""
    sign = int(fmt.signed)
    cuts = (0, sign, fmt.bits - fmt.mantissa_bits if fmt.is_float else sign, fmt.bits)
    return [(name, a, b) for name, (a, b) in zip(theme.FIELDS, pairwise(cuts), strict=True) if b > a]


def strip(fmt: Format, code: int) -> str:
    """Return a code's bits as HTML, coloured by field, with a title for each."""
    bits = f"{code:0{fmt.bits}b}"
    parts = (f'<span class="lp-{name}" title="{name}">{bits[a:b]}</span>' for name, a, b in fields_of(fmt))
    return f'<span class="lp-strip" role="img" aria-label="bits {bits}">{"".join(parts)}</span>'


def legend(names: Sequence[str]) -> str:
    """Return the named fields or classes as coloured chips, as HTML."""
    return "".join(f'<span class="lp-chip lp-{name}">{name}</span>' for name in names)


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
    st.subheader("Take it along", anchor=False)
    parts = urlsplit(st.context.url or "http://127.0.0.1:8501")
    link = f"{parts.scheme}://{parts.netloc}/{path}?{urlencode(page.query())}"
    texts = (("Link", link, None), ("Python", python, "python"), ("ONNX node", onnx, "python"))
    for column, (label, body, language) in zip(st.columns(len(texts)), texts, strict=True):
        with column:
            st.caption(label)
            st.code(body, language=language, wrap_lines=True)
