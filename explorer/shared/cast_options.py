"""The options of a conversion on the pages: those of ONNX's Cast, or a rounding and an overflow rule beyond them."""

from __future__ import annotations

from typing import Any, TypedDict, cast

from lowprec import Format
from lowprec.spec.formats import FLOAT8_E8M0FNU
from lowprec.spec.operator_versions import NEWEST, first_opset
from lowprec.spec.rounding_modes import (
    OVERFLOWS,
    ROUNDINGS,
    STOCHASTIC,
    OverflowName,
    RoundingName,
    RoundingOptions,
    RoundModeName,
    check_rounding,
)

__all__ = [
    "BY_WIDTH",
    "DETERMINISTIC",
    "ONNX",
    "OVERFLOW_CHOICES",
    "ROUNDING_CHOICES",
    "CastOptions",
    "cast_options",
    "options_for",
    "overflow_of",
]

ONNX = "onnx"
"""The choice of a rounding that leaves it to ONNX's Cast and its attributes."""

DETERMINISTIC = tuple(name for name in ROUNDINGS if name not in STOCHASTIC)
ROUNDING_CHOICES = (ONNX, *DETERMINISTIC)

BY_WIDTH = "default"
"""The choice of an overflow rule that leaves it to the width of the target."""

OVERFLOW_CHOICES = (BY_WIDTH, *OVERFLOWS)

_POWERS = FLOAT8_E8M0FNU  # round_mode came with the format that it concerns


class CastOptions(TypedDict, total=False):
    """The options of a conversion, as the library takes them: the attributes of Cast, or the rules beyond them."""

    saturate: bool
    round_mode: RoundModeName | None
    opset: int
    rounding: RoundingName
    overflow: OverflowName


def cast_options(
    saturate: bool, round_mode: str, opset: int, rounding: str = ONNX, overflow: str = BY_WIDTH
) -> CastOptions:
    """Return the options of a page's controls; `round_mode` where the opset has it."""
    asked: Any = {"rounding": rounding} if overflow == BY_WIDTH else {"rounding": rounding, "overflow": overflow}
    if rounding == ONNX:
        mode = round_mode if opset >= first_opset(_POWERS) else None
        asked = {"saturate": saturate, "round_mode": mode, "opset": opset}
    chosen: CastOptions = asked  # the names are those of lists: the states of pages hold no others
    return chosen


def options_for(fmt: Format, options: CastOptions) -> CastOptions:
    """Return the options that concern a target: integers have no rounding, formats that ONNX lacks no opset."""
    if not fmt.is_float and "rounding" in options:
        return {"saturate": True, "round_mode": None, "opset": NEWEST}
    if fmt.onnx_enum is None and "opset" in options:
        return {**options, "opset": NEWEST}
    return options


def overflow_of(fmt: Format, overflow: str) -> OverflowName:
    """Return the overflow rule that a choice means for a float target."""
    asked = None if overflow == BY_WIDTH else overflow
    return cast("OverflowName", check_rounding(RoundingOptions(overflow=asked), fmt, "fmt").overflow)
