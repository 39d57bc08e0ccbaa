"""What a notebook would show of an object: its HTML, parsed strictly."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.etree import ElementTree

_TAGS = {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary"}
_DRAWING_TAGS = {"svg", "text", "rect", "path", "circle"}
_ATTRIBUTES = {"style", "scope", "colspan", "class"}
_FIXED_COLOUR = re.compile(r"background|#|rgb|hsl|black|white(?!-space)|url", re.IGNORECASE)


@dataclass
class Table:
    """A table: its caption and the text of its cells; which cells are headers of what."""

    caption: str = ""
    rows: list[list[str]] = field(default_factory=list)
    scopes: list[list[str]] = field(default_factory=list)

    @property
    def facts(self) -> dict[str, str]:
        """The rows of two cells."""
        return {row[0]: row[1] for row in self.rows if len(row) == 2}


@dataclass
class Drawing:
    """An SVG: what it says of itself, its texts, and the attributes of its shapes."""

    label: str
    texts: list[str] = field(default_factory=list)
    shapes: list[tuple[str, dict[str, str]]] = field(default_factory=list)


class Page:
    """Parsed HTML; what is not balanced, not allowed, not accessible or of a fixed colour is an error."""

    def __init__(self, text: str) -> None:
        self.tables: list[Table] = []
        self.drawings: list[Drawing] = []
        self.lines: list[str] = []
        for element in ElementTree.fromstring(f"<page>{text}</page>"):
            self._read(element, [])
            assert not (element.tail or "").strip()
        for table in self.tables:
            assert table.caption
            assert all(row[0] != "" for row in table.scopes), "the first cell names a row"

    def _read(self, element: ElementTree.Element, around: list[str]) -> None:
        tag, attributes = element.tag.removeprefix("{http://www.w3.org/2000/svg}"), element.attrib
        in_drawing = tag == "svg" or "svg" in around
        assert tag in (_DRAWING_TAGS if in_drawing else _TAGS), tag
        assert in_drawing or set(attributes) <= _ATTRIBUTES, attributes
        assert not [name for name in attributes if name.startswith("on") or name in ("href", "id")]
        assert attributes.get("class", "dataframe") == "dataframe"
        assert not [value for name, value in attributes.items() if name != "aria-label" and _FIXED_COLOUR.search(value)]
        text = "".join([element.text or "", *(child.tail or "" for child in element)])
        if tag == "table":
            self.tables.append(Table())
        elif tag == "caption":
            self.tables[-1].caption = text
        elif tag == "tr":
            self.tables[-1].rows.append([])
            self.tables[-1].scopes.append([])
        elif tag in ("th", "td"):
            assert (tag == "th") == (attributes.get("scope") in ("col", "row", "rowgroup"))
            self.tables[-1].rows[-1].append(text)
            self.tables[-1].scopes[-1].append("col" if "thead" in around else attributes.get("scope", ""))
        elif tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
            self.drawings.append(Drawing(attributes["aria-label"]))
        elif in_drawing:
            self.drawings[-1].shapes.append((tag, attributes))
            self.drawings[-1].texts += [text] if tag == "text" else []
        elif tag == "div":
            self.lines.append(text if text.strip() else "")
        else:
            assert tag == "summary" or not text.strip(), text
        for child in element:
            self._read(child, [*around, tag])


def page_of(shown: object) -> Page:
    """Return what a notebook shows of an object."""
    return Page(shown._repr_html_())  # type: ignore[attr-defined]
