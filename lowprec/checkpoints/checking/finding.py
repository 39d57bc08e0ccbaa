"""What a check finds: one fact about a checkpoint, and whether an engine would misread it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..._notebook_display import count_text, html_block, html_table

__all__ = ["READERS", "Finding", "Findings", "merged", "name_text"]

READERS = "readers"
"""The kind of findings about engines that do not read what is stored as it should be: warnings."""

_NUMBER, _COUNT = re.compile(r"\d+"), re.compile(r"\b\d+\b")


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about a checkpoint.

    Attributes
    ----------
    kind : str
        What was looked at: ``"layout"``, ``"files"``, ``"scales"``, ``"configuration"``, ``"values"``, ``"types"``,
        ``"unchecked"``, ``"readers"``.
    misread : bool
        Whether an engine would misread or refuse the checkpoint.
    tensor : str
        The tensor or module that it is about; empty for the checkpoint.
    text : str
        What is found.
    count : int
        How many tensors it is true of, of names that differ in numbers alone; of any names where engines are warned of.
    """

    kind: str
    misread: bool
    tensor: str
    text: str
    count: int = 1

    def __str__(self) -> str:
        about = f"{self._about()}: " if self.tensor else ""
        return " ".join(f"{self.level}: {about}{self.text}".splitlines())

    @property
    def level(self) -> str:
        """How grave it is: ``"error"``, ``"warning"`` or ``"note"``."""
        return "error" if self.misread else "warning" if self.kind == READERS else "note"

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON has for it."""
        return {name: getattr(self, name) for name in self.__slots__}

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        return Findings([self])._repr_html_()

    def _about(self) -> str:
        """Return which tensors it is true of."""
        more = f" and {self.count - 1} more like it" if self.count > 1 else ""
        return f"{name_text(self.tensor)}{more}" if self.tensor else ""


class Findings(list[Finding]):
    """What `check` returns: a list that `print` shows line by line, and notebooks as a table."""

    def __str__(self) -> str:
        return "\n".join([*map(str, self), self.total_text()])

    def total_text(self) -> str:
        """Return how many errors there are, and whether something was not checked."""
        incomplete = "; not all was checked" if any(one.kind == "unchecked" for one in self) else ""
        return f"{self._errors()}{incomplete}"

    def _errors(self) -> str:
        return count_text(sum(one.misread for one in self), "error")

    def _repr_html_(self) -> str:
        rows = [(one.level, one.kind, one._about(), " ".join(one.text.splitlines())) for one in self]
        return html_block(html_table([("finding", "kind", "tensor", "text"), *rows], f"check: {self._errors()}"))


def name_text(name: str) -> str:
    """Return a name from a file as text for people."""
    return ascii(name)[:120]


def merged(findings: Iterable[Finding]) -> Findings:
    """Return findings, those of one kind about names that differ in numbers alone as one, the first of them."""
    found: dict[tuple[Any, ...], Finding] = {}
    for one in findings:
        text = _COUNT.sub("*", one.text) if one.tensor else one.text
        key = one.kind, one.misread, _NUMBER.sub("*", one.tensor), text
        first = found.get(key)
        found[key] = one if first is None else replace(first, count=first.count + one.count)
    return Findings(found.values())
