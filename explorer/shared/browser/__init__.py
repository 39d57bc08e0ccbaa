"""The Streamlit components: each has a file of its own; here what they share, and the script of the whole page.

The data of each is a list: in a dict Streamlit would look for tables, and import pandas for that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

__all__ = ["page_script"]

_HERE = Path(__file__).parent


def _component(name: str, *shared: str) -> Any:
    """Return a component of three files; `shared` are files of JavaScript that stand before its own."""
    html, css, js = (_HERE.joinpath(f"{name}.{suffix}").read_text(encoding="utf-8") for suffix in ("html", "css", "js"))
    js = "".join([*(_HERE.joinpath(file).read_text(encoding="utf-8") for file in shared), js])
    return st.components.v2.component(f"lowprec_{name}", html=html, css=css, js=js)


_PAGE_SCRIPT = st.components.v2.component(
    "lowprec_page_script", js=_HERE.joinpath("page_script.js").read_text(encoding="utf-8")
)


def page_script(*, leads_to: str | None = None) -> None:
    """Install the script of the whole page; it shows nothing. An address that is no page `leads_to` a page's path."""
    with st.container(key="page-script"):
        _PAGE_SCRIPT(key="page script", data=[leads_to])
