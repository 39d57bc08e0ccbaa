"""What a notebook would show of an object: its HTML, parsed strictly."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

__all__ = ["Drawing", "Page", "Table", "page_of"]

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


class Page(HTMLParser):
    """Parsed HTML; what is not balanced, not allowed, not accessible or of a fixed colour is an AssertionError."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self.drawings: list[Drawing] = []
        self.lines: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open
        assert not self.rawdata
        for table in self.tables:
            assert table.caption
            assert all(row[0] != "" for row in table.scopes), "the first cell names a row"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        in_drawing = tag == "svg" or "svg" in self._open
        assert tag in (_DRAWING_TAGS if in_drawing else _TAGS), tag
        assert in_drawing or set(attributes) <= _ATTRIBUTES, attributes
        assert not [name for name in attributes if name.startswith("on") or name in ("href", "id")]
        assert attributes.get("class", "dataframe") == "dataframe"
        assert not [value for name, value in attributes.items() if name != "xmlns" and name != "aria-label"
                    and _FIXED_COLOUR.search(value)]  # fmt: skip
        self._open.append(tag)
        if tag == "table":
            self.tables.append(Table())
        elif tag == "tr":
            self.tables[-1].rows.append([])
            self.tables[-1].scopes.append([])
        elif tag in ("th", "td"):
            assert (tag == "th") == (attributes.get("scope") in ("col", "row", "rowgroup"))
            self.tables[-1].rows[-1].append("")
            in_header = "thead" in self._open
            self.tables[-1].scopes[-1].append("col" if in_header else attributes.get("scope", ""))
        elif tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
            self.drawings.append(Drawing(attributes["aria-label"]))
        elif in_drawing:
            self.drawings[-1].shapes.append((tag, attributes))
            if tag == "text":
                self.drawings[-1].texts.append("")
        elif tag == "div":
            self.lines.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        last = self._open[-1] if self._open else ""
        if last in ("th", "td"):
            self.tables[-1].rows[-1][-1] += data
        elif last == "caption":
            self.tables[-1].caption += data
        elif last == "text":
            self.drawings[-1].texts[-1] += data
        elif last == "div" and data.strip():
            self.lines[-1] += data
        else:
            assert last == "summary" or not data.strip(), data


def page_of(shown: object) -> Page:
    """Return what a notebook shows of an object."""
    return Page(shown._repr_html_())  # type: ignore[attr-defined]
