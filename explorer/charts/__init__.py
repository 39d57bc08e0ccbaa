"""The charts of the pages: the numbers of a view in, a Vega-Lite specification in the page's colours out."""

from __future__ import annotations

from typing import Any

import streamlit as st

from .. import theme

__all__ = ["Spec", "accent", "is_dark", "show", "text_colour"]

Spec = dict[str, Any]


def show(spec: Spec, description: str) -> None:
    """Show a chart as wide as the page, with a text for those who do not see it."""
    st.vega_lite_chart(spec={**spec, "description": description}, width="stretch")


def is_dark() -> bool:
    """Whether the page is shown in the dark scheme."""
    return st.context.theme.type == "dark"


def accent() -> str:
    """Return the accent colour of the scheme."""
    return theme.ACCENT[is_dark()]


def text_colour(name: str) -> str:
    """Return the text colour of a field or class in the scheme."""
    return theme.text_colours(name)[is_dark()]
