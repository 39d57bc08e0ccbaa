"""The command `lowprec inspect`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..checkpoints.inspection import as_text, inspect, inspect_with_headline
from .shared_arguments import FOLLOW_LINKS_HELP, FROM_HELP, PART_HELP, byte_size, source_format

__all__ = ["add_command"]


def _run(options: argparse.Namespace) -> None:
    source = source_format(options)
    how = {"source": source, "stats": options.stats, "follow_links": options.follow_links}
    how["part"] = options.part
    if options.json:
        entries = inspect(options.file, **how, max_memory=options.max_memory)
        print(json.dumps([one.as_dict() for one in entries], indent=2))
    else:
        entries, headline = inspect_with_headline(options.file, **how, max_memory=options.max_memory)
        print(as_text(str(options.file), entries, headline, stats=options.stats))


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    one = commands.add_parser(
        "inspect", help="list the tensors of a checkpoint",
        description="List the tensors of a .safetensors, .gguf, .npy, .npz or .onnx file or a folder of .safetensors.",
    )  # fmt: skip
    one.add_argument("file", metavar="FILE", type=Path)
    one.add_argument("--from", dest="source", metavar="FORMAT", help=FROM_HELP)
    one.add_argument("--stats", action="store_true", help="count NaN and Inf, find the least and the largest element")
    one.add_argument("--max-memory", type=byte_size, default="256M", metavar="SIZE", help="default: %(default)s")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.add_argument("--follow-links", action="store_true", help=FOLLOW_LINKS_HELP)
    one.add_argument("--part", action="store_true", help=PART_HELP)
    one.set_defaults(run=_run)
