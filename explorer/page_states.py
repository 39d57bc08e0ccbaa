"""The pages and their states: all that a page shows, one frozen dataclass for each; its fields are those of `links`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lowprec.spec.formats import (
    BFLOAT16,
    FLOAT4_E2M1FN,
    FLOAT6_E2M3FN,
    FLOAT8_E4M3FN,
    FLOAT8_E5M2,
    FLOAT16,
    FLOAT32,
    INT8,
    NUMERIC,
)
from lowprec.spec.opset_rules import NEWEST
from lowprec.spec.round_modes import ROUND_MODES

from .url_query import choice, flag, format_name, format_names, integer, number, text
from .views.cast_options import BY_WIDTH, ONNX, OVERFLOW_CHOICES, ROUNDING_CHOICES
from .views.compare import COMPARABLE
from .views.conversion import PACKABLE, packing_problem
from .views.quantize import GRANULARITIES, SCALE_FORMATS, TARGETS, target_problem
from .views.tensor import DISTRIBUTIONS

__all__ = [
    "ANATOMY_SHOWS",
    "COMPARED_NAMES",
    "FLOATS",
    "FORMAT_NAMES",
    "LINES",
    "MAX_COMPARED",
    "OPSETS",
    "ORIGINS",
    "PACKABLE_NAMES",
    "PAGES",
    "STATES",
    "TARGET_NAMES",
    "Anatomy",
    "Compare",
    "Conversion",
    "Quantize",
    "Rounding",
    "Saturation",
]

PAGES = (
    ("anatomy", "Anatomy", "grid_on"),
    ("rounding", "Rounding", "straighten"),
    ("saturation", "Saturation", "table"),
    ("compare", "Compare", "bar_chart"),
    ("conversion", "Cast & BitCast", "swap_horiz"),
    ("quantize", "Quantize", "blur_on"),
)
"""Path, title and icon of every page, in order; the first is the start page."""

FORMAT_NAMES = tuple(fmt.name for fmt in NUMERIC)
FLOATS = tuple(fmt.name for fmt in NUMERIC if fmt.is_float)
COMPARED_NAMES = tuple(fmt.name for fmt in COMPARABLE)
PACKABLE_NAMES = tuple(fmt.name for fmt in PACKABLE)
TARGET_NAMES = tuple(fmt.name for fmt in TARGETS)
OPSETS = tuple(range(19, NEWEST + 1))
"""The opsets whose Cast has the float8 formats and `saturate`."""

LINES = ("linear", "symlog", "binades")
ANATOMY_SHOWS = ("decimal", "hex-float", "exact")
MAX_COMPARED = 12
"""Formats that are compared at once."""

_FIRST, _SECOND, _FLOAT = FLOAT8_E4M3FN.name, FLOAT4_E2M1FN.name, FLOAT32.name
_COMPARED = tuple(
    fmt.name for fmt in (FLOAT16, BFLOAT16, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT6_E2M3FN, FLOAT4_E2M1FN, INT8)
)
ORIGINS = ("sampled", "typed", "file")
"""Where a tensor to quantize comes from."""


@dataclass(frozen=True, slots=True)
class Anatomy:
    """One format; a code (``0x7e``, ``0b0111_1110``) or a number (``0.3``); what the code table shows."""

    fmt: str = format_name(_FIRST, FORMAT_NAMES)
    at: str = text("0x2a")
    show: str = choice("decimal", ANATOMY_SHOWS)


@dataclass(frozen=True, slots=True)
class Rounding:
    """One number, one format, the options of Cast; the number line; the rounding that is drawn, the overflow rule."""

    x: str = text("0.3")
    fmt: str = format_name(_FIRST, FORMAT_NAMES)
    saturate: bool = flag(True)
    opset: int = integer(NEWEST, OPSETS)
    line: str = choice("linear", LINES)
    rounding: str = choice(ONNX, ROUNDING_CHOICES)
    overflow: str = choice(BY_WIDTH, OVERFLOW_CHOICES)


@dataclass(frozen=True, slots=True)
class Saturation:
    """The opset that the tables are computed with."""

    opset: int = integer(NEWEST, OPSETS)


@dataclass(frozen=True, slots=True)
class Compare:
    """Some formats, one number that is cast to all of them, the options of Cast or a rounding beyond it."""

    fmts: tuple[str, ...] = format_names(_COMPARED, COMPARED_NAMES, MAX_COMPARED)
    x: str = text("0.3")
    saturate: bool = flag(True)
    round_mode: str = choice("up", ROUND_MODES)
    opset: int = integer(NEWEST, OPSETS)
    rounding: str = choice(ONNX, ROUNDING_CHOICES)
    overflow: str = choice(BY_WIDTH, OVERFLOW_CHOICES)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A code of one format, the format it is cast to, the options of Cast or a rounding beyond it; codes to pack."""

    source: str = format_name(_FLOAT, FORMAT_NAMES)
    at: str = text("0.3")
    target: str = format_name(_FIRST, FORMAT_NAMES)
    saturate: bool = flag(True)
    round_mode: str = choice("up", ROUND_MODES)
    opset: int = integer(NEWEST, OPSETS)
    packed: str = format_name(_SECOND, PACKABLE_NAMES, packing_problem)
    codes: str = text("0x1 0x2 0x3 0x0 0x2")
    rounding: str = choice(ONNX, ROUNDING_CHOICES)
    overflow: str = choice(BY_WIDTH, OVERFLOW_CHOICES)


@dataclass(frozen=True, slots=True)
class Quantize:
    """A small tensor and how it is quantized; a link holds the name of a file's tensor, not the file."""

    origin: str = choice("sampled", ORIGINS)
    x: str = text("0.1 -0.7 3 0.25; 5 -9 0.5 0; 0.01 0.02 -0.03 1", 3000)
    distribution: str = choice(DISTRIBUTIONS[0], DISTRIBUTIONS)
    rows: int = integer(32, range(1, 257))
    columns: int = integer(64, range(1, 257))
    spread: float = number(1.0, 1e-30, 1e30)
    seed: int = integer(0, range(10_000))
    tensor: str = text("", 200)
    fmt: str = format_name(_SECOND, TARGET_NAMES, target_problem)
    per: str = choice("block", GRANULARITIES)
    axis: int = integer(-1, range(-8, 8))
    block: int = integer(32, range(1, 257))
    scale: str = choice(_FLOAT, tuple(fmt.name for fmt in SCALE_FORMATS))
    round_mode: str = choice("up", ROUND_MODES)
    zero_point: bool = flag(False)
    saturate: bool = flag(True)
    opset: int = integer(NEWEST, range(21, NEWEST + 1))


STATES: dict[str, type[Any]] = {
    cls.__name__.lower(): cls for cls in (Anatomy, Rounding, Saturation, Compare, Conversion, Quantize)
}
"""The state of every page, by its path."""
