"""The command `lowprec formats`: the table of formats; one format's facts and codes."""

from __future__ import annotations

import argparse
from typing import Any

from ..spec.formats import FORMATS, Kind
from . import tables
from .format_arguments import FORMAT_HELP, any_format

__all__ = ["add_command"]


def _run(options: argparse.Namespace) -> None:
    if (options.markdown or options.carriers) and options.format is not None:
        options.parser.error("--markdown and --carriers are for whole tables; leave FORMAT out")
    if options.carriers:
        print(tables.carrier_table())
        return
    if options.format is None:
        print(tables.markdown_formats() if options.markdown else FORMATS)
        return
    fmt = any_format(options.format, "FORMAT")
    print(tables.facts(fmt))
    if 0 < fmt.bits <= 8 and fmt.kind is not Kind.BOOL:
        print(f"\n{tables.code_table(fmt)}")


def add_command(commands: Any) -> None:
    """Add the command to the parser of the command line."""
    one = commands.add_parser("formats", help="the table of formats; one format's facts and codes")
    one.add_argument("format", nargs="?", metavar="FORMAT", help=FORMAT_HELP)
    one.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    one.add_argument("--carriers", action="store_true", help="print, as Markdown, what holds them in each library")
    one.set_defaults(run=_run, parser=one)
