"""The rows of the report: how many inputs of each rule come out otherwise, by library; the table for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Protocol

from ..spec.counted_text import count_text
from ..spec.notebook_html import html_block, html_lines, html_table
from .rules import DECIDED, DISPUTED, ONNX, P3109, RULES

__all__ = ["LEGEND", "Counts", "agrees", "report_html", "row_groups"]

_LEGENDS = {
    ONNX: "differ / tried: how many inputs come out otherwise than the rule says, of how many. -: not offered.",
    DECIDED: f"{DECIDED}: ONNX is silent, docs/semantics.md decides.",
    DISPUTED: f"{DISPUTED}: ONNX's text and its own data disagree.",
    P3109: f"{P3109}: IEEE P3109, interim report 4.0. v: the part of the way to the neighbour farther from zero; R: a "
    "random number of N bits.",
    "": "a: the largest magnitude of a block; M: that of its elements, emax its exponent.",
}
"""What is said of the table, by who says the rules; the first sentence always, the last one of scale rules."""

LEGEND = " ".join(_LEGENDS.values())

Group = tuple[str, list[list[str]]]
"""The title of a group, and the cells of each of its rows: the rule, who says so, and one for each library."""


class Counts(Protocol):
    """What is counted of a rule and a library."""

    @property
    def tried(self) -> int:
        """How many inputs the library was given."""

    @property
    def differ(self) -> int:
        """How many came out otherwise."""


def _number(count: int) -> str:
    """Return a count in at most four characters: 1234567 as 1.2M."""
    if count < 10_000:
        return str(count)
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if count >= unit:
            scaled = count / unit
            return f"{scaled:.0f}{name}" if scaled >= 10 else f"{scaled:.1f}{name}"
    raise AssertionError


def _cell(counts: Counts | None) -> str:
    return "-" if counts is None else f"{_number(counts.differ)} / {_number(counts.tried)}"


def row_groups(libraries: Iterable[str], counts: Mapping[str, Mapping[str, Counts]]) -> list[Group]:
    """Return the groups of the table, in the order of the rules; those that nothing was compared with are left out."""
    columns, groups = list(libraries), []
    for title, names in groupby((name for name in RULES if counts.get(name)), key=lambda name: RULES[name].group):
        lines = [
            [RULES[name].text, RULES[name].basis, *(_cell(counts[name].get(one)) for one in columns)] for name in names
        ]
        groups.append((title, lines))
    return groups


def agrees(cells: Iterable[str]) -> bool:
    """Whether no library of these differs."""
    return all(cell.startswith(("0 /", "-")) for cell in cells)


def report_html(
    versions: Mapping[str, str], counts: Mapping[str, Mapping[str, Counts]], caption: str, remarks: Iterable[str] = ()
) -> str:
    """Return for notebooks a table of the rules that a library differs from, and one, folded, of all others.

    Parameters
    ----------
    versions : mapping of str to str
        The libraries, and the version of each.
    counts : mapping
        By rule and library.
    caption : str
        What was compared, and when.
    remarks : iterable of str
        Lines below the tables.

    Returns
    -------
    str
        One element.
    """
    header = ["rule", "says", *(f"{title} {version}" for title, version in versions.items())]
    groups = row_groups(versions, counts)
    parts = []
    for differs in (True, False):
        rows: list[list[str]] = []
        for title, lines in groups:
            chosen = [line for line in lines if agrees(line[2:]) is not differs]
            rows += [[title], *chosen] if chosen else []
        n = sum(len(row) > 1 for row in rows)
        what = f"{count_text(n, 'rule')} that {'a' if differs else 'no'} library differs from"
        table = html_table([header, *rows], f"{caption}: {what}", right=range(2, len(header)))
        if n:
            parts.append(table if differs else f"<details><summary>{what}</summary>\n{table}\n</details>")
    bases = {line[1] if line[1] in _LEGENDS else "" for _, lines in groups for line in lines} | {ONNX}
    legend = " ".join(text for basis, text in _LEGENDS.items() if basis in bases)
    return html_block(*parts, html_lines([legend, *remarks]))
