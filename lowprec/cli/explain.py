"""The command `lowprec explain`: why a number becomes a code of a format."""

from __future__ import annotations

import argparse
import contextlib
import re
from typing import Any

from ..explanation import explain
from ..spec.formats import Format, as_format
from ..spec.scalar_arguments import shown
from .shared_arguments import FORMAT_HELP, number_format, rounding_keywords, rounding_rules, source_format

__all__ = ["add_command"]

_NEGATIVE = re.compile(r"-(\.?\d|inf|nan)", re.IGNORECASE)
"""What argparse shall take for a number, not for an option; its own pattern leaves out -inf, -1/3 and -0x1p-3."""


def _run(options: argparse.Namespace) -> None:
    if _names_a_format(options.value):
        raise ValueError(f"X must be a number, and the format comes after it; got {shown(options.value)}")
    fmt = number_format(options.format, "FORMAT")
    rules = {"saturate": options.saturate, "round_mode": options.round_mode, "opset": options.opset}
    source = source_format(options)
    value = options.value if source is None else _code(options.value, source)
    print(explain(value, fmt, source=source, **rules, **rounding_keywords(options)))


def _names_a_format(text: str) -> bool:
    """Whether a text is the name of a format."""
    with contextlib.suppress(ValueError):
        return bool(as_format(text))
    return False


def _code(text: str, source: Format) -> int:
    """Return the code that a text is, as Python writes integers: 42, 0x2a, 0b101010."""
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError(f"X must be a code of {source.name} where --from is given; got {shown(text)}") from None


def add_command(commands: Any, rules: argparse.ArgumentParser) -> None:
    """Add the command to the parser of the command line."""
    parents = [rules, rounding_rules(offset=True)]
    one = commands.add_parser("explain", parents=parents, help="why a number becomes that code of a format")
    one._negative_number_matcher = _NEGATIVE
    one.add_argument("value", metavar="X", help="0.3, -17/23, 0x1.8p+3, inf, -nan")
    one.add_argument("format", metavar="FORMAT", help=FORMAT_HELP)
    one.add_argument("--from", dest="source", metavar="FORMAT", help="the format of which X is a code, 0x2a or 42")
    one.set_defaults(run=_run)
