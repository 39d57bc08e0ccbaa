"""The pictures of the page Rounding: the interval as HTML, the number line and the spacing as charts."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import altair as alt

from lowprec import Format
from lowprec.reference.exact_cast import Value

from . import theme
from .render import strip
from .views.numberline import Line, Step
from .views.numbers import apart, code_text
from .views.rounding import Rounding

__all__ = ["interval", "number_line", "steps"]


def _named(end: tuple[int, Value] | None, fmt: Format) -> str:
    return apart(end[1], fmt) if end else "no value"


def _end(side: str, end: tuple[int, Value] | None, fmt: Format, won: bool) -> str:
    bits = "" if end is None else f"{strip(fmt, end[0])}<br>{code_text(end[0], fmt)}"
    crown = '<span class="lp-crown">wins</span>' if won else ""
    return f'<div class="lp-end lp-{side}"><b>{escape(_named(end, fmt))}</b>{crown}<br>{bits}</div>'


def interval(found: Rounding) -> str:
    """Return the interval as HTML: both ends, the middle, x, and the end that wins."""
    drawn, fmt = found.interval, found.explanation.format
    if drawn is None:
        return ""
    sides = [
        _end("left", drawn.left, fmt, drawn.winner == "left"),
        _end("right", drawn.right, fmt, drawn.winner == "right"),
    ]
    is_exact = drawn.winner == "exact"
    middle = "" if is_exact or drawn.middle is None else f"midpoint {apart(drawn.middle, fmt)}"
    dashes = "" if not middle else '<i class="lp-mid" style="left:50%"></i>'
    mark = f"x = {apart(found.explanation.x, fmt)}"
    said = f"{mark} between {_named(drawn.left, fmt)} and {_named(drawn.right, fmt)}"
    place = 100 * drawn.position
    # the label stays inside the picture, whichever end x is near
    shift = "translateX(-50%)" if 15 < place < 85 else "translateX(-100%)" if place >= 85 else "none"
    return (
        f'<div class="lp-interval" role="img" aria-label="{escape(said)}">'
        f'<div class="lp-x" style="left:{place:.4f}%;transform:{shift}">{escape(mark)}</div>'
        f'<div class="lp-bar"><i class="lp-tick" style="left:0"></i><i class="lp-tick" style="left:100%"></i>'
        f'{dashes}<i class="lp-dot" style="left:{place:.4f}%"></i></div>'
        f'<div class="lp-ends">{sides[0]}<div class="lp-end lp-middle">{escape(middle)}</div>{sides[1]}</div></div>'
    )


def _colours(dark: bool) -> alt.Scale:
    neutral = ("#6b7080", "#9aa0b0")[dark]
    found = {"zero": neutral, "subnormal": theme.pair("subnormal")[dark], "normal": theme.pair("mantissa")[dark]}
    return alt.Scale(domain=list(found), range=list(found.values()))


def number_line(line: Line, how: str, dark: bool) -> Any:
    """Return the chart of a line's points, with x as a mark in the accent colour."""
    points = [{"place": point.place, "row": point.row, "code": point.code, "value": point.value, "class": point.kind}
              for point in line.points]  # fmt: skip
    here = [] if line.x is None else [{"place": line.x, "row": line.row, "value": "x"}]
    is_binades = how == "binades"
    rows = sorted({point.row for point in line.points}, key=_first_exponent, reverse=True) if is_binades else []
    x = alt.X("place:Q", axis=_axis(line, how), scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("row:N", sort=rows, title=None, axis=alt.Axis(labelOverlap=False)) if is_binades else alt.Y()
    colour = alt.Color("class:N", scale=_colours(dark), legend=alt.Legend(orient="top", title=None))
    tooltip = [alt.Tooltip(name) for name in ("value:N", "code:N", "class:N")]
    values, number = _chart(points), _chart(here)
    marks = values.mark_circle(size=55, opacity=1) if is_binades else values.mark_tick(thickness=2, size=46)
    accent = {"color": theme.ACCENT[dark]}
    mark = number.mark_point(shape="triangle-down", size=150, filled=True, yOffset=-10, **accent) if is_binades else (
        number.mark_rule(strokeWidth=3, **accent)
    )  # fmt: skip
    placed = {"y": y} if is_binades else {}
    layers = [marks.encode(x=x, color=colour, tooltip=tooltip, **placed)]
    if here:
        layers.append(mark.encode(x="place:Q", tooltip=[alt.Tooltip("value:N")], **placed))
    return alt.layer(*layers).properties(height=max(150, 22 * len(rows)))


def _chart(values: list[dict[str, Any]]) -> Any:
    return alt.Chart({"values": values})


def _axis(line: Line, how: str) -> Any:
    if how == "binades":
        return alt.Axis(title="how far into the binade", format="%", grid=False)
    if not line.marks:
        return alt.Axis(title=None, grid=False)
    places, texts = [place for place, _ in line.marks], [text for _, text in line.marks]
    label = f"{json.dumps(texts)}[indexof({json.dumps(places)}, datum.value)]"  # the axis itself knows places alone
    return alt.Axis(title=None, grid=False, values=places, labelExpr=label)


def _first_exponent(row: str) -> int:
    """Return the exponent that a binade's name begins with; that of zero is below all."""
    return -(10**6) if row.startswith("0") else int(row[2:])


def steps(found: tuple[Step, ...], dark: bool) -> Any:
    """Return the chart of the distance between neighbours by magnitude, both as powers of two."""
    values = [{"low": step.low, "high": step.high, "step": step.step} for step in found]
    names = {"low": "from 2^", "high": "to 2^", "step": "step 2^"}
    return (
        _chart(values)
        .mark_bar(color=theme.pair("mantissa")[dark], height=4)
        .encode(
            x=alt.X("low:Q", title="log2 |x|", scale=alt.Scale(zero=False)), x2="high:Q",
            y=alt.Y("step:Q", title="log2 of the step", scale=alt.Scale(zero=False)),
            tooltip=[alt.Tooltip(f"{name}:Q", title=title) for name, title in names.items()],
        )
        .properties(height=220)
    )  # fmt: skip
