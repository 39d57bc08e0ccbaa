"""The drawing of a step of the lesson, in sizes that are read from the last row."""

from __future__ import annotations

from ...shared.svg import Drawing, text_width
from .classroom_view import NUMBER, End, Step

__all__ = ["drawing"]

_LEFT, _RIGHT, _WIDTH, _HEIGHT = 130, 990, 1180, 446
_TOP, _BOTTOM = 140, 224


def drawing(step: Step) -> Drawing:
    """Return the drawing of a step."""
    lower, upper = step.lower, step.upper

    def x_of(number: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (number - float(lower.number)) / float(upper.number - lower.number)

    x, middle = x_of(float(NUMBER)), x_of(float(step.midpoint))
    has_meaning = "meaning" in step.shows
    beyond = "nan" if has_meaning else "mantissa"
    d = Drawing(_WIDTH, _HEIGHT, f"{NUMBER} lies between {lower.text} and {upper.text}. {step.sentence}")
    d.rect(0, _TOP, _WIDTH, _BOTTOM - _TOP, "panel")
    d.rect(_LEFT, _TOP, middle - _LEFT, _BOTTOM - _TOP, "mantissa")
    d.rect(middle, _TOP, _RIGHT - middle, _BOTTOM - _TOP, beyond)
    d.line(middle, _TOP - 14, middle, _BOTTOM + 14, "quiet", width=3, dashed=True)
    d.line(_LEFT, _TOP - 20, _LEFT, _BOTTOM + 20, "text", width=7)
    d.line(_RIGHT, _TOP - 20, _RIGHT, _BOTTOM + 20, "nan-text" if has_meaning else "text", width=7)
    if "distances" in step.shows:
        for end, edge in ((lower, _LEFT), (upper, _RIGHT)):
            d.line(edge, _TOP - 40, x, _TOP - 40, "quiet", width=4)
            for tip in (edge, x):
                d.line(tip, _TOP - 50, tip, _TOP - 30, "quiet", width=4)
            d.text((edge + x) / 2, _TOP - 62, end.distance, size=40, anchor="middle", bold=True, mono=True)
    if step.shows:
        for end, left, right, kind in ((lower, _LEFT, middle, "mantissa"), (upper, middle, _RIGHT, beyond)):
            centre = (left + right) / 2
            if abs(centre - x) > 170:
                d.text(centre, _TOP + 53, f"nearer to {end.text}", size=32, anchor="middle", fill=f"{kind}-text")
    if has_meaning:
        d.text(middle, _TOP - 24, str(step.midpoint), size=32, anchor="middle", fill="quiet", mono=True)
    if "to upper" in step.shows:
        d.arc(x, _TOP - 6, _RIGHT - 8, _TOP - 20, 55, "accent", width=7)
    if "back" in step.shows:
        d.arc(_RIGHT - 20, _TOP - 60, _LEFT + 8, _TOP - 24, 50, "quiet", width=5)
        d.text((_LEFT + _RIGHT) / 2, 22, "saturate", size=32, anchor="middle", fill="quiet")
    if "to lower" in step.shows:
        d.arc(x, _TOP - 6, _LEFT + 8, _TOP - 6, 16, "accent", width=7)
    d.circle(x, (_TOP + _BOTTOM) / 2, 24, "accent")
    d.circle(x, (_TOP + _BOTTOM) / 2, 10, "page")
    d.text(x, 304, NUMBER, size=54, anchor="middle", fill="accent", bold=True, mono=True)
    d.text(_LEFT, 304, lower.text, size=54, anchor="middle", bold=True, mono=True)
    if has_meaning:
        d.text(_RIGHT - 12, 304, upper.text, size=54, anchor="end", fill="nan-text", mono=True, struck=True)
        d.badge(_RIGHT + 76, 304, upper.meaning, "nan", size=50)
    else:
        d.text(_RIGHT, 304, upper.text, size=54, anchor="middle", bold=True, mono=True)
    if "codes" in step.shows:
        for end, centre in ((lower, _LEFT), (upper, _RIGHT)):
            _code(d, end, centre)
    return d


def _code(d: Drawing, end: End, x: float) -> None:
    whole = sum(text_width(bits, 38, mono=True) + 8 for _, bits in end.bits) + 4
    centre = max(x, whole / 2)
    d.code(centre, 388, end.bits, size=38, anchor="middle")
    d.text(centre, 438, end.code, size=34, anchor="middle", fill="nan-text" if end.meaning else "quiet", mono=True,
           bold=bool(end.meaning))  # fmt: skip
