"""Page layout: styles, heading, fragments of HTML, and the link and code to copy; the same on every page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from . import html
from .controls import Controls
from .link import query_text
from .menu import links_to_open, refusals
from .page import PageState, Selection

if TYPE_CHECKING:
    from .evidence import Checked, Evidence

__all__ = [
    "OPERATOR_PAGES",
    "apply_styles",
    "controls",
    "copy_section",
    "evidence_section",
    "heading",
    "more",
    "open_in",
    "oracle_section",
    "show",
]

OPERATOR_PAGES = {
    name: f"https://onnx.ai/onnx/operators/onnx__{name}.html"
    for name in ("Cast", "BitCast", "QuantizeLinear", "DequantizeLinear")
}
"""The address of each operator's page."""


_ABOUT_CASTS = (
    "Casts every code of the source formats, or those at every edge, and compares them with exact arithmetic."
)


def apply_styles() -> None:
    """Put the style sheets on the page, once a run."""
    st.html(html.render_styles())


def heading(title: str, sentence: str, link_text: str, operator: str = "Cast") -> None:
    """Show the title, a sentence beside it, and a link to the operator's page; embedded, nothing is seen."""
    if st.context.is_embedded:
        show("unseen_title", title=title)
        return
    operator_page = {"address": OPERATOR_PAGES[operator], "link_text": link_text}
    show("heading", title=title, sentence=sentence, **operator_page)


def controls() -> DeltaGenerator:
    """Return the line of controls above the picture."""
    return st.container(horizontal=True, vertical_alignment="bottom", gap="small")


def more(label: str, hint: str = "", key: str | None = None) -> Any:
    """Return a closed disclosure: its label, and in grey what is in it.

    One with a key runs the page again when it is opened, and its `open` says whether it is: for what is long to draw.
    """
    title = f"**{label}** :gray[{hint}]" if hint else f"**{label}**"
    return st.expander(title) if key is None else st.expander(title, key=f"more-{key}", on_change="rerun")


def show(template: str, **values: Any) -> None:
    """Show ``TEMPLATE.html.j2`` with some values; that of a page is ``pages/X/TEMPLATE``."""
    st.html(html.render(template, **values))


def evidence_section(
    rows: Callable[[], Sequence[Evidence | None]],
    check: Callable[[], Sequence[Checked]],
    subject: str = "format",
    about: str = _ABOUT_CASTS,
) -> None:
    """Show which rules decide what the page shows and what speaks for them, and a button that checks them now.

    `rows` gives the evidence of each subject, None where the kept results have no rule; it is called when the section
    is opened, `check` by the button, and `about` says what that does. Embedded pages have none.
    """
    if st.context.is_embedded:
        return
    with more("Evidence", "which rule decides, which libraries agree, a check on the spot", key="evidence") as section:
        if not section.open:
            return
        from .evidence import run  # the first page has none

        show("evidence", rows=[row for row in rows() if row is not None], run=run(), subject=subject)
        if st.button("Check now", help=about, icon=":material/fact_check:"):
            show("evidence_check", checked=check())


def oracle_section(subject: str, tests: Sequence[str]) -> None:
    """Say that what the page shows is computed in exact arithmetic, and which tests compare that with other libraries.

    Embedded pages have none.
    """
    if not st.context.is_embedded:
        with more("Evidence", "exact arithmetic, and the tests that compare it with other libraries"):
            show("evidence_oracle", subject=subject, tests=tests)


def open_in(state: PageState, number: str | None = None, fmt: str | None = None) -> None:
    """Show links to the other pages that take over a number or a format, by its name; without them, those of a state.

    A page that cannot take the format is named with the reason. Embedded pages have none.
    """
    chosen = state.selection() if number is fmt is None else Selection(number, fmt)
    links = links_to_open(state, chosen.number, chosen.format)
    if links and not st.context.is_embedded:
        show("open_in", links=links, refusals=refusals(state, chosen.format))


def copy_section(page: Controls[Any], path: str, python: str = "", onnx: str = "") -> None:
    """Show the link to this page, and the Python and ONNX code that do the same, each with a button that copies.

    `onnx` may be a sentence why there is no such node. A page that converts nothing has neither. Below stands the text
    that embeds the page in another; an embedded page has nothing to copy.
    """
    if st.context.is_embedded:
        return
    address = urlsplit(st.context.url or "http://127.0.0.1:8501")
    link = f"{address.scheme}://{address.netloc}/{path}?{query_text(page.query())}"
    texts = (("Link", link, None), ("Python", python, "python"), ("ONNX node", onnx, "python"))[: 3 if python else 1]
    with more("Link and code" if python else "Link", "Python, ONNX node" if python else "the address of this page"):
        for column, (label, body, language) in zip(st.columns(len(texts)), texts, strict=True):
            with column:
                st.caption(label)
                if label == "ONNX node" and not body.startswith("import "):
                    st.text(body)
                else:
                    st.code(body, language=language, wrap_lines=True)
    with more("Embed", "this page in another"):
        st.code(html.render_text("embed_frame", link=link, title=path), language="html", wrap_lines=True)
