"""The chart of settings side by side: the sizes of the errors of each, from the smallest to the largest."""

from __future__ import annotations

from collections.abc import Sequence

from ..views.side_by_side import Row
from . import Spec

__all__ = ["error_spread"]


def error_spread(rows: Sequence[Row]) -> Spec:
    """Return a line for each setting: the share of elements whose error is at most so large."""
    values = [
        {"setting": row.text, "percent": percent, "error": error}
        for row in rows
        for percent, error in enumerate(row.errors)
    ]
    name = {"field": "setting", "type": "nominal", "sort": [row.text for row in rows]}
    lines = {
        "data": {"values": values},
        "mark": {"type": "line", "strokeWidth": 2.5},
        "encoding": {
            "x": {
                "field": "percent",
                "type": "quantitative",
                "title": "elements, from the smallest error to the largest (%)",
                "scale": {"domain": [0, 100]},
            },
            "y": {"field": "error", "type": "quantitative", "title": "|error|", "axis": {"format": ".2~g"}},
            "color": {**name, "legend": {"title": None, "orient": "top", "columns": 1, "labelLimit": 360}},
            "strokeDash": name,
            "tooltip": [
                {"field": "setting"},
                {"field": "percent", "title": "% of the elements"},
                {"field": "error", "title": "|error| at most", "format": ".4~g"},
            ],
        },
    }
    return {"height": 380, "layer": [lines]}
