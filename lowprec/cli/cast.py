"""The command `lowprec cast`: an array in a file, converted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..checkpoints.containers.array_files import read_array, write_array
from ..checkpoints.containers.npz_archive import numpy_has
from ..checkpoints.containers.target_path import check_array_target
from ..ops.cast import cast
from ..ops.encode_pack import encode
from .messages import print_result
from .shared_arguments import FORMAT_HELP, number_format, rounding_keywords, source_format

__all__ = ["add_command"]

_OUTPUT_HELP = ".npy where NumPy has the format, and for bare codes of one that ONNX lacks; .npz for every format"


def _run(options: argparse.Namespace) -> None:
    target, source = number_format(options.to, "--to"), source_format(options)
    check_array_target(options.input, options.output, target, options.overwrite)
    array, fmt = read_array(options.input, source)
    rules = {"saturate": options.saturate, "round_mode": options.round_mode, "opset": options.opset}
    own = numpy_has(target)
    result = (cast if own else encode)(array, target, source=fmt, **rules, **rounding_keywords(options))
    write_array(options.output, result, target, overwrite=options.overwrite)
    stored = "" if own else f" (codes in {result.dtype})"
    print_result(
        f"{options.output}: {target.name} from {fmt.name}, shape {result.shape}, {result.nbytes} bytes{stored}"
    )


def add_command(commands: Any, *rules: argparse.ArgumentParser) -> None:
    """Add the command to the parser of the command line; `rules` have the options of a cast."""
    one = commands.add_parser(
        "cast", parents=rules, help="convert an array",
        description="Convert an .npy file, or an .npz archive of one array. An .npy input is mapped; the whole result "
        "is held in memory. A format that NumPy lacks is written to an .npz archive as codes, one to an element, with "
        "its name, which `cast`, `loss` and `convert` read.",
    )  # fmt: skip
    one.add_argument("input", metavar="IN", type=Path)
    one.add_argument("output", metavar="OUT", type=Path, help=_OUTPUT_HELP)
    one.add_argument("--to", required=True, metavar="FORMAT", help=FORMAT_HELP)
    one.add_argument("--from", dest="source", metavar="FORMAT", help="the format of codes that IN does not name")
    one.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    one.set_defaults(run=_run)
