"""The charts of the pages: the numbers of a view in, a Vega-Lite specification in the page's colours out."""

from __future__ import annotations

from typing import Any

import streamlit as st

from . import theme
from .browser.save_picture import save_chart

__all__ = ["Spec", "accent", "background", "is_dark", "show", "text_colour"]

Spec = dict[str, Any]

_AS_SVG = {"embedOptions": {"renderer": "svg"}}  # a chart of many marks would be a canvas, which cannot be saved as SVG


def show(spec: Spec, description: str, name: str = "") -> None:
    """Show a chart as wide as the page, with a text for those who do not see it, and buttons that save it.

    `name` is that of the file, by default made of the description; the charts of one page have different ones.
    """
    drawn = {**spec, "description": description, "usermeta": _AS_SVG}
    with st.container(gap="xsmall"):
        st.vega_lite_chart(spec=drawn, width="stretch")
        save_chart(description, name, background())


def is_dark() -> bool:
    """Whether the page is shown in the dark scheme."""
    return st.context.theme.type == "dark"


def background() -> str:
    """Return the colour of the page in the scheme."""
    return theme.OPTIONS[f"theme.{'dark' if is_dark() else 'light'}.backgroundColor"]


def accent() -> str:
    """Return the accent colour of the scheme."""
    return theme.ACCENT[is_dark()]


def text_colour(name: str) -> str:
    """Return the text colour of a field or class in the scheme."""
    return theme.text_colours(name)[is_dark()]
