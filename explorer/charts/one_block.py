"""The chart of one block of Quantize: its elements as bars, over the values that they can become."""

from __future__ import annotations

from typing import Any

from ..views.numbers import short
from ..views.one_block import Block, grid_lines
from . import Spec, accent, text_colour

__all__ = ["has_elements", "members_over_grid"]


def has_elements(found: Block) -> bool:
    """Whether an element is finite, so that there is something to draw."""
    return any(not member.x.special for member in found.members)


def members_over_grid(found: Block) -> Spec:
    """Return a bar for each finite element, a mark where it is dequantized to, and a line for each possible value."""
    rows = [
        {
            "place": place,
            "index": ", ".join(map(str, member.index)),
            "x": float(member.x),
            "value": None if member.dequantized.special else float(member.dequantized),
            "text": short(member.x),
            "became": short(member.dequantized),
            "kind": "largest" if member.is_largest else "other",
        }
        for place, member in enumerate(found.members)
        if not member.x.special
    ]
    place: dict[str, Any] = {
        "field": "place",
        "type": "ordinal",
        "axis": {"title": "element of the block", "labelAngle": 0, "labelOverlap": "greedy", "ticks": False},
    }
    tooltip = [{"field": "index"}, {"field": "text", "title": "x"}, {"field": "became", "title": "dequantized"}]
    colours = {"domain": ["largest", "other"], "range": [text_colour("sign"), accent()]}
    bars = {
        "data": {"values": rows},
        "mark": {"type": "bar", "opacity": 0.55},
        "encoding": {
            "x": place,
            "y": {"field": "x", "type": "quantitative", "title": "x", "axis": {"grid": False}},
            "color": {"field": "kind", "type": "nominal", "scale": colours, "legend": None},
            "tooltip": tooltip,
        },
    }
    marks = [row for row in rows if row["value"] is not None]
    ticks = {
        "data": {"values": marks},
        "mark": {"type": "tick", "thickness": 3, "color": text_colour("normal"), "orient": "horizontal"},
        "encoding": {"x": place, "y": {"field": "value", "type": "quantitative"}, "tooltip": tooltip},
    }
    lines = [{"line": float(value), "text": short(value)} for value in grid_lines(found)]
    grid = {
        "data": {"values": lines},
        "mark": {"type": "rule", "strokeWidth": 1, "opacity": 0.35, "color": text_colour("normal")},
        "encoding": {
            "y": {"field": "line", "type": "quantitative"},
            "tooltip": [{"field": "text", "title": "a value that an element can become"}],
        },
    }
    layers = [*([grid] if lines else []), bars, *([ticks] if marks else [])]
    return {"height": 300, "layer": layers}
