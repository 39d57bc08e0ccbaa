"""The command `lowprec formats`: the table of formats; one format's facts and codes."""

from __future__ import annotations

import argparse
from typing import Any

from ..spec.formats import FORMATS, Kind
from . import tables
from .format_arguments import FORMAT_HELP, any_format

__all__ = ["add_command"]


def _run(options: argparse.Namespace) -> None:
    if (options.markdown or options.storage_dtypes) and options.format is not None:
        options.parser.error("--markdown and --storage-dtypes are for whole tables; leave FORMAT out")
    if options.storage_dtypes:
        print(tables.storage_table())
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
    one.add_argument("--storage-dtypes", action="store_true", help="print, as Markdown, what holds them in a library")
    one.add_argument("--carriers", dest="storage_dtypes", action="store_true", help=argparse.SUPPRESS)  # the old name
    one.set_defaults(run=_run, parser=one)
