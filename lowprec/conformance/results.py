"""The counts of one run of `lowprec conformance`, kept in results.json for those who quote them."""

from __future__ import annotations

import datetime
import functools
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ..spec.counted_text import count_text
from .comparison import Report
from .report_rows import report_html

__all__ = ["Count", "Results", "kept_results", "summary"]


@dataclass(frozen=True, slots=True)
class Count:
    """How many inputs a library was given, and how many came out otherwise than the rule says."""

    tried: int
    differ: int


@dataclass(frozen=True, slots=True, repr=False)
class Results:
    """A run: its date and machine, the version of each library, and the counts by rule and library."""

    date: str
    machine: str
    versions: Mapping[str, str]
    counts: Mapping[str, Mapping[str, Count]]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {count_text(len(self.counts), 'rule')} with {', '.join(self.versions)}>"

    def _repr_html_(self) -> str:
        """Return the table of rules and libraries for notebooks."""
        return report_html(self.versions, self.counts, f"conformance, {self.date}, {self.machine}")


def summary(report: Report) -> dict[str, Any]:
    """Return the counts of a report with today's date and this machine, in the types that JSON has."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {platform.system()}",
        "versions": report.versions,
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
    return Results(kept["date"], kept["machine"], kept["versions"], counts)
