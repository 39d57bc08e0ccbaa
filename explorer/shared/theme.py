"""The colours of pages, styles and charts: an accent, three bit fields, six classes of codes; light and dark."""

from __future__ import annotations

__all__ = ["ACCENT", "CLASSES", "FIELDS", "LINES", "OPTIONS", "QUIET", "ROLES", "text_colours"]

ACCENT = ("#6d28d9", "#b79cff")
"""On the page's background, in the light and the dark scheme."""

QUIET = ("#5a5f6d", "#a3a8b6")
"""Text that explains."""

LINES = ("#d9dbe2", "#363a45")
"""Hairlines of tables and cards, cells and bars of pictures."""

FRAMES = ("#c3c6d0", "#4a4f5d")
"""Frames of buttons, and scroll bars."""

PAGE = ("#ffffff", "#14161c")
"""The background of pages, and text on the accent."""

TEXT = ("#23262f", "#e6e8ee")
"""Text, and the walls of a range."""

PANEL = ("#f4f4f7", "#20232c")
"""Behind controls and charts."""

SOFT = ("#f0e9fc", "#2a2342")
"""Behind what is chosen."""

CUT = ("#9297a4", "#727887")
"""Digits that a format does not keep."""

HELD = ("#b9d3fb", "#24498a")
"""What a format holds wholly."""

ROLES = {
    "accent": ACCENT, "quiet": QUIET, "line": LINES, "frame": FRAMES, "page": PAGE, "text": TEXT, "panel": PANEL,
    "soft": SOFT, "cut": CUT, "held": HELD,
}  # fmt: skip
"""The colours of pages and pictures that stand for no field and no class."""

FIELDS = {
    "sign": (("#fde3d3", "#8a2c04"), ("#4a2312", "#ffb692")),
    "exponent": (("#d5f1e3", "#05603f"), ("#0d3a2a", "#7fe0b4")),
    "mantissa": (("#dce9fd", "#123f94"), ("#16305c", "#a9cbff")),
}
"""(background, text) of the bits in the light scheme, then in the dark one; the same on every page."""

CLASSES = {
    "normal": (("#ffffff", "#23262f"), ("#14161c", "#e6e8ee")),
    "integer": (("#ffffff", "#23262f"), ("#14161c", "#e6e8ee")),
    "subnormal": (("#fdf3cf", "#5f4700"), ("#3b3110", "#f5dc8c")),
    "zero": (("#e3e5ea", "#33363f"), ("#363a45", "#eceef3")),
    "inf": (("#e9defc", "#4c1d95"), ("#35245c", "#d6c3ff")),
    "nan": (("#fbdde3", "#8c1230"), ("#52162a", "#ffb0c2")),
}
"""(background, text) of a code by its class."""

OPTIONS = {
    "theme.light.primaryColor": ACCENT[0],
    "theme.light.backgroundColor": PAGE[0],
    "theme.light.secondaryBackgroundColor": PANEL[0],
    "theme.light.textColor": TEXT[0],
    "theme.dark.primaryColor": ACCENT[1],
    "theme.dark.backgroundColor": PAGE[1],
    "theme.dark.secondaryBackgroundColor": PANEL[1],
    "theme.dark.textColor": TEXT[1],
    "theme.paddingTop": "4.2rem",
    "theme.baseRadius": "small",
}
"""Streamlit's own theme, as its configuration names it."""


def text_colours(name: str) -> tuple[str, str]:
    """Return the text colour of a field or class (light, dark); charts draw with it."""
    light, dark = {**FIELDS, **CLASSES}[name]
    return light[1], dark[1]
