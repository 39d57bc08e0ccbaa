"""What a page shows, as one frozen dataclass a page: read from a query string and written to one.

A field knows how its text is read. A text that is wrong gives a message and the default, never an exception.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

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
from lowprec.spec.opsets import NEWEST
from lowprec.spec.rounding import ROUND_MODES

from .views.compare import COMPARABLE
from .views.conversion import PACKABLE
from .views.quantize import GRANULARITIES, SCALE_FORMATS, TARGETS
from .views.tensor import DISTRIBUTIONS

__all__ = [
    "ANATOMY_SHOWS", "FLOATS", "FORMAT_NAMES", "ORIGINS", "PAGES", "STATES", "Anatomy", "Compare", "Conversion",
    "Quantize", "Rounding", "Saturation", "choice", "flag", "many", "number", "read", "text", "whole", "write",
]  # fmt: skip

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
OPSETS = tuple(range(19, NEWEST + 1))
"""The opsets whose Cast has the float8 formats and `saturate`."""

LINES = ("linear", "symlog", "binades")
ANATOMY_SHOWS = ("decimal", "hex-float", "exact")
LONGEST = 4000
"""Characters of a query text that is read."""

_LONGEST_NUMBER = 40
_LONGEST_QUOTED = 40

S = TypeVar("S")


def _field(default: Any, parse: Callable[[str], Any], show: Callable[[Any], str] = str) -> Any:
    return field(default=default, metadata={"parse": parse, "show": show})


def _one_of(options: Sequence[str]) -> Callable[[str], str]:
    def parse(given: str) -> str:
        if given not in options:
            names = ", ".join(options) if len(options) < 8 else "one of the names in the list"
            raise ValueError(f"must be {names}")
        return given

    return parse


def choice(default: str, options: Sequence[str]) -> Any:
    """Return a field that is one of some texts."""
    return _field(default, _one_of(options))


def many(default: Sequence[str], options: Sequence[str], most: int) -> Any:
    """Return a field that is a tuple of 1 to `most` different ones of some texts, joined by commas in a link."""

    def parse(given: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(map(_one_of(options), given.split(","))))
        if len(found) > most:
            raise ValueError(f"must be at most {most} names")
        return found

    return _field(tuple(default), parse, ",".join)


def flag(default: bool) -> Any:
    """Return a field that is yes or no, 1 or 0 in a link."""
    return _field(default, lambda given: _one_of(("0", "1"))(given) == "1", lambda value: str(int(value)))


def whole(default: int, options: Iterable[int]) -> Any:
    """Return a field that is one of some integers."""
    known = {str(option): option for option in options}

    def parse(given: str) -> int:
        if given not in known:
            raise ValueError(f"must be a whole number from {min(known.values())} to {max(known.values())}")
        return known[given]

    return _field(default, parse)


def number(default: float, low: float, high: float) -> Any:
    """Return a field that is a number between two bounds, both included."""

    def parse(given: str) -> float:
        try:
            value = float(given if len(given) <= _LONGEST_NUMBER else "nan")
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise ValueError(f"must be a number from {low:g} to {high:g}")
        return value

    return _field(default, parse, repr)


def text(default: str, longest: int = 1000) -> Any:
    """Return a field that is any text up to a length; what it means, the view decides."""

    def parse(given: str) -> str:
        if len(given) > longest:
            raise ValueError(f"must be at most {longest} characters")
        return given

    return _field(default, parse)


_FIRST, _SECOND, _FLOAT = FLOAT8_E4M3FN.name, FLOAT4_E2M1FN.name, FLOAT32.name
_COMPARED = tuple(
    fmt.name for fmt in (FLOAT16, BFLOAT16, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT6_E2M3FN, FLOAT4_E2M1FN, INT8)
)
ORIGINS = ("sampled", "typed", "file")
"""Where a tensor to quantize comes from."""


@dataclass(frozen=True, slots=True)
class Anatomy:
    """One format; a code (``0x7e``, ``0b0111_1110``) or a number (``0.3``); what the code table shows."""

    fmt: str = choice(_FIRST, FORMAT_NAMES)
    at: str = text("0x2a")
    show: str = choice("decimal", ANATOMY_SHOWS)


@dataclass(frozen=True, slots=True)
class Rounding:
    """One number, one format, the options of Cast; how the number line is drawn."""

    x: str = text("0.3")
    fmt: str = choice(_FIRST, FORMAT_NAMES)
    saturate: bool = flag(True)
    opset: int = whole(NEWEST, OPSETS)
    line: str = choice("linear", LINES)


@dataclass(frozen=True, slots=True)
class Saturation:
    """The opset that the tables are computed with."""

    opset: int = whole(NEWEST, OPSETS)


@dataclass(frozen=True, slots=True)
class Compare:
    """Some formats, and one number that goes through all of them by the options of Cast."""

    fmts: tuple[str, ...] = many(_COMPARED, tuple(fmt.name for fmt in COMPARABLE), 12)
    x: str = text("0.3")
    saturate: bool = flag(True)
    round_mode: str = choice("up", ROUND_MODES)
    opset: int = whole(NEWEST, OPSETS)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A code of one format on its way to another, and a list of codes to pack."""

    source: str = choice(_FLOAT, FORMAT_NAMES)
    at: str = text("0.3")
    target: str = choice(_FIRST, FORMAT_NAMES)
    saturate: bool = flag(True)
    round_mode: str = choice("up", ROUND_MODES)
    opset: int = whole(NEWEST, OPSETS)
    packed: str = choice(_SECOND, tuple(fmt.name for fmt in PACKABLE))
    codes: str = text("0x1 0x2 0x3 0x0 0x2")


