"""The drawing of ranges: an axis of decades, and a bar for each format, its subnormals in their colour."""

from __future__ import annotations

from dataclasses import dataclass

from .ranges import Axis, Range
from .svg import Shapes, text_width

__all__ = ["RangeBars"]

_TIP = 7


@dataclass(frozen=True, slots=True)
class RangeBars:
    """Where ranges are drawn: on an axis between two x, with texts of a size."""

    shapes: Shapes
    axis: Axis
    left: float
    right: float
    size: float = 13

    def x(self, place: float) -> float:
        """Return the x of a base-2 logarithm, within the ends."""
        return self.left + (self.right - self.left) * self.axis.share(place)

    def decades(self, top: float, bottom: float) -> None:
        """Draw the round decades, with lines down to the bottom."""
        for place, text in self.axis.decades:
            x = self.x(place)
            self.shapes.line(x, top, x, bottom, "line")
            self.shapes.text(x, top - 5, text, size=12, fill="quiet", anchor="middle", mono=True)

    def bar(self, one: Range, middle: float, height: float, word: bool, avoided: float | None = None) -> None:
        """Draw the bar of a format; `word` names the subnormals, the text of its end keeps off the x `avoided`."""
        field = "exponent" if one.format.is_float else "mantissa"
        start, normal, end = self.x(one.smallest), self.x(one.normal), self.x(one.largest)
        top = middle - height / 2
        if one.format.is_float and normal > start:
            self.shapes.rect(start, top, normal - start, height, "subnormal")
            if word and normal - start > text_width("subnormal", 11.5):
                self.shapes.text((start + normal) / 2, middle + 4, "subnormal", size=11.5, fill="subnormal-text",
                                 anchor="middle")  # fmt: skip
        self.shapes.rect(normal if one.format.is_float else start, top, end - max(normal * one.format.is_float, start),
                         height, field)  # fmt: skip
        for is_beyond, x, side in ((one.smallest < self.axis.low, start, -1), (one.largest > self.axis.high, end, 1)):
            if is_beyond:
                self.shapes.path(
                    f"M{x:.1f} {top:.1f}l{side * _TIP} {height / 2}l{-side * _TIP} {height / 2}z", fill=field
                )
        width, begin = text_width(one.end, self.size, mono=True), normal if one.format.is_float else start
        right = end - 5
        if avoided is not None and right - width - 6 < avoided < right + 6:
            right = avoided - 8  # the line of the number stays free of text
        is_inside = right - width - 3 > begin
        x = right if is_inside else end + 6
        if not is_inside and avoided is not None and x - 6 < avoided < x + width + 6:
            x = avoided + 8
        self.shapes.text(x, middle + self.size * 0.36, one.end, size=self.size, fill=f"{field}-text",
                         anchor="end" if is_inside else "start", bold=True, mono=True)  # fmt: skip
