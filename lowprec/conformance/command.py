"""The command `lowprec conformance`: what is installed, beside the rules."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

__all__ = ["add_command", "report"]


def report() -> Any:
    """Run every trial over every library that is installed."""
    from .casts import cast_trials
    from .libraries import installed
    from .linear import linear_trials
    from .report import compare
    from .texts import bit_trials, text_trials
    from .trial import Trial

    def trials() -> Iterator[Trial]:
        for some in (cast_trials, text_trials, bit_trials, linear_trials):
            yield from some()

    return compare(trials(), *installed())


def _run(options: argparse.Namespace) -> None:
    from . import render

    found = report()
    if options.json:
        print(json.dumps(found.as_json(), indent=1))
    else:
        print(render.markdown_table(found) if options.markdown else render.as_text(found))


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    one = commands.add_parser(
        "conformance", help="which installed libraries follow the rules of the ONNX operators, and where not",
        description="Run onnx.reference, ONNX Runtime, ml_dtypes, torch and gfloat, as far as they are installed, and "
        "lowprec itself against exact arithmetic: every code of the narrow formats, ties, the edges of overflow and "
        "of the subnormals, NaN, Inf. Print how many inputs differ, and one input for each difference. It takes about "
        "half a minute.",
    )  # fmt: skip
    form = one.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON")
    form.add_argument("--markdown", action="store_true", help="print the table alone, as Markdown")
    one.set_defaults(run=_run)
