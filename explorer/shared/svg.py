"""The drawing kit: shapes as SVG, coloured by the names of theme.py; bits, badges, arrows and the reader's number.

Colours are variables of the page, so that a drawing follows the light and the dark scheme; a saved drawing has the
colours of the moment. A shape may say what it does in the browser, which `browser/picture.js` reads:

* ``set="field=value"``: a click sets a field of the page's state;
* ``part="name"``: a text that a table replaces while a number is dragged or a bit is flipped;
* ``first=3, last=7``: the shape has the class ``here`` while the dragged number stands at one of these places;
* ``grid="field=rows,columns,first row,first column,row,column"``: a click sets a field to the row and the column below
  it, of a grid of equal cells; the arrow keys go on from the last two;
* ``sort="field=name"``: its group is a row that is dragged to another place; the field becomes the names in order;
* ``follow="name"``: the shape moves to the places of that name while a number is dragged;
* ``code="00101010"``: a click makes this the code whose bits are shown, at once; ``code_part="name"``: a table has it;
* ``when="kind=nan"``: the shape has the class ``here`` while a table has that text for that part;
* ``columns=16``: the shapes in this group have codes and stand in columns; the one that is shown has ``here``, that of
  ``range="0010"`` while the code begins so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from . import theme

__all__ = ["NARROW", "WIDE", "Drawing", "Shapes", "fitted", "paint", "text_width"]

WIDE = 1152
"""The width of a drawing for a desk, in pixels."""

NARROW = 358
"""The width of a drawing for a telephone."""

_SVG = "http://www.w3.org/2000/svg"
_NAMESPACED = {"xml-space": "{http://www.w3.org/XML/1998/namespace}space"}
_MONO, _SANS = 0.602, 0.53
_DATA = ("part", "first", "last", "follow", "code", "code_part", "when", "columns", "range", "grid", "sort")
_NAMES = {
    *theme.ROLES,
    *(name + ending for name in (*theme.FIELDS, *theme.CLASSES) for ending in ("", "-text")),
}  # fmt: skip

ElementTree.register_namespace("", _SVG)


def paint(name: str) -> str:
    """Return the colour of a name as CSS: a role, a field or class (its background), or one with -text."""
    if name in ("none", "currentColor"):
        return name
    if name not in _NAMES:
        raise ValueError(f"no colour is named {name!r}")
    return f"var(--lp-{name})"


def text_width(text: str, size: float, mono: bool = False) -> float:
    """Return about how wide a text is."""
    return len(text) * size * (_MONO if mono else _SANS)


def fitted(text: str, room: float, size: float, least: float, mono: bool = True) -> tuple[str, float]:
    """Return a text and its size so that it is no wider than a room: smaller, then cut."""
    size = max(min(size, size * room / max(text_width(text, size, mono), 1)), least)
    most = int(room / text_width("0", size, mono))
    return (text if len(text) <= most else text[: most - 1] + "…"), size


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


class Shapes:
    """A group of shapes; each method adds one and returns its element or the group that holds it."""

    def __init__(self, element: ElementTree.Element) -> None:
        self.element = element

    def add(self, tag: str, attributes: dict[str, object], text: str = "") -> ElementTree.Element:
        """Add an element; floats are rounded to hundredths, `None` leaves an attribute out."""
        element = ElementTree.SubElement(self.element, tag)
        described = {key: value for key, value in attributes.items() if value is not None}
        field_value = described.pop("set", None)
        if field_value is not None:
            described |= {"data-set": field_value, "role": "button", "tabindex": "-1"}
        if "code" in described:
            described |= {"role": "button", "tabindex": "-1"}
        for key, value in described.items():
            name = f"data-{key}".replace("_", "-") if key in _DATA else key.rstrip("_").replace("_", "-")
            element.set(_NAMESPACED.get(name, name), _number(value) if isinstance(value, float) else str(value))
        element.text = text or None
        return element

    def group(self, *, label: str | None = None, **more: Any) -> Shapes:
        """Return a new group in this one; a group that is clicked has a label."""
        group = Shapes(self.add("g", more))
        if label is not None:
            group.element.set("aria-label", label)
            group.add("title", {}, label)
        return group

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str, *, radius: float = 0,
        stroke: str | None = None, stroke_width: float = 1, **more: Any,
    ) -> ElementTree.Element:  # fmt: skip
        """Add a box."""
        edge = {"stroke": paint(stroke), "stroke-width": stroke_width} if stroke else {}
        size = {"x": float(x), "y": float(y), "width": float(max(width, 0)), "height": float(height)}
        return self.add("rect", {**size, "rx": radius or None, "fill": paint(fill), **edge, **more})

    def line(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str, *, width: float = 1, dashed: bool = False,
        **more: Any,
    ) -> ElementTree.Element:  # fmt: skip
        """Add a straight line."""
        ends = {"x1": float(x1), "y1": float(y1), "x2": float(x2), "y2": float(y2)}
        dashes = "4 3" if dashed else None
        return self.add(
            "line", {**ends, "stroke": paint(stroke), "stroke-width": width, "stroke-dasharray": dashes, **more}
        )

    def path(
        self,
        d: str,
        *,
        stroke: str = "none",
        width: float = 1,
        fill: str = "none",
        dashed: bool = False,
        **more: Any,
    ) -> ElementTree.Element:
        """Add a path, by its commands."""
        dashes = "4 3" if dashed else None
        drawn = {"fill": paint(fill), "stroke": paint(stroke), "stroke-width": width, "stroke-dasharray": dashes}
        return self.add("path", {"d": d, **drawn, **more})

    def curve(self, points: Sequence[tuple[float, float]], stroke: str, *, width: float = 2, **more: Any) -> None:
        """Add a line through points."""
        d = "M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in points)
        self.path(d, stroke=stroke, width=width, stroke_linejoin="round", **more)

    def circle(
        self, x: float, y: float, radius: float, fill: str, *, stroke: str | None = None, stroke_width: float = 2,
        **more: Any,
    ) -> ElementTree.Element:  # fmt: skip
        """Add a circle."""
        edge = {"stroke": paint(stroke), "stroke-width": stroke_width} if stroke else {}
        return self.add("circle", {"cx": float(x), "cy": float(y), "r": radius, "fill": paint(fill), **edge, **more})

    def text(
        self, x: float, y: float, text: str, *, size: float = 14, fill: str = "text", anchor: str = "start",
        bold: bool = False, mono: bool = False, struck: bool = False, **more: Any,
    ) -> ElementTree.Element:  # fmt: skip
        """Add a text; `y` is its base line. `struck` is for a value that does not exist."""
        style = {
            "font-size": size, "fill": paint(fill), "text-anchor": None if anchor == "start" else anchor,
            "font-weight": 600 if bold else None, "text-decoration": "line-through" if struck else None,
        }  # fmt: skip
        more["class_"] = " ".join(filter(None, ("mono" * mono, str(more.get("class_") or "")))) or None
        return self.add("text", {"x": float(x), "y": float(y), **style, **more}, text)

    def badge(
        self, x: float, y: float, text: str, kind: str, *, size: float = 14, mono: bool = False, **more: Any
    ) -> Shapes:
        """Add a word in a box of the colours of its class, centred at x; `y` is the base line of the text."""
        group = self.group(**more)
        width = text_width(text, size, mono) + 16
        group.rect(x - width / 2, y - size * 1.15, width, size * 1.65, kind, radius=4)
        group.text(x, y, text, size=size, fill=f"{kind}-text", anchor="middle", bold=True, mono=mono)
        return group

    def bits(
        self, x: float, y: float, fields: Sequence[tuple[str, str]], *, box: float = 40, height: float = 44,
        gap: float = 2, between: float = 8, size: float = 22, labels: Sequence[str] = (), switches: bool = False,
        first: int = 0, total: int = 0,
    ) -> float:  # fmt: skip
        """Add a row of bits by field, (name, bits), a box a bit; return its right edge.

        `switches` makes each bit a switch of the browser; `labels` stand under the fields. A row of several begins
        with bit `first` of `total`.
        """
        index, total = first, total or sum(len(bits) for _, bits in fields)
        for number, (name, bits) in enumerate(fields):
            left = x
            for bit in bits:
                switch: dict[str, Any] = {}
                if switches:
                    label = f"{labels[number] if labels else name} bit {total - 1 - index}"
                    switch = {"role": "switch", "aria-checked": str(bit == "1").lower(), "data-bit": index}
                    switch |= {"aria-label": label, "tabindex": "-1"}
                one = self.group(**switch)
                one.rect(x, y, box - gap, height, name, radius=3)
                one.text(x + (box - gap) / 2, y + height / 2 + size * 0.36, bit, size=size, fill=f"{name}-text",
                         anchor="middle", mono=True)  # fmt: skip
                index, x = index + 1, x + box
            if bits:
                self.rect(left, y + height + 3, x - gap - left, 3, f"{name}-text")
                if labels:
                    middle = max((left + x - gap) / 2, text_width(labels[number], 12.5) / 2)
                    self.text(middle, y + height + 20, labels[number], size=12.5, fill=f"{name}-text", anchor="middle")
                x += between
        return x - between

    def code(
        self, x: float, y: float, fields: Sequence[tuple[str, str]], *, size: float = 14, anchor: str = "start"
    ) -> float:
        """Add a code as a strip, one box a field, (name, bits); `y` is the base line. Return its right edge."""
        widths = [text_width(bits, size, mono=True) + 8 for _, bits in fields]
        whole = sum(widths) + 2 * (len(widths) - 1)
        x -= {"start": 0.0, "middle": whole / 2, "end": whole}[anchor]
        for (name, bits), width in zip(fields, widths, strict=True):
            self.rect(x, y - size * 1.15, width, size * 1.65, name, radius=3)
            self.text(x + width / 2, y, bits, size=size, fill=f"{name}-text", anchor="middle", mono=True)
            x += width + 2
        return x - 2

    def arrow(
        self, points: str, end: tuple[float, float], direction: tuple[float, float], stroke: str = "accent", *,
        width: float = 2, dashed: bool = False, **more: Any,
    ) -> None:  # fmt: skip
        """Add what happens to a number: a path to `end`, with a head that points in a direction of length 1."""
        self.path(f"{points} {_number(end[0])} {_number(end[1])}", stroke=stroke, width=width, dashed=dashed, **more)
        (x, y), (dx, dy), size = end, direction, 4 + 2 * width
        left = (x - dx * size - dy * size / 2, y - dy * size + dx * size / 2)
        right = (x - dx * size + dy * size / 2, y - dy * size - dx * size / 2)
        corners = "L".join(f"{_number(a)} {_number(b)}" for a, b in ((x, y), left, right))
        self.path(f"M{corners}z", fill=stroke, **more)

    def arc(
        self, x1: float, y1: float, x2: float, y2: float, height: float, stroke: str = "accent", *, width: float = 3,
        dashed: bool = False, **more: Any,
    ) -> None:  # fmt: skip
        """Add a curved arrow from a point to another, `height` above the higher of them."""
        cx, cy = (x1 + x2) / 2, min(y1, y2) - height * 2
        length = ((x2 - cx) ** 2 + (y2 - cy) ** 2) ** 0.5 or 1
        direction = ((x2 - cx) / length, (y2 - cy) / length)
        start = f"M{_number(x1)} {_number(y1)}Q{_number(cx)} {_number(cy)}"
        self.arrow(start, (x2, y2), direction, stroke, width=width, dashed=dashed, **more)

    def pill(
        self, x: float, y: float, text: str, *, size: float = 18, drag: bool = False, part: str | None = None,
        label: str = "",
    ) -> Shapes:  # fmt: skip
        """Add the reader's number in a pill with its middle at (x, y); `drag` makes it the handle of the number."""
        more: dict[str, Any] = {}
        if drag:
            more = {"data-drag": "", "role": "slider", "tabindex": "0", "aria-label": label, "aria-valuetext": text}
        group = self.group(class_="pill" if drag else None, **more)
        half = text_width(text, size, mono=True) / 2 + (20 if drag else 10)
        group.rect(x - half, y - size * 0.8, 2 * half, size * 1.6, "accent", radius=size * 0.8)
        group.text(x, y + size * 0.35, text, size=size, fill="page", anchor="middle", bold=True, mono=True, part=part)
        if drag:
            for side in (-1, 1):
                tip = x + side * (half - 6)
                group.path(f"M{_number(tip)} {_number(y)}l{-side * 5} -5v10z", fill="page")
        return group

    def ticks(
        self, y: float, marks: Sequence[tuple[float, str]], *, left: float, right: float, bottom: float | None = None,
        size: float = 12.5,
    ) -> None:  # fmt: skip
        """Add an axis: a line at `y` and round numbers above it, (x, text); hairlines go down to `bottom`."""
        for x, text in marks:
            if bottom is not None:
                self.line(x, y, x, bottom, "line")
            self.text(x, y - 7, text, size=size, fill="quiet", anchor="middle", mono=True)
        self.line(left, y, right, y, "quiet")


