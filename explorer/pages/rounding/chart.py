"""The charts of Rounding: the number line, and the distance between neighbours by magnitude."""

from __future__ import annotations

import json
from typing import Any

import altair as alt

from ...shared.chart import Spec, accent, is_dark, text_colour
from .view import Line, Step

__all__ = ["number_line", "step_sizes"]


def _colours() -> alt.Scale:
    neutral = ("#6b7080", "#9aa0b0")[is_dark()]
    colours = {"zero": neutral, "subnormal": text_colour("subnormal"), "normal": text_colour("mantissa")}
    return alt.Scale(domain=list(colours), range=list(colours.values()))


def number_line(line: Line, layout: str) -> Spec:
    """Return the chart of a line's points, with x as a mark in the accent colour."""
    points = [
        {"place": point.place, "row": point.row, "code": point.code, "value": point.value, "class": point.kind}
        for point in line.points
    ]
    x_mark = [] if line.x is None else [{"place": line.x, "row": line.row, "value": "x"}]
    is_binades = layout == "binades"
    rows = sorted({point.row for point in line.points}, key=_first_exponent, reverse=True) if is_binades else []
    x = alt.X("place:Q", axis=_axis(line, layout), scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("row:N", sort=rows, title=None, axis=alt.Axis(labelOverlap=False)) if is_binades else alt.Y()
    colour = alt.Color("class:N", scale=_colours(), legend=alt.Legend(orient="top", title=None))
    tooltip = [alt.Tooltip(name) for name in ("value:N", "code:N", "class:N")]
    values, number = _chart(points), _chart(x_mark)
    marks = values.mark_circle(size=55, opacity=1) if is_binades else values.mark_tick(thickness=2, size=46)
    if is_binades:
        mark = number.mark_point(shape="triangle-down", size=150, filled=True, yOffset=-10, color=accent())
    else:
        mark = number.mark_rule(strokeWidth=3, color=accent())
    placed = {"y": y} if is_binades else {}
    layers = [marks.encode(x=x, color=colour, tooltip=tooltip, **placed)]
    if x_mark:
        layers.append(mark.encode(x="place:Q", tooltip=[alt.Tooltip("value:N")], **placed))
    return _spec(alt.layer(*layers).properties(height=max(150, 22 * len(rows))))


def _spec(chart: Any) -> Spec:
    """Return a chart of Altair as Vega-Lite, the size and the colours of the view left to Streamlit."""
    spec: Spec = chart.to_dict()
    spec.pop("config", None)
    return spec


def _chart(values: list[dict[str, Any]]) -> Any:
    return alt.Chart({"values": values})


def _axis(line: Line, layout: str) -> Any:
    if layout == "binades":
        return alt.Axis(title="how far into the binade", format="%", grid=False)
    if not line.marks:
        return alt.Axis(title=None, grid=False)
    places, texts = [place for place, _ in line.marks], [text for _, text in line.marks]
    label = f"{json.dumps(texts)}[indexof({json.dumps(places)}, datum.value)]"  # the axis has the places alone
    return alt.Axis(title=None, grid=False, values=places, labelExpr=label)


def _first_exponent(row: str) -> int:
    """Return the exponent that a binade's name begins with; that of zero is below all."""
    return -(10**6) if row.startswith("0") else int(row[2:])


def step_sizes(steps: tuple[Step, ...]) -> Spec:
    """Return the chart of the distance between neighbours by magnitude, both as powers of two."""
    values = [{"low": step.low, "high": step.high, "step": step.step} for step in steps]
    names = {"low": "from 2^", "high": "to 2^", "step": "step 2^"}
    return _spec(
        _chart(values)
        .mark_bar(color=text_colour("mantissa"), height=4)
        .encode(
            x=alt.X("low:Q", title="log2 |x|", scale=alt.Scale(zero=False)),
            x2="high:Q",
            y=alt.Y("step:Q", title="log2 of the step", scale=alt.Scale(zero=False)),
            tooltip=[alt.Tooltip(f"{name}:Q", title=title) for name, title in names.items()],
        )
        .properties(height=220)
    )
