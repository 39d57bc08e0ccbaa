"""The charts of Quantize: how often each code is used, and a map of the errors."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...shared.chart import Spec, accent, background, text_colour
from ...shared.numbers import code_text, short
from .side_by_side_view import Row
from .sweep_view import SWEEP_RULES, Sweep, rule_label
from .view import Quantized, codebook

__all__ = ["code_counts", "error_map", "errors_by_size", "sqnr_by_block_size"]


def code_counts(quantized: Quantized) -> Spec:
    """Return a bar for each code, in the order of their values: how many elements have it."""
    fmt, rows, labels = quantized.settings.fmt, [], []
    for place, bar in enumerate(codebook(quantized)):
        ends = (bar.first,) if bar.first == bar.last else (bar.first, bar.last)
        values = (bar.value,) if bar.first == bar.last else (bar.value, bar.end)
        labels.append(short(bar.value, 8, 3))
        rows.append(
            {
                "place": place,
                "count": bar.count,
                "kind": "special" if bar.value.special else "number",
                "code": " to ".join(code_text(code, fmt) for code in ends),
                "value": " to ".join(map(short, values)),
            }
        )
    axis = {
        "title": "value of the code",
        "labelExpr": f"{json.dumps(labels)}[datum.value]",
        "labelOverlap": "greedy",
        "labelAngle": 0,
        "labelSeparation": 6,
        "ticks": False,
    }
    colours = {"domain": ["number", "special"], "range": [accent(), text_colour("nan")]}
    bars = {
        "data": {"values": rows},
        "mark": {"type": "bar", "minBandSize": 1},
        "encoding": {
            "x": {"field": "place", "type": "ordinal", "axis": axis, "scale": {"paddingInner": 0.1}},
            "y": {"field": "count", "type": "quantitative", "title": "elements", "axis": {"tickMinStep": 1}},
            "color": {"field": "kind", "type": "nominal", "scale": colours, "legend": None},
            "tooltip": [{"field": "code"}, {"field": "value"}, {"field": "count", "title": "elements"}],
        },
    }
    return {"height": 320, "layer": [bars]}


def error_map(cells: np.ndarray[Any, Any], down: int, across: int) -> Spec:
    """Return a cell for each element, or tile of elements, coloured by the size of its error; grey if it has none."""
    rows = [
        {
            "row": row * down,
            "column": column * across,
            "error": None if math.isnan(cell) else cell,
            "size": None if math.isnan(cell) else abs(cell),
        }
        for (row, column), cell in ((place, float(cells[place])) for place in np.ndindex(cells.shape))
    ]
    axis = {"labelOverlap": "greedy", "labelAngle": 0, "ticks": False, "domain": False}
    has_error = bool(np.nan_to_num(cells).any())
    shades = {
        "range": [background(), accent()],
        "interpolate": "rgb",
        "domainMin": 0,
        **({} if has_error else {"domainMax": 1}),
    }
    legend = {"title": "|error|", "orient": "top", "format": ".2~g", "gradientLength": 160}
    squares = {
        "data": {"values": rows},
        "mark": {"type": "rect", "invalid": None},
        "encoding": {
            "x": {"field": "column", "type": "ordinal", "axis": axis},
            "y": {"field": "row", "type": "ordinal", "axis": axis},
            "color": {
                "condition": {"test": "datum.size === null", "value": "#8b8f9c"},
                "field": "size",
                "type": "quantitative",
                "scale": shades,
                "legend": legend if has_error else None,
            },
            "tooltip": [{"field": "row"}, {"field": "column"}, {"field": "error", "format": ".6~g"}],
        },
    }
    return {"height": 320, "layer": [squares]}


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
