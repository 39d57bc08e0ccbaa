"""The chart of Arithmetic: the running sum by step, in the format, in float32, exact, and of many stochastic runs."""

from __future__ import annotations

from typing import Any

from ...shared.chart import Spec, accent, text_colour
from .sum_view import Curve

__all__ = ["has_points", "running_sums"]

_FEW = 40
"""Steps of which each is a point too."""


def has_points(curve: Curve) -> bool:
    """Whether there is anything to draw."""
    return any(value is not None for values in curve.series.values() for value in values)


def running_sums(curve: Curve) -> Spec:
    """Return a line for each series, each with a dash pattern of its own, and the band of the runs."""
    names = list(curve.series)
    looks: dict[str, tuple[str, list[int]]] = {
        "exact": (text_colour("exponent"), [6, 3]),
        "mean of the runs": (text_colour("sign"), [2, 3]),
        names[0]: (accent(), [1, 0]),
    }
    others = [name for name in names if name not in looks]
    looks.update({name: (text_colour("mantissa"), [10, 3, 2, 3]) for name in others})
    rows = [
        {"step": step, "sum": value, "series": name}
        for name, values in curve.series.items()
        for step, value in zip(curve.steps, values, strict=True)
        if value is not None
    ]
    x = {"field": "step", "type": "quantitative", "title": "step", "scale": {"nice": False}}
    y: dict[str, Any] = {"field": "sum", "type": "quantitative", "title": "running sum", "scale": {"zero": False}}
    legend = {"orient": "top", "title": None, "symbolType": "stroke", "symbolSize": 400, "columns": 2}
    colour = {"domain": names, "range": [looks[name][0] for name in names]}
    dash = {"domain": names, "range": [looks[name][1] for name in names]}
    series = {"field": "series", "type": "nominal", "legend": legend}
    lines = {
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 2.5, "point": len(curve.steps) <= _FEW},
        "encoding": {
            "x": x,
            "y": y,
            "color": {**series, "scale": colour},
            "strokeDash": {**series, "scale": dash},
            "tooltip": [{"field": "series"}, {"field": "step"}, {"field": "sum", "format": ".6~g"}],
        },
    }
    layers = [lines]
    if curve.band is not None:
        band = [
            {"step": step, "sum": low, "high": high}
            for step, low, high in zip(curve.steps, *curve.band, strict=True)
            if low is not None and high is not None
        ]
        area = {
            "data": {"values": band},
            "mark": {"type": "area", "opacity": 0.2, "color": looks["mean of the runs"][0]},
            "encoding": {"x": x, "y": y, "y2": {"field": "high"}},
        }
        layers = [area, lines]
    return {"height": 320, "layer": layers}
