"""The chart of settings side by side: the error of each, by the size of the element."""

from __future__ import annotations

from collections.abc import Sequence

from ..views.side_by_side import Row
from . import Spec, accent, text_colour

__all__ = ["errors_by_size"]

_DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3])


def errors_by_size(rows: Sequence[Row]) -> Spec:
    """Return a line for each setting: the root of the mean square of the errors of elements of about one size."""
    values = [
        {
            "setting": row.text,
            "from": 100 * place / len(row.groups),
            "to": 100 * (place + 1) / len(row.groups),
            "low": group.smallest,
            "high": group.largest,
            "error": group.rms_error,
            "worst": group.max_abs_error,
        }
        for row in rows
        for place, group in enumerate(row.groups)
    ]
    values += [{**last, "from": 100.0} for last in values if last["to"] == 100]  # the last step has an end too
    name = {"field": "setting", "type": "nominal"}
    names = [row.text for row in rows]
    colours = [accent(), *map(text_colour, ("exponent", "sign", "normal"))]
    legend = {
        "title": None,
        "orient": "top",
        "columns": 1,
        "labelLimit": 360,
        "symbolType": "stroke",
        "symbolSize": 500,
        "symbolStrokeWidth": 2.5,
    }
    lines = {
        "data": {"values": values},
        "mark": {"type": "line", "strokeWidth": 2.5, "interpolate": "step-after"},
        "encoding": {
            "x": {
                "field": "from",
                "type": "quantitative",
                "title": "elements, from the smallest |x| to the largest (%)",
                "scale": {"domain": [0, 100]},
            },
            "y": {"field": "error", "type": "quantitative", "title": "RMS error", "axis": {"format": ".2~g"}},
            "color": {**name, "scale": {"domain": names, "range": colours}, "legend": legend},
            "strokeDash": {**name, "scale": {"domain": names, "range": list(_DASHES)}, "legend": legend},
            "tooltip": [
                {"field": "setting"},
                {"field": "low", "title": "|x| from", "format": ".4~g"},
                {"field": "high", "title": "|x| to", "format": ".4~g"},
                {"field": "error", "title": "RMS error", "format": ".4~g"},
                {"field": "worst", "title": "largest |error|", "format": ".4~g"},
            ],
        },
    }
    return {"height": 400, "layer": [lines]}
