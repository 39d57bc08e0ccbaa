"""Links from a page to files outside docs/: to their page of the site where they have one, else code without a link."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["PAGES", "page_text", "resolved"]

PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "README.md": "readme.md"}
"""Files of the repository, and the pages of docs/ that stand for them and show their text."""

_FENCE = re.compile(r"^ *(```+|~~~+)")
_LINK = re.compile(r"(!?)\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^()\s]+)\)|`[^`\n]+`")
"""A link or a picture, whose text may go on in the next line, or a span of code, which stays as it is."""

_SHOWN = (".ipynb", ".md", ".png", ".svg")


def _target(link: str, folder: Path, page: Path, root: Path) -> str | None:
    """Return what a link of `page`, written for `folder`, is on the site; None where it is no page of it."""
    path, mark, anchor = link.partition("#")
    if not path or re.match(r"[a-z][a-z+.-]*:", link):
        return link
    docs, file = root / "docs", Path(os.path.normpath(folder / path))
    if file.is_relative_to(docs):
        if file.is_dir() and (file / "index.md").exists():
            file /= "index.md"
        if file.suffix not in _SHOWN:
            return None
    elif str(file.relative_to(root) if file.is_relative_to(root) else file) in PAGES:
        file = docs / PAGES[str(file.relative_to(root))]
    else:
        return None
    return Path(os.path.relpath(file, page.parent)).as_posix() + mark + anchor


def _prose(prose: str, folder: Path, page: Path, root: Path) -> str:
    """Return lines outside blocks of code with their links resolved."""

    def replaced(found: re.Match[str]) -> str:
        mark, text, link = found.groups()
        if link is None:
            return found[0]
        target = _target(link, folder, page, root)
        if target is not None:
            return f"{mark}[{text}]({target})"
        path = Path(os.path.relpath(os.path.normpath(folder / link.partition("#")[0]), root)).as_posix()
        if not (root / path).exists():
            raise FileNotFoundError(f"{page}: a link to {path}, which is not there")
        return text if text.strip("`") in (path, Path(path).name) and "`" in text else f"{text} (`{path}`)"

    return _LINK.sub(replaced, prose)


def _in_code(text: str) -> Iterator[bool]:
    """Yield for each line whether it belongs to a block of code: a fenced one, or one indented by four spaces."""
    fence, indented, blank = "", False, True
    for line in text.split("\n"):
        found = _FENCE.match(line)
        indented = not fence and line.startswith("    ") and (blank or indented)
        blank = not line.strip()
        yield bool(fence or found or indented)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif found and not indented:
            fence = found[1]


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
    pieces = itertools.groupby(zip(text.split("\n"), _in_code(text), strict=True), key=lambda pair: pair[1])
    joined = ((code, "\n".join(line for line, _ in pairs)) for code, pairs in pieces)
    return "\n".join(piece if code else _prose(piece, folder, page, root) for code, piece in joined)


def page_text(page: Path, text: str, root: Path) -> str:
    """Return the text of a page of docs/: where it stands for a file, it is that of the file."""
    for name in PAGES:
        if page == root / "docs" / PAGES[name]:
            return resolved((root / name).read_text(encoding="utf-8"), root, page, root)
    return resolved(text, page.parent, page, root)


def setup(app: Any) -> dict[str, bool]:
    """Have Sphinx resolve the links of every Markdown page when it is read."""

    def read(app: Any, docname: str, content: list[str]) -> None:
        page = Path(app.env.doc2path(docname))
        if page.suffix == ".md":
            content[0] = page_text(page, content[0], root)
            for name in PAGES:
                app.env.note_dependency(str(root / name))

    root = Path(app.srcdir).resolve().parent
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
