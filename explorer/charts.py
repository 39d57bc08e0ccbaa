"""The charts of Compare and Quantize: a view's numbers in, a Vega-Lite specification in the page's colours out."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from . import theme
from .views.compare import Facts, precision
from .views.numbers import code_text, short
from .views.quantize import Quantized, codebook

__all__ = ["error_map", "precisions", "ranges", "show", "used"]

Spec = dict[str, Any]


def show(spec: Spec, what: str) -> None:
    """Show a chart as wide as the page, with a text that says what it shows."""
    st.vega_lite_chart(spec={**spec, "description": what}, width="stretch")


def _is_dark() -> bool:
    return st.context.theme.type == "dark"


def _accent() -> str:
    return theme.ACCENT[_is_dark()]


def _ink(name: str) -> str:
    return theme.pair(name)[_is_dark()]


def _exponent(field: str) -> Spec:
    axis = {"title": "magnitude", "labelExpr": "'2^' + datum.value", "tickMinStep": 1, "tickCount": 9}
    return {"field": field, "type": "quantitative", "axis": axis}


def ranges(facts: Sequence[Facts], mark: float | None) -> Spec:
    """Return a bar a format, from its smallest positive value to its largest; `mark` is log2 of the number typed."""
    rows = []
    for one in facts:
        ends = {"format": one.format.name, "smallest": one.low_log2, "largest": one.high_log2}
        rows.append({**ends, "values": "subnormal", "from": one.low_log2, "to": one.normal_log2})
        rows.append({**ends, "values": "normal", "from": one.normal_log2, "to": one.high_log2})
    colours = {"domain": ["normal", "subnormal"], "range": [_accent(), _ink("subnormal")]}
    bars = {
        "mark": {"type": "bar", "height": 14},
        "encoding": {
            "x": _exponent("from"),
            "x2": {"field": "to"},
            "color": {"field": "values", "scale": colours, "legend": {"title": None, "orient": "top"}},
            "tooltip": [
                {"field": "format"},
                {"field": "smallest", "title": "log2 of the smallest", "format": ".6"},
                {"field": "largest", "title": "log2 of the largest", "format": ".6"},
            ],
        },
    }
    ends_at = {
        "mark": {"type": "tick", "thickness": 2, "size": 20, "color": _accent()},
        "encoding": {"x": _exponent("largest")},
    }
    names = {
        "field": "format",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 140, "ticks": False, "domain": False},
    }
    spec: Spec = {
        "height": 30 * len(facts) + 90,
        "layer": [{"data": {"values": rows}, "encoding": {"y": names}, "layer": [bars, ends_at]}],
    }
    if mark is not None:
        at = {"x": _exponent("at")}
        rule = {"mark": {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 2, "color": _ink("nan")}, "encoding": at}
        spec["layer"].append({"data": {"values": [{"at": mark}]}, **rule})
    return spec


def precisions(facts: Sequence[Facts]) -> Spec:
    """Return a line a format: how many significant bits it has where."""
    rows = []
    for one in facts:
        steps = [(step.exponent, step.bits) for step in precision(one.format)]
        steps.append((steps[-1][0] + 1, steps[-1][1]))  # the last binade has an end too
        rows += [{"format": one.format.name, "exponent": exponent, "bits": bits} for exponent, bits in steps]
    name = {"field": "format", "type": "nominal", "sort": [one.format.name for one in facts]}
    lines = {
        "data": {"values": rows},
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2.5},
        "encoding": {
            "x": _exponent("exponent"),
            "y": {"field": "bits", "type": "quantitative", "title": "significant bits", "axis": {"tickMinStep": 1}},
            "color": {**name, "legend": {"title": None, "orient": "top", "columns": 2}},
            "strokeDash": name,
            "tooltip": [{"field": "format"}, {"field": "exponent", "title": "from 2 to the"}, {"field": "bits"}],
        },
    }
    return {"height": 380, "layer": [lines]}


def used(found: Quantized) -> Spec:
    """Return a bar a code, in the order of their values: how many elements have it."""
    fmt, rows, labels = found.settings.fmt, [], []
    for place, bar in enumerate(codebook(found)):
        ends = (bar.first,) if bar.first == bar.last else (bar.first, bar.last)
        values = (bar.value,) if bar.first == bar.last else (bar.value, bar.end)
        labels.append(short(bar.value, 8, 3))
        rows.append({
            "place": place, "count": bar.count, "kind": "special" if bar.value.special else "number",
            "code": " to ".join(code_text(code, fmt) for code in ends), "value": " to ".join(map(short, values)),
        })  # fmt: skip
    axis = {"title": "value of the code", "labelExpr": f"{json.dumps(labels)}[datum.value]", "labelOverlap": "greedy",
            "labelAngle": 0, "labelSeparation": 6, "ticks": False}  # fmt: skip
    colours = {"domain": ["number", "special"], "range": [_accent(), _ink("nan")]}
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
    """Return a cell an element, or a tile of them, coloured by the size of its error; grey where there is none."""
    rows = [
        {"row": row * down, "column": column * across, "error": None if math.isnan(cell) else cell,
         "size": None if math.isnan(cell) else abs(cell)}
        for (row, column), cell in ((place, float(cells[place])) for place in np.ndindex(cells.shape))
    ]  # fmt: skip
    axis = {"labelOverlap": "greedy", "labelAngle": 0, "ticks": False, "domain": False}
    paper = theme.OPTIONS[f"theme.{'dark' if _is_dark() else 'light'}.backgroundColor"]
    some = bool(np.nan_to_num(cells).any())
    shades = {"range": [paper, _accent()], "interpolate": "rgb", "domainMin": 0, **({} if some else {"domainMax": 1})}
    legend = {"title": "|error|", "orient": "top", "format": ".2~g", "gradientLength": 160}
    squares = {
        "data": {"values": rows},
        "mark": {"type": "rect", "invalid": None},
        "encoding": {
            "x": {"field": "column", "type": "ordinal", "axis": axis},
            "y": {"field": "row", "type": "ordinal", "axis": axis},
            "color": {
                "condition": {"test": "datum.size === null", "value": "#8b8f9c"},
                "field": "size", "type": "quantitative", "scale": shades,
                "legend": legend if some else None,
            },
            "tooltip": [{"field": "row"}, {"field": "column"}, {"field": "error", "format": ".6~g"}],
        },
    }  # fmt: skip
    return {"height": 320, "layer": [squares]}
