"""Why symmetric int8 loses −128: one scale for both signs, drawn next to the scale that would use the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

import lowprec as lp
from lowprec.reference.exact_cast import Value
from lowprec.spec.formats import INT8

from ...shared.browser.picture import picture
from ...shared.controls import Controls
from ...shared.numbers import short
from ...shared.ranges import minus
from ...shared.svg import NARROW, WIDE, Drawing
from .state import Quantize
from .tensor import Tensor

__all__ = ["Ruler", "drawing", "rulers", "show_section"]

_SENTENCE = (
    "Symmetric quantization has one scale and no zero point: x and −x get codes of opposite sign. int8 has −128 but no "
    "128, so the scale is the largest |x| over 127, and no number becomes −128. A scale over 128 would use it, and the "
    "largest positive number would saturate. A zero point uses all 256 codes."
)


_CODES = (-128, -127, -126, 0, 126, 127)
"""The codes that are drawn: the ends, and 0."""


@dataclass(frozen=True, slots=True)
class Ruler:
    """A scale, as a text, the values of some codes by it, and what -1 and 1 become: codes and values."""

    scale: str
    values: tuple[Value, ...]
    codes: tuple[int, int]
    became: tuple[Value, Value]


def rulers() -> tuple[Ruler, Ruler]:
    """Return the scale that the library chooses for -1 and 1, and the one by which -1 becomes -128."""
    chosen = lp.absmax_scale(_ENDS, INT8)
    return _ruler("1/127", np.asarray(chosen)), _ruler("1/128", np.float32(2.0**-7))


_ENDS = np.array([-1, 1], np.float32)


def _ruler(text: str, scale: Any) -> Ruler:
    codes = lp.quantize_linear(_ENDS, scale, output_dtype=INT8)
    every = lp.dequantize_linear(np.append(np.array(_CODES, np.int8), codes), scale)
    *values, low, high = map(Value.of, np.asarray(every).tolist())
    return Ruler(text, tuple(values), (int(codes[0]), int(codes[1])), (low, high))


def drawing(*, wide: bool) -> Drawing:
    """Return the codes at both ends by two scales, and where -1 and 1 go."""
    width = float(WIDE if wide else NARROW)
    label = "Symmetric int8: by the scale 1/127 no number becomes −128, by 1/128 the number 1 saturates"
    picture = Drawing(width, 268, label)
    picture.text(0, 17, "−1 and 1 in int8, without a zero point", size=16 if wide else 14, bold=True)
    for place, ruler in enumerate(rulers()):
        _row(picture, ruler, 72.0 + 106 * place, wide)
    return picture


def _row(picture: Drawing, ruler: Ruler, y: float, wide: bool) -> None:
    """Draw a box for each code, 128 dashed, which is none; an arrow to what each number becomes."""
    left, pitch = (132.0, 113.0) if wide else (0.0, 39.8)
    places = dict(zip(_CODES, (0, 1, 2, 4, 6, 7), strict=True))
    is_used = ruler.codes[0] == min(_CODES)
    picture.text(0, y + 22 if wide else y - 34, f"scale {ruler.scale}", size=15 if wide else 13, bold=True, mono=True)
    for code, value in zip(_CODES, ruler.values, strict=True):
        x, is_lost = left + pitch * places[code], code == min(_CODES) and not is_used
        kind = "nan" if is_lost else "mantissa"
        picture.rect(x + 1, y, pitch - 2, 32, kind, radius=3)
        picture.text(x + pitch / 2, y + 21, minus(str(code)), size=16 if wide else 12, fill=f"{kind}-text",
                     anchor="middle", bold=True, mono=True, struck=is_lost)  # fmt: skip
        if wide:
            text = minus(short(value, 8, 5))
            picture.text(x + pitch / 2, y + 50, text, size=12.5, fill="quiet", anchor="middle", mono=True)
    for place in (3, 5):
        picture.text(left + pitch * (place + 0.5), y + 20, "…", size=16, fill="quiet", anchor="middle")
    ghost = left + pitch * 8
    picture.rect(ghost + 1, y, pitch - 2, 32, "page", radius=3, stroke="quiet", stroke_dasharray="4 3")
    picture.text(ghost + pitch / 2, y + 21, "128", size=16 if wide else 12, fill="quiet", anchor="middle", mono=True,
                 struck=True)  # fmt: skip
    ends = zip(("−1", "1"), ruler.codes, strict=True)
    for number, code in ends:
        saturates = is_used and code > 0
        x = left + pitch * ((8 if saturates else places[code]) + 0.5)
        colour = "nan-text" if saturates else "accent"
        picture.text(x, y - 18, number, size=15, fill=colour, anchor="middle", bold=True, mono=True)
        picture.arrow(f"M{x:.1f} {y - 14:.1f}L", (x, y - 2), (0, 1), colour)
        if saturates:
            picture.arc(x - 14, y - 4, left + pitch * 7.5, y - 2, 10, colour, width=2)
    lost = f"saturates: 1 becomes {minus(short(ruler.became[1], 10, 7))}" if is_used else ""
    below = y + (68 if wide else 52)
    picture.text(left + pitch * 9, below, lost, size=13, fill="nan-text", anchor="end")
    if not is_used:
        picture.text(left, below, "no number becomes −128", size=13, fill="nan-text")


def show_section(page: Controls[Quantize], _: Tensor) -> None:
    """Show the sentence and the picture."""
    st.markdown(_SENTENCE)
    picture(drawing(wide=True), drawing(wide=False), name="symmetric int8")
