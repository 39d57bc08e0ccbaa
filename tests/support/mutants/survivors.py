"""Mutants that no test can notice, each with the reason: read from `tests/proof/mutant_survivors*.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support.paths import TESTS

from .mutant import Mutant, changed_lines


class Survivor(NamedTuple):
    """A change, by the texts of its line before and after, and why it changes nothing that can be observed."""

    path: str
    before: str
    after: str
    reason: str


@cache
def survivors() -> tuple[Survivor, ...]:
    """Return all that are explained."""
    found = []
    for file in sorted((TESTS / "proof").glob("mutant_survivors*.toml")):
        for row in tomllib.loads(file.read_text(encoding="utf-8"))["survivor"]:
            found.append(Survivor(**row))
    return tuple(found)


def explanation(mutant: Mutant, root: Path) -> str:
    """Return why no test can notice a mutant; empty: nothing says so."""
    change = (mutant.path, *changed_lines(mutant, root))
    return next((row.reason for row in survivors() if row[:3] == change), "")
