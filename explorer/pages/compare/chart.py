"""The charts of Compare: the range of each format, and its precision by magnitude."""

from __future__ import annotations

from collections.abc import Sequence

from lowprec import reference, teaching
from lowprec.teaching.format_facts import FormatFacts

from ...shared.chart import Spec, accent, text_colour

__all__ = ["precisions", "ranges"]


def _exponent_axis(field: str) -> Spec:
    axis = {"title": "magnitude", "labelExpr": "'2^' + datum.value", "tickMinStep": 1, "tickCount": 9}
    return {"field": field, "type": "quantitative", "axis": axis}


def ranges(facts: Sequence[FormatFacts], mark: float | None) -> Spec:
    """Return a bar for each format, from its smallest positive value to its largest; `mark` is log2 of the number."""
    rows = []
    for row in facts:
        normal = row.smallest_normal or row.largest  # all values may be subnormal
        low, middle, high = (reference.log2(value) for value in (row.smallest, normal, row.largest))
        ends = {"format": row.format.name, "smallest": low, "largest": high}
        rows.append({**ends, "values": "subnormal", "from": low, "to": middle})
        rows.append({**ends, "values": "normal", "from": middle, "to": high})
    colours = {"domain": ["normal", "subnormal"], "range": [accent(), text_colour("subnormal")]}
    bars = {
        "mark": {"type": "bar", "height": 14},
        "encoding": {
            "x": _exponent_axis("from"),
            "x2": {"field": "to"},
            "color": {"field": "values", "scale": colours, "legend": {"title": None, "orient": "top"}},
            "tooltip": [
                {"field": "format"},
                {"field": "smallest", "title": "log2 of the smallest", "format": ".6"},
                {"field": "largest", "title": "log2 of the largest", "format": ".6"},
            ],
        },
    }
    largest = {
        "mark": {"type": "tick", "thickness": 2, "size": 20, "color": accent()},
        "encoding": {"x": _exponent_axis("largest")},
    }
    names = {
        "field": "format",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 140, "ticks": False, "domain": False},
    }
    spec: Spec = {
        "height": 34 * len(facts) + 115,
        "layer": [{"data": {"values": rows}, "encoding": {"y": names}, "layer": [bars, largest]}],
    }
    if mark is not None:
        rule = {
            "data": {"values": [{"at": mark}]},
            "mark": {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 2, "color": text_colour("nan")},
            "encoding": {"x": _exponent_axis("at")},
        }
        spec["layer"].append(rule)
    return spec


def precisions(facts: Sequence[FormatFacts]) -> Spec:
    """Return a line for each format: its significant bits by magnitude."""
    rows = []
    for row in facts:
        steps = [(binade.exponent, binade.significant_bits) for binade in teaching.binades(row.format)]
        steps.append((steps[-1][0] + 1, steps[-1][1]))  # the last binade has an end too
        rows += [{"format": row.format.name, "exponent": exponent, "bits": bits} for exponent, bits in steps]
    name = {"field": "format", "type": "nominal", "sort": [row.format.name for row in facts]}
    lines = {
        "data": {"values": rows},
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2.5},
        "encoding": {
            "x": _exponent_axis("exponent"),
            "y": {"field": "bits", "type": "quantitative", "title": "significant bits", "axis": {"tickMinStep": 1}},
            "color": {**name, "legend": {"title": None, "orient": "top", "columns": 2}},
            "strokeDash": name,
            "tooltip": [{"field": "format"}, {"field": "exponent", "title": "from 2 to the"}, {"field": "bits"}],
        },
    }
    return {"height": 380, "layer": [lines]}
