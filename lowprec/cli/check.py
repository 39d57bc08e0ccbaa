"""The command `lowprec check`: whether engines would read a checkpoint as it is meant."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..checkpoints.checking.check import check
from ..checkpoints.progress import STYLES
from .messages import print_result, with_options
from .shared_arguments import byte_size

__all__ = ["add_command"]

_DESCRIPTION = """\
Look for what an inference engine would misread in a quantized checkpoint: codes
without scales, scales without codes, a config.json that is not true of the
tensors, modules that it lists and that are quantized or the reverse, NaN codes,
scales that are NaN, infinite, negative or zero. A line is printed for each
finding. Nothing is written.
"""

_STATUS = "exit status: 0 nothing would be misread, 1 there are errors, 2 wrong usage, 130 interrupted"


def _run(options: argparse.Namespace) -> int:
    findings = check(
        options.folder,
        values=not options.headers,
        follow_links=options.follow_links,
        max_memory=options.max_memory,
        progress=options.progress,
        part=options.part,
    )
    errors = sum(one.misread for one in findings)
    if options.json:
        print_result(json.dumps([one.as_dict() for one in findings], indent=2))
    else:
        total = f"{options.folder}: {findings.total_text()}"
        print_result(with_options("\n".join([*map(str, findings), total]), options))
    return 1 if errors else 0


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    one = commands.add_parser(
        "check", help="what engines would misread in a checkpoint", description=_DESCRIPTION, epilog=_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    one.add_argument("folder", metavar="FOLDER", type=Path, help="a folder, or a file that `convert` reads")
    one.add_argument("--headers", action="store_true", help="do not read codes and scales: headers and JSON alone")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.add_argument("--max-memory", type=byte_size, default="256M", metavar="SIZE", help="default: %(default)s")
    one.add_argument("--follow-links", action="store_true", help="read files outside of FOLDER that links name too")
    one.add_argument(
        "--part", action="store_true", help="check a part of a model without the others: one file, or some shards"
    )
    one.add_argument("--progress", choices=STYLES, default="auto", help="on standard error (default: %(default)s)")
    one.set_defaults(run=_run)
