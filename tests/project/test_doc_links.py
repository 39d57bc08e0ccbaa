"""The documentation: every link names a file that is there and a heading of it, and every page is reached by a link."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.paths import ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_CONTENTS = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.MULTILINE)


def text_of(page: Path) -> str:
    """Return a page without its blocks of code."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings: small letters, digits, hyphens for spaces."""
    return {re.sub(r"[^\w\- ]", "", one).lower().replace(" ", "-") for one in _HEADING.findall(text_of(page))}


def links(page: Path) -> list[tuple[Path, str]]:
    """Return the files and anchors that a page links to, but for addresses on the web."""
    found = []
    for link in _LINK.findall(text_of(page)):
        if not re.match(r"[a-z]+:", link):
            path, _, anchor = link.partition("#")
            found.append((page.parent / path if path else page, anchor))
    return found


def contents(page: Path) -> list[Path]:
    """Return the pages in the tables of contents of a page, each a path without `.md`, or `title <path>`."""
    lines = [line for block in _CONTENTS.findall(page.read_text(encoding="utf-8")) for line in block.splitlines()]
    names = [re.sub(r".*<(.*)>", r"\1", line) for line in lines if line and not line.startswith(":")]
    found = ((page.parent / f"{name}.md", page.parent / f"{name}.ipynb") for name in names)
    return [(notebook if notebook.exists() else text).resolve() for text, notebook in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for path, anchor in links(page):
        assert path.exists(), path
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), (path, anchor)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_of_contents_list_pages(page: Path) -> None:
    assert [path for path in contents(page) if not path.exists()] == []


def test_every_page_is_in_one_table_of_contents() -> None:
    """Every page below docs/ but the first one is reached from it, and has one place in the sidebar of the site."""
    docs = ROOT / "docs"
    listed = sorted(path for page in PAGES for path in contents(page))
    pages = [*PAGES, *docs.glob("*.ipynb"), *docs.glob("[!_]*/**/*.ipynb")]
    assert listed == sorted(page for page in pages if page.is_relative_to(docs) and page != docs / "index.md")
