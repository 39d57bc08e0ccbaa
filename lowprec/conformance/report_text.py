"""The report for people: a table as text or Markdown, and below it one input for each difference."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from ..spec.formats import as_format
from .comparison import Cell, Difference, Report
from .rules import DECIDED, DISPUTED, P3109, RULES

__all__ = ["as_text", "markdown_table", "text_table"]

_LEGEND = (
    "differ / tried: how many inputs come out otherwise than the rule says, of how many. -: not offered. "
    f"{DECIDED}: ONNX is silent, docs/semantics.md decides. {DISPUTED}: ONNX's text and its own data disagree. "
    f"{P3109}: IEEE P3109, interim report 4.0. v: the part of the way to the neighbour farther from zero; R: a random "
    "number of N bits. a: the largest magnitude of a block; M: that of its elements, emax its exponent."
)


def _number(count: int) -> str:
    """Return a count in at most four characters: 1234567 as 1.2M."""
    if count < 10_000:
        return str(count)
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if count >= unit:
            scaled = count / unit
            return f"{scaled:.0f}{name}" if scaled >= 10 else f"{scaled:.1f}{name}"
    raise AssertionError


def _cell(cell: Cell | None) -> str:
    return "-" if cell is None else f"{_number(cell.differ)} / {_number(cell.tried)}"


def _rows(report: Report) -> list[tuple[str, list[list[str]]]]:
    """Return the groups of the table: their title, and the cells of each row as text."""
    groups = []
    for group, rules in groupby((name for name in RULES if report.cells[name]), key=lambda name: RULES[name].group):
        lines = []
        for name in rules:
            cells = report.cells[name]
            lines.append([RULES[name].text, RULES[name].basis, *(_cell(cells.get(one)) for one in report.versions)])
        groups.append((group, lines))
    return groups


def _agrees(cells: list[str]) -> bool:
    return all(cell.startswith(("0 /", "-")) for cell in cells)


def markdown_table(report: Report) -> str:
    """Return the rules that a library differs from as a table in Markdown, and in words those that all follow."""
    titles = [f"{title} {version}" for title, version in report.versions.items()]
    lines = [f"| rule | says | {' | '.join(titles)} |", f"| --- | --- | {' | '.join('---:' for _ in titles)} |"]
    agreed = []
    for group, rows in _rows(report):
        differing = [row for row in rows if not _agrees(row[2:])]
        agreed += [f"- {group}: {'; '.join(row[0] for row in rows if row not in differing)}."] * (differing != rows)
        if differing:
            lines.append(f"| **{group}** |{' |' * (1 + len(titles))}")
        for text, basis, *cells in differing:
            marked = [cell if _agrees([cell]) else f"**{cell}**" for cell in cells]
            lines.append(f"| {text} | {basis} | {' | '.join(marked)} |")
    if agreed:
        lines += ["", "No difference in any of them:", "", *agreed]
    return "\n".join([*lines, "", _LEGEND, *_remarks(report)])


def _remarks(report: Report) -> list[str]:
    lines = [f"{title}: {remark}." for title, remark in report.remarks.items()]
    return [*lines, *([f"Not installed: {', '.join(report.missing)}."] if report.missing else [])]


def text_table(report: Report) -> str:
    """Return the table in columns."""
    heads = [[*report.versions], [*report.versions.values()]]
    body = [line for _, rows in _rows(report) for line in rows]
    width = max(len(line[0]) for line in body)
    widths = [max(len(line[index]) for line in [*heads, *(row[2:] for row in body)]) for index in range(len(heads[0]))]
    lines = [" " * (width + 10) + "  ".join(map(str.rjust, head, widths)) for head in heads]
    for group, rows in _rows(report):
        lines += ["", group]
        for text, basis, *cells in rows:
            lines.append(f"{text:{width}} {basis:9}{'  '.join(map(str.rjust, cells, widths))}")
    return "\n".join([*lines, "", _LEGEND, *_remarks(report)])


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
