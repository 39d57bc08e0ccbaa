"""Links from a page to files outside docs/: to their page of the site where they have one, else code without a link."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

__all__ = ["PAGES", "page_text", "resolved"]

PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "README.md": "index.md"}
"""Files of the repository, and the pages of docs/ that stand for them."""

_WHOLE = ("CHANGELOG.md", "CONTRIBUTING.md")
_FENCE = re.compile(r"^ *(```+|~~~+)")
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^()\s]+)\)")
_SOURCES = (".md", ".ipynb")


def _target(link: str, folder: Path, page: Path, root: Path) -> str | None:
    """Return what a link of `page`, written for `folder`, is on the site; None where it is no page of it."""
    path, mark, anchor = link.partition("#")
    if not path or re.match(r"[a-z][a-z+.-]*:", link):
        return link
    docs, file = root / "docs", Path(os.path.normpath(folder / path))
    if file.is_relative_to(docs):
        if file.is_dir() and (file / "index.md").exists():
            file /= "index.md"
        if file.suffix not in _SOURCES:
            return None
    elif str(file.relative_to(root) if file.is_relative_to(root) else file) in PAGES:
        file = docs / PAGES[str(file.relative_to(root))]
    else:
        return None
    return Path(os.path.relpath(file, page.parent)).as_posix() + mark + anchor


def _line(line: str, folder: Path, page: Path, root: Path) -> str:
    """Return one line outside code with its links resolved."""

    def replaced(found: re.Match[str]) -> str:
        text, link = found.groups()
        target = _target(link, folder, page, root)
        if target is not None:
            return f"[{text}]({target})"
        path = Path(os.path.relpath(os.path.normpath(folder / link.partition("#")[0]), root)).as_posix()
        return text if text.strip("`") in (path, Path(path).name) and "`" in text else f"{text} (`{path}`)"

    return _LINK.sub(replaced, line)


def resolved(text: str, folder: Path, page: Path, root: Path) -> str:
    """Return the Markdown of a page with the links to repository files resolved; blocks of code stay as they are.

    Parameters
    ----------
    text : str
        The Markdown.
    folder : Path
        The folder that its links are relative to.
    page : Path
        The page of docs/ that it is shown on.
    root : Path
        The root of the repository.
    """
    lines, fence = [], ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif found:
            fence = found[1]
        else:
            line = _line(line, folder, page, root)
        lines.append(line)
    return "\n".join(lines)


def page_text(page: Path, text: str, root: Path) -> str:
    """Return the text of a page of docs/: of changelog.md and contributing.md it is that of the file they stand for."""
    for name in _WHOLE:
        if page == root / "docs" / PAGES[name]:
            return resolved((root / name).read_text(encoding="utf-8"), root, page, root)
    return resolved(text, page.parent, page, root)


def setup(app: Any) -> dict[str, bool]:
    """Have Sphinx resolve the links of every Markdown page when it is read."""

    def read(app: Any, docname: str, content: list[str]) -> None:
        page = Path(app.env.doc2path(docname))
        if page.suffix == ".md":
            content[0] = page_text(page, content[0], root)
            for name in _WHOLE:
                app.env.note_dependency(str(root / name))

    root = Path(app.srcdir).resolve().parent
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
