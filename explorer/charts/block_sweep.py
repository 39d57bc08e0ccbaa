"""The chart of Quantize's sweep: SQNR against block size, a line for each format and scale rule."""

from __future__ import annotations

import math
from typing import Any

from ..views.block_sweep import SWEEP_RULES, Sweep, rule_label
from . import Spec, accent, text_colour

__all__ = ["sqnr_by_block_size"]

_STAR = "M0,-1L.3,-.3L1,0L.3,.3L0,1L-.3,.3L-1,0L-.3,-.3Z"
_SHAPES = (
    "circle", "square", "cross", "diamond", "triangle-up", "triangle-left", "triangle-right", "triangle-down", _STAR,
)  # fmt: skip


def sqnr_by_block_size(found: Sweep) -> Spec:
    """Return a line for each format and rule: the colour and the dashes are the format's, the shape is the rule's."""
    rows = [
        {
            "format": row.label,
            "rule": row.rule,
            "block": one.block_size,
            "sqnr": one.sqnr_db,
            "bits": f"{one.bits_per_value:.4g}",
            "line": f"{row.format} {row.rule}",
        }
        for row in found.rows
        for one in row.losses
        if math.isfinite(one.sqnr_db)
    ]
    formats = list(dict.fromkeys(row.label for row in found.rows))
    rules = [rule_label(rule) for rule in (*SWEEP_RULES, None)]
    used = [rule for rule in rules if any(row.rule == rule for row in found.rows)]
    shapes = dict(zip(rules, _SHAPES, strict=True))
    names = ("mantissa", "sign", "exponent", "nan", "subnormal", "zero")
    colours = [text_colour("mantissa"), accent(), *(text_colour(name) for name in names[1:])]
    dashes = [[1, 0], [8, 3], [2, 2], [8, 3, 2, 3], [12, 4], [5, 2, 1, 2, 1, 2], [4, 4]]
    count = len(formats)
    by_format = {"field": "format", "type": "nominal", "sort": None}
    legend = {
        "title": "format",
        "orient": "top",
        "columns": 3,
        "symbolType": "stroke",
        "symbolSize": 400,
        "symbolStrokeWidth": 2,
    }
    shared: dict[str, Any] = {
        "x": {
            "field": "block",
            "type": "quantitative",
            "title": "block size",
            "scale": {"type": "log", "base": 2, "nice": False, "padding": 24},
            "axis": {"values": list(found.block_sizes), "format": "d", "grid": False},
        },
        "y": {"field": "sqnr", "type": "quantitative", "title": "SQNR in dB", "scale": {"zero": False}},
        "color": {
            **by_format,
            "scale": {"domain": formats, "range": colours[:count]},
            "legend": legend,
        },
        "detail": {"field": "line", "type": "nominal"},
        "tooltip": [
            {"field": "format"},
            {"field": "rule", "title": "scale rule"},
            {"field": "block", "title": "block size"},
            {"field": "sqnr", "title": "SQNR in dB", "format": ".2f"},
            {"field": "bits", "title": "bits per value"},
        ],
    }
    dash = {**by_format, "scale": {"domain": formats, "range": dashes[:count]}, "legend": legend}
    shape = {
        "field": "rule",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": used, "range": [shapes[rule] for rule in used]},
        "legend": {"title": "scale rule", "orient": "top", "columns": 3, "symbolFillColor": accent()},
    }
    lines = {
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {**shared, "strokeDash": dash},
    }
    points = {
        "data": {"values": rows},
        "mark": {"type": "point", "size": 70, "filled": True},
        "encoding": {**shared, "shape": shape},
    }
    below_each_other = {"legend": {"layout": {"top": {"direction": "vertical", "anchor": "start"}}}}  # for a phone
    return {"height": 400, "layer": [lines, points], "config": below_each_other}
