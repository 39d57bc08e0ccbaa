"""A mutant: one change of one line of a file, and the text of the file with it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Mutant(NamedTuple):
    """One change: at `column` (in characters, from 0) of `line` (from 1), the text `before` becomes `after`."""

    path: str  # relative to the root of the repository, with forward slashes
    line: int
    column: int
    before: str  # may span lines
    after: str


def mutated_text(text: str, mutant: Mutant) -> str:
    """Return the text of a file with the change; a text that lacks `before` at that place is an error."""
    lines = text.splitlines(keepends=True)
    start = sum(map(len, lines[: mutant.line - 1])) + mutant.column
    end = start + len(mutant.before)
    if text[start:end] != mutant.before:
        raise ValueError(f"{mutant.path}:{mutant.line}:{mutant.column} has {text[start:end]!r}, not {mutant.before!r}")
    return text[:start] + mutant.after + text[end:]


def apply(mutant: Mutant, root: Path) -> None:
    """Write the change into the copy of the repository at `root`."""
    path = root / mutant.path
    path.write_text(mutated_text(path.read_text(encoding="utf-8"), mutant), encoding="utf-8")


def changed_lines(mutant: Mutant, root: Path) -> tuple[str, str]:
    """Return the line (or lines) before and after the change, without indentation."""
    text = (root / mutant.path).read_text(encoding="utf-8")
    count = mutant.before.count("\n") + 1
    before = text.splitlines()[mutant.line - 1 : mutant.line - 1 + count]
    after = mutated_text(text, mutant).splitlines()
    after = after[mutant.line - 1 : mutant.line - 1 + mutant.after.count("\n") + 1]
    return " ".join(map(str.strip, before)), " ".join(map(str.strip, after))


def describe(mutant: Mutant, root: Path) -> str:
    """Return the place and the change, as lines of a diff."""
    before, after = changed_lines(mutant, root)
    return f"{mutant.path}:{mutant.line}:{mutant.column}\n  - {before}\n  + {after}"