class Drawing(Shapes):
    """A drawing of a width and a height in pixels; the label says in a sentence what it shows."""

    def __init__(self, width: float, height: float, label: str) -> None:
        self.width, self.height = width, height
        size = f"{_number(width)} {_number(height)}"
        root = ElementTree.Element(f"{{{_SVG}}}svg", {"viewBox": f"0 0 {size}", "width": _number(width)})
        root.set("height", _number(height))
        root.set("aria-label", label)
        super().__init__(root)
        self.add("title", {}, label)
        self.rect(0, 0, width, height, "page", class_="ground")

    def resize(self, height: float) -> None:
        """Set the height, where it is known only after drawing."""
        self.height = height
        ground = self.element.find("rect")
        self.element.set("viewBox", f"0 0 {_number(self.width)} {_number(height)}")
        for one in (self.element, ground):
            if one is not None:
                one.set("height", _number(height))

    def crop(self, top: float) -> None:
        """Leave out what lies above a y."""
        self.height -= top
        self.element.set("viewBox", f"0 {_number(top)} {_number(self.width)} {_number(self.height)}")
        self.element.set("height", _number(self.height))

    def __str__(self) -> str:
        acts = any(one.get("role") in ("button", "switch", "slider") for one in self.element.iter())
        self.element.set("role", "group" if acts else "img")  # an image has no parts for readers of the screen
        return ElementTree.tostring(self.element, encoding="unicode")
