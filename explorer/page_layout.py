"""Page layout: styles, heading, fragments of HTML, and the link and code to copy; the same on every page."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from . import templates
from .components import save_picture as saving
from .controls import Controls
from .url_query import query_text

__all__ = ["OPERATOR_PAGES", "apply_styles", "copy_section", "heading", "save_picture", "show"]

OPERATOR_PAGES = {
    name: f"https://onnx.ai/onnx/operators/onnx__{name}.html"
    for name in ("Cast", "BitCast", "QuantizeLinear", "DequantizeLinear")
}
"""The address of each operator's page."""


def apply_styles() -> None:
    """Put the style sheets on the page, once a run."""
    st.html(templates.render_styles())


def heading(title: str, task: str, link_text: str, operator: str = "Cast") -> None:
    """Show the title, one sentence on what to do, and a link to the operator's page."""
    st.title(title, anchor=False)
    st.markdown(f"{task} [{link_text}]({OPERATOR_PAGES[operator]})")


def show(template: str, **values: Any) -> None:
    """Show ``templates/TEMPLATE.html.j2`` with some values."""
    st.html(templates.render(template, **values))


def save_picture(svg: str, name: str) -> None:
    """Show two buttons that save a picture, which is an SVG text with width and height, as NAME.svg and NAME.png.

    Pictures of one page have different names. `pictures` makes such texts; `charts.show` does this for a chart.
    """
    saving.save_picture(svg, name)


def copy_section(page: Controls[Any], path: str, python: str = "", onnx: str = "") -> None:
    """Show the link to this page, and the Python and ONNX code that do the same, each with a button that copies.

    `onnx` may be a sentence why there is no such node. A page that converts nothing has neither.
    """
    st.header("Link and code" if python else "Link", anchor=False)
    address = urlsplit(st.context.url or "http://127.0.0.1:8501")
    link = f"{address.scheme}://{address.netloc}/{path}?{query_text(page.query())}"
    texts = (("Link", link, None), ("Python", python, "python"), ("ONNX node", onnx, "python"))[: 3 if python else 1]
    for column, (label, body, language) in zip(st.columns(len(texts)), texts, strict=True):
        with column:
            st.caption(label)
            if label == "ONNX node" and not body.startswith("import "):
                st.text(body)
            else:
                st.code(body, language=language, wrap_lines=True)
