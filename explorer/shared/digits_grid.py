"""The drawing of binary digits in columns of their weights: a number, and the window that a format has over it."""

from __future__ import annotations

import math

from .digits import Digits, Window, weight
from .svg import WIDE, Shapes, text_width

__all__ = ["DigitsGrid"]


class DigitsGrid:
    """Columns of digits: where each weight stands, digits and windows drawn there."""

    def __init__(self, left: float, width: float, columns: range, size: float, height: float) -> None:
        self.left, self.width, self.columns, self.size, self.height = left, width, columns, size, height

    @property
    def right(self) -> float:
        """The right edge of the last column."""
        return self.left + self.width * len(self.columns)

    def x(self, exponent: int) -> float:
        """Return the left edge of a column."""
        return self.left + self.width * (self.columns[0] - exponent)

    def digit(self, shapes: Shapes, exponent: int, y: float, text: str, fill: str, bold: bool = False) -> None:
        """Write a digit in its column."""
        x = self.x(exponent) + self.width / 2
        shapes.text(x, y + self.size * 0.36, text, size=self.size, fill=fill, anchor="middle", bold=bold, mono=True)

    def headings(self, shapes: Shapes, y: float, size: float) -> None:
        """Write every third weight."""
        for exponent in self.columns:
            if exponent % 3 == 0:
                text, x = weight(exponent), self.x(exponent) + self.width / 2
                half = text_width(text, size) / 2
                shapes.text(min(max(x, half), _width_of(shapes) - half), y, text, size=size, fill="quiet",
                            anchor="middle")  # fmt: skip

    def number(self, shapes: Shapes, y: float, digits: Digits) -> None:
        """Write the digits of the number: zeros before it and before the point in grey."""
        for exponent in self.columns:
            is_first = exponent > digits.first and exponent >= 0
            if not is_first or exponent == 0:
                fill = "quiet" if is_first else "accent"
                self.digit(shapes, exponent, y, digits.at(exponent) or "?", fill, bold=not is_first)
        if digits.goes_on or digits.first - len(digits.bits.rstrip("0")) + 1 < self.columns[-1]:
            shapes.text(self.right + 2, y + self.size * 0.36, "…", size=self.size, fill="accent", bold=True)

    def window(self, shapes: Shapes, y: float, window: Window, digits: Digits | None) -> None:
        """Draw the digits that a format keeps in boxes, those that it cuts in grey."""
        bits, top = window.hidden + window.kept, y - self.height / 2
        for exponent in self.columns:
            index = window.first - exponent
            if not 0 <= index < len(bits):
                is_cut = digits and (exponent < window.last or exponent <= digits.first)
                if digits and is_cut and exponent <= max(digits.first, 0):
                    self.digit(shapes, exponent, y, digits.at(exponent), "cut")
                continue
            x, is_hidden = self.x(exponent), index < len(window.hidden)
            if is_hidden:
                shapes.rect(x + 1.5, top + 1, self.width - 3, self.height - 2, "none", radius=3, stroke="mantissa-text",
                            stroke_width=1.2, stroke_dasharray="4 3")  # fmt: skip
            else:
                shapes.rect(x + 0.75, top, self.width - 1.5, self.height, "mantissa", radius=3)
            self.digit(shapes, exponent, y, bits[index], "mantissa-text", bold=not is_hidden)
            if exponent in window.changed:
                shapes.line(
                    x + 3, top + self.height + 2.5, x + self.width - 3, top + self.height + 2.5, "accent", width=2.5
                )
        self._beyond(shapes, y, window)

    def _beyond(self, shapes: Shapes, y: float, window: Window) -> None:
        """Say where a window lies that is not in sight, and mark one that goes on."""
        span = f"{weight(window.first)} … {weight(window.last)}" if window.first > window.last else weight(window.last)
        base = y + self.size * 0.36
        if window.last > self.columns[0]:
            self._note(shapes, self.left, base, f"← {span}", "start")
        elif window.first < self.columns[-1]:
            self._note(shapes, self.right, base, f"{span} →", "end")
        elif window.last < self.columns[-1]:
            more = self.columns[-1] - window.last
            self._note(shapes, self.right, base, f"+{more} →", "end")

    def _note(self, shapes: Shapes, x: float, base: float, text: str, anchor: str) -> None:
        width = math.ceil((text_width(text, 12) + 8) / self.width) * self.width  # whole columns
        shapes.rect(x - (width if anchor == "end" else 0), base - 19, width, 28, "page")
        shapes.text(x + (-4 if anchor == "end" else 4), base, text, size=12, fill="mantissa-text", anchor=anchor)


def _width_of(shapes: Shapes) -> float:
    """Return the width of the drawing that shapes belong to."""
    return float(shapes.element.get("width") or WIDE)
