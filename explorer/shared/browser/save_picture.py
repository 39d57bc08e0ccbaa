"""The Streamlit component that saves a chart: a button for SVG and one for PNG."""

from __future__ import annotations

import re

from . import _component

__all__ = ["file_name", "save_chart"]

_SAVE_PICTURE = _component("save_picture", "saving.js")
_LONGEST = 60


def file_name(text: str) -> str:
    """Return a text as the name of a file without its ending: small letters, digits and hyphens."""
    words = re.sub(r"[^a-z0-9_.]+", "-", text.lower()).strip("-.")
    return words if len(words) <= _LONGEST else words[: _LONGEST + 1].rpartition("-")[0] or words[:_LONGEST]


def save_chart(description: str, name: str, background: str) -> None:
    """Show the buttons that save the chart in the same container, on a background of some colour."""
    data = {"name": file_name(name or description), "description": description, "background": background}
    _SAVE_PICTURE(key=f"save {description}", data=[data])
