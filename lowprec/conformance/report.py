"""The report as text and Markdown, and the counts that are kept."""

from __future__ import annotations

import datetime
import functools
import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from typing import Any

from .._notebook_display import count_text
from ..spec.formats import as_format
from .comparison import LEGEND, RULES, Counts, Difference, Report, agrees, remark_lines, report_html, row_groups

__all__ = ["Count", "as_text", "kept_results", "markdown_table", "summary"]


def markdown_table(
    versions: Mapping[str, str], counts: Mapping[str, Mapping[str, Counts]], notes: Iterable[str]
) -> str:
    """Return the rules that a library differs from as a table in Markdown, and in words those that all follow."""
    titles = [f"{title} {version}" for title, version in versions.items()]
    lines = [f"| rule | says | {' | '.join(titles)} |", f"| --- | --- | {' | '.join('---:' for _ in titles)} |"]
    agreed = []
    for group, rows in row_groups(versions, counts):
        differing = [row for row in rows if not agrees(row[2:])]
        agreed += [f"- {group}: {'; '.join(row[0] for row in rows if row not in differing)}."] * (differing != rows)
        if differing:
            lines.append(f"| **{group}** |{' |' * (1 + len(titles))}")
        for text, basis, *cells in differing:
            marked = [cell if agrees([cell]) else f"**{cell}**" for cell in cells]
            lines.append(f"| {text} | {basis} | {' | '.join(marked)} |")
    if agreed:
        lines += ["", "No difference in any of them:", "", *agreed]
    return "\n".join([*lines, "", LEGEND, "", *(f"- {note}" for note in notes)])


def text_table(report: Report) -> str:
    """Return the table in columns."""
    heads = [[*report.versions], [*report.versions.values()]]
    groups = row_groups(report.versions, report.cells)
    body = [line for _, rows in groups for line in rows]
    width = max(len(line[0]) for line in body)
    widths = [max(len(line[index]) for line in [*heads, *(row[2:] for row in body)]) for index in range(len(heads[0]))]
    lines = [" " * (width + 10) + "  ".join(map(str.rjust, head, widths)) for head in heads]
    for group, rows in groups:
        lines += ["", group]
        for text, basis, *cells in rows:
            lines.append(f"{text:{width}} {basis:9}{'  '.join(map(str.rjust, cells, widths))}")
    return "\n".join([*lines, "", LEGEND, *report.notes])


def _input(one: dict[str, Any]) -> str:
    if "shape" in one:
        return f"{one['format']}{one['shape']}"
    if "code" not in one:
        return f"{one['format']} {one['value']!r}"
    return f"{one['format']} {one['code']} ({one['value']})"


def _line(one: Difference) -> str:
    shown = {name: value for name, value in one.attributes.items() if name != "to"}
    for name in {"output_dtype", "precision"} & set(shown):
        shown[name] = as_format(shown[name]).name
    options = "".join(f", {name}={value}" for name, value in shown.items())
    opset = "" if one.opset is None else f" at opset {one.opset}"
    inputs = ", ".join(map(_input, one.inputs))
    copies = "" if one.copies == 1 else f" ({one.copies} times)"
    return (
        f"  {one.library}: {one.operator}{opset} of {inputs}{copies} to {one.target}{options} "
        f"gives {one.theirs}, expected {one.expected}"
    )


def as_text(report: Report) -> str:
    """Return the table and, by rule, one input for each library, target and set of attributes that differs."""
    lines = [text_table(report), "", "One input for each difference:"]
    for name, differences in groupby(report.differences, key=lambda one: one.rule):
        lines += ["", f"{RULES[name].group}; {RULES[name].text}", *map(_line, differences)]
    return "\n".join(lines if report.differences else lines[:1])


@dataclass(frozen=True, slots=True)
class Count:
    """How many inputs a library was given, and how many came out otherwise than the rule says."""

    tried: int
    differ: int


@dataclass(frozen=True, slots=True, repr=False)
class Results:
    """A run: its date and machine, the version of each library, remarks on them, and the counts by rule and library."""

    date: str
    machine: str
    versions: Mapping[str, str]
    remarks: Mapping[str, str]
    counts: Mapping[str, Mapping[str, Count]]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {count_text(len(self.counts), 'rule')} with {', '.join(self.versions)}>"

    def _repr_html_(self) -> str:
        """Return the table of rules and libraries for notebooks."""
        return report_html(self.versions, self.counts, f"conformance, {self.date}, {self.machine}")

    def as_markdown(self) -> str:
        """Return the table, and what is said of it."""
        return markdown_table(self.versions, self.counts, remark_lines(self.remarks))


def summary(report: Report) -> dict[str, Any]:
    """Return the counts of a report with today's date and this machine, in the types that JSON has."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {platform.system()}",
        "versions": report.versions,
        "remarks": report.remarks,
        "rules": {
            rule: {title: [cell.tried, cell.differ] for title, cell in row.items()}
            for rule, row in report.cells.items()
        },
    }


@functools.cache
def kept_results() -> Results:
    """Return the run in results.json, which ``lowprec conformance --summary`` printed.

    Examples
    --------
    >>> kept = kept_results()
    >>> kept.counts["float8 nearest"]["lowprec"].differ
    0
    """
    kept = json.loads(resources.files(__package__).joinpath("results.json").read_text(encoding="utf-8"))
    counts = {rule: {title: Count(*numbers) for title, numbers in row.items()} for rule, row in kept["rules"].items()}
    return Results(kept["date"], kept["machine"], kept["versions"], kept["remarks"], counts)
