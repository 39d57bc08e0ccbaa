"""The pages and their states: all that a page shows, one frozen dataclass for each, in a module of the page's name.

Its fields are those of `url_query`, which reads them from a link.
"""

from __future__ import annotations

from .anatomy import ANATOMY_SHOWS, Anatomy
from .arithmetic import ARITHMETIC_SHOWS, Arithmetic
from .compare import COMPARED_NAMES, MAX_COMPARED, Compare
from .conversion import PACKABLE_NAMES, Conversion
from .describe import DESCRIBABLE_NAMES, Describe
from .errors import Errors
from .options import FLOATS, FORMAT_NAMES, OPSETS
from .quantize import MOST_SIDE_BY_SIDE, ORIGINS, SCHEMES, SHOWS, TARGET_NAMES, Quantize
from .rounding import LINES, Rounding
from .saturation import MOST_OTHERS, Saturation
from .selection import PageState, Selection, at_an_opset
from .start import Start

__all__ = [
    "ANATOMY_SHOWS",
    "ARITHMETIC_SHOWS",
    "COMPARED_NAMES",
    "DESCRIBABLE_NAMES",
    "FLOATS",
    "FORMAT_NAMES",
    "LINES",
    "MAX_COMPARED",
    "MOST_OTHERS",
    "MOST_SIDE_BY_SIDE",
    "OPSETS",
    "ORIGINS",
    "PACKABLE_NAMES",
    "PAGES",
    "SCHEMES",
    "SHOWS",
    "STATES",
    "TARGET_NAMES",
    "Anatomy",
    "Arithmetic",
    "Compare",
    "Conversion",
    "Describe",
    "Errors",
    "PageState",
    "Quantize",
    "Rounding",
    "Saturation",
    "Selection",
    "Start",
    "at_an_opset",
]

PAGES = (
    ("start", "Start", "school"),
    ("anatomy", "Anatomy", "grid_on"),
    ("rounding", "Rounding", "straighten"),
    ("errors", "Errors", "ssid_chart"),
    ("saturation", "Saturation", "table"),
    ("compare", "Compare", "bar_chart"),
    ("conversion", "Cast & BitCast", "swap_horiz"),
    ("arithmetic", "Arithmetic", "calculate"),
    ("quantize", "Quantize", "blur_on"),
    ("describe", "Describe a format", "tune"),
)
"""Path, title and icon of every page, in order; the bare address leads to the first."""

STATES: dict[str, type[PageState]] = {
    "start": Start,
    "anatomy": Anatomy,
    "rounding": Rounding,
    "errors": Errors,
    "saturation": Saturation,
    "compare": Compare,
    "conversion": Conversion,
    "arithmetic": Arithmetic,
    "quantize": Quantize,
    "describe": Describe,
}
"""The state of every page, by its path."""
