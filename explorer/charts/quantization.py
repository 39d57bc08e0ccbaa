"""The charts of Quantize: how often each code is used, and a map of the errors."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ..views.numbers import code_text, short
from ..views.quantize import Quantized, codebook
from . import Spec, accent, background, text_colour

__all__ = ["code_counts", "error_map"]


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