@dataclass(frozen=True, slots=True)
class Quantize:
    """A small tensor and how it is quantized; of an uploaded file only the name of the tensor is in a link."""

    origin: str = choice("sampled", ORIGINS)
    x: str = text("0.1 -0.7 3 0.25; 5 -9 0.5 0; 0.01 0.02 -0.03 1", 3000)
    distribution: str = choice(DISTRIBUTIONS[0], DISTRIBUTIONS)
    rows: int = whole(32, range(1, 257))
    columns: int = whole(64, range(1, 257))
    spread: float = number(1.0, 1e-30, 1e30)
    seed: int = whole(0, range(10_000))
    tensor: str = text("", 200)
    fmt: str = choice(_SECOND, tuple(fmt.name for fmt in TARGETS))
    per: str = choice("block", GRANULARITIES)
    axis: int = whole(-1, range(-8, 8))
    block: int = whole(32, range(1, 257))
    scale: str = choice(_FLOAT, tuple(fmt.name for fmt in SCALE_FORMATS))
    round_mode: str = choice("up", ROUND_MODES)
    zero_point: bool = flag(False)
    saturate: bool = flag(True)
    opset: int = whole(NEWEST, range(21, NEWEST + 1))


STATES: dict[str, type[Any]] = {
    cls.__name__.lower(): cls for cls in (Anatomy, Rounding, Saturation, Compare, Conversion, Quantize)
}
"""The state of every page, by its path."""


def read(cls: type[S], query: Mapping[str, str]) -> tuple[S, tuple[str, ...]]:
    """Return the state that a query means, and a message for each part that is wrong and became the default."""
    found: dict[str, Any] = {}
    problems = []
    known = {item.name: item for item in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for name, given in query.items():
        if name not in known:
            problems.append(f"This page has no {_quoted(name)} in its link; it was left out.")
            continue
        try:
            if len(given) > LONGEST:
                raise ValueError(f"must be at most {LONGEST} characters")
            found[name] = known[name].metadata["parse"](given)
        except ValueError as error:
            problems.append(f"{name} {error}; the link has {_quoted(given)}. The default is shown.")
    return cls(**found), tuple(problems)


def write(state: Any) -> dict[str, str]:
    """Return the query that `read` makes the same state of."""
    return {item.name: item.metadata["show"](getattr(state, item.name)) for item in dataclasses.fields(state)}


def _quoted(given: str) -> str:
    return repr(given if len(given) <= _LONGEST_QUOTED else given[:_LONGEST_QUOTED] + "…")
