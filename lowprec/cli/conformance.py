"""The command `lowprec conformance`: which installed libraries follow the rules of the operators."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from . import exhaustive

__all__ = ["add_command", "report"]


def report() -> Any:
    """Run every case with every library that is installed."""
    from ..conformance.cases import Case
    from ..conformance.cast_cases import cast_cases
    from ..conformance.comparison import compare
    from ..conformance.libraries import installed
    from ..conformance.quantize_cases import quantize_cases
    from ..conformance.rounding_cases import rounding_cases, scale_cases
    from ..conformance.text_cases import bitcast_cases, text_cases

    def cases() -> Iterator[Case]:
        for some in (cast_cases, text_cases, bitcast_cases, quantize_cases, rounding_cases, scale_cases):
            yield from some()

    return compare(cases(), *installed())


def _rule_lines(summary: dict[str, Any]) -> str:
    """Return a summary as JSON, each rule on a line."""
    rules = ",\n".join(f"  {json.dumps(rule)}: {json.dumps(row)}" for rule, row in summary["rules"].items())
    rest = json.dumps({name: value for name, value in summary.items() if name != "rules"}, indent=1)
    return f'{rest[:-2]},\n "rules": {{\n{rules}\n }}\n}}'


def _run(options: argparse.Namespace) -> None:
    from ..conformance import report_text, results

    if options.exhaustive:
        return exhaustive.run(options)
    exhaustive.check_absent(options)
    result = report()
    if options.summary:
        print(_rule_lines(results.summary(result)))
    elif options.json:
        print(json.dumps(result.as_json(), indent=1))
    else:
        print(report_text.markdown_table(result) if options.markdown else report_text.as_text(result))
    return None


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    one = commands.add_parser(
        "conformance",
        help="which installed libraries follow the rules of the ONNX operators and of rounding, and where not",
        description="Run onnx.reference, ONNX Runtime, ml_dtypes, torch, NumKong, gfloat, pychop, APyTypes and "
        "torchao, as far as they are installed, and lowprec itself against exact arithmetic: every code of the narrow "
        "formats, ties, the edges of overflow and of the subnormals, NaN, Inf; every rounding mode; the scales of MX "
        "blocks. Print how many inputs differ, and one input for each difference. It takes about half a minute.",
    )
    form = one.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON")
    form.add_argument("--summary", action="store_true", help="print the counts alone, as lowprec keeps them")
    form.add_argument("--markdown", action="store_true", help="print the table alone, as Markdown")
    form.add_argument(
        "--exhaustive", action="store_true",
        help="convert all 2^32 float32 inputs instead, by lowprec alone, and compare with exact arithmetic: 40 minutes "
        "of one core, or 6 hours in array-API calls",
    )  # fmt: skip
    exhaustive.add_options(one)
    one.set_defaults(run=_run)
