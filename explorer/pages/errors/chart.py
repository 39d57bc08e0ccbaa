"""The chart of Errors: a line for each format and rounding, a band where chance or many values leave a range."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ...shared.chart import Spec, accent, text_colour
from .view import Curve

__all__ = ["error_chart"]

_TITLES = {"absolute": "error (result - x)", "relative": "error / |x|", "ulp": "error in ulp of x"}

_MOST_SHOWN = 1.1
"""Relative errors beyond are cut off: a number next to zero that is rounded away from it has any."""


def _float(number: Fraction | None) -> float | None:
    return None if number is None else float(number)


def error_chart(curves: Sequence[Curve], measure: str, scale: str, x: float | None) -> tuple[Spec, bool]:
    """Return the chart, and whether errors are cut off at its edges; `x` is a number to mark, if it is in the range."""
    lines: list[Spec] = []
    bands: list[Spec] = []
    marks: list[Spec] = []
    for curve in curves:
        is_band = curve.curve.is_stochastic or not curve.curve.is_complete
        for order, point in enumerate(curve.points):
            row = {"curve": curve.name, "order": order, "x": float(point.x)}
            if is_band:
                bands.append({**row, "least": _float(point.least), "greatest": _float(point.greatest)})
            if not is_band or curve.curve.is_stochastic:
                lines.append({**row, "error": _float(point.mean)})
        if curve.at_x is not None and curve.at_x.mean is not None:
            marks.append({"curve": curve.name, "x": float(curve.at_x.x), "error": float(curve.at_x.mean)})
    ends = [abs(row[name]) for row in bands for name in ("least", "greatest") if row[name] is not None]
    ends += [abs(row["error"]) for row in lines if row["error"] is not None]
    is_cut = measure == "relative" and max(ends, default=0) > _MOST_SHOWN
    vertical = {"domain": [-_MOST_SHOWN, _MOST_SHOWN], "clamp": False} if is_cut else {}
    axis = {"title": _TITLES[measure], "format": "%" if measure == "relative" else ".3~g"}
    names = {"field": "curve", "type": "nominal", "sort": [curve.name for curve in curves]}
    symbols = {"symbolType": "stroke", "symbolOpacity": 1, "symbolSize": 400, "symbolStrokeWidth": 3}
    legend = {"title": None, "orient": "top", "columns": 2, "labelLimit": 320, **symbols}
    colour = {**names, "legend": legend}
    horizontal = {"type": "log"} if scale == "log" else {"zero": False, "nice": False}
    place = {"field": "x", "type": "quantitative", "title": "x", "scale": horizontal, "axis": {"format": ".3~g"}}
    error = {"field": "error", "type": "quantitative", "axis": axis, "scale": vertical}
    shared = {"x": place, "color": colour}
    tooltip = [{"field": "curve"}, {"field": "x", "format": ".9~g"}]
    least, greatest = ({**error, "field": name} for name in ("least", "greatest"))
    layers: list[Spec] = []
    if bands:
        ends_of_band = {"y": least, "y2": {"field": "greatest"}}
        tips = [*tooltip, {"field": "least", "format": ".4~g"}, {"field": "greatest", "format": ".4~g"}]
        area = {
            "data": {"values": bands},
            "mark": {"type": "area", "opacity": 0.2, "clip": True},
            "encoding": {**shared, **ends_of_band, "tooltip": tips},
        }
        for end in (least, greatest):
            encoding = {**shared, "y": end, "strokeDash": names, "order": {"field": "order"}}
            mark = {"type": "line", "strokeWidth": 1, "clip": True}
            layers.append({"data": {"values": bands}, "mark": mark, "encoding": encoding})
        layers.append(area)
    if lines:
        tips = [*tooltip, {"field": "error", "format": ".6~g"}]
        encoding = {**shared, "y": error, "strokeDash": names, "order": {"field": "order"}, "tooltip": tips}
        mark = {"type": "line", "strokeWidth": 2, "clip": True}
        layers.append({"data": {"values": lines}, "mark": mark, "encoding": encoding})
    if x is not None:
        mark = {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 2, "color": text_colour("nan")}
        layers.append({"data": {"values": [{"x": x}]}, "mark": mark, "encoding": {"x": place}})
    if marks:
        tips = [*tooltip, {"field": "error", "format": ".6~g"}]
        mark = {"type": "point", "filled": True, "size": 90, "color": accent(), "clip": True}
        encoding = {"x": place, "y": error, "tooltip": tips}
        layers.append({"data": {"values": marks}, "mark": mark, "encoding": encoding})
    return {"height": 380, "layer": layers}, is_cut
