"""The parser of the command line, and the function that runs a command: each command is a module of this folder."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from typing import Any

from .. import __version__
from .._instruction_set_choice import problems
from ..backends.build_info import build_info
from . import explore
from .messages import drop_output, with_options

__all__ = ["main"]


def _parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of a command line that begins with a command."""
    parser = argparse.ArgumentParser(prog="lowprec", description="ONNX's low-precision conversions, bit-exact.")
    info = build_info()
    why = f": {info['serial_reason']}" if info["serial_reason"] else ""
    parser.add_argument(
        "--version", action="version",
        version=f"lowprec {__version__} (loops {info['isa']}, OpenMP {info['openmp']}, {info['threads']} threads{why})",
    )  # fmt: skip
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    if command == "explore":  # its first page does not wait for the modules of all others
        explore.add_command(commands)
    else:
        _add_all(commands)
    return parser


def _add_all(commands: Any) -> None:
    from . import cast, check, conformance, convert, demo, explain, formats, inspect, loss, recipes
    from .shared_arguments import cast_rules, rounding_rules

    rules, beyond = cast_rules(), rounding_rules()
    demo.add_command(commands)
    formats.add_command(commands)
    explain.add_command(commands, rules)
    cast.add_command(commands, rules, beyond)
    loss.add_command(commands)
    conformance.add_command(commands)
    explore.add_command(commands)
    convert.add_command(commands, rules, beyond)
    inspect.add_command(commands)
    check.add_command(commands)
    recipes.add_command(commands)


def _run(arguments: Sequence[str] | None, options: argparse.Namespace) -> int:
    try:
        given = sys.argv[1:] if arguments is None else arguments
        _parser(given[0] if given else "").parse_args(given, options)
        return int(options.run(options) or 0)
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where an error can still be reported


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0 when done, 1 when it failed and 130 on Ctrl-C, with a line on standard error.

    A command may return another status than 0 itself: `check` does where it finds errors. Where the reader of standard
    output is gone, commands that only print return 1; those that write a file or judge one return what they did.

    Wrong usage raises SystemExit with 2, as argparse does.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file's name may not be text in the terminal's encoding
    if problems:  # of environment variables: reported when they were read
        return 1
    options = argparse.Namespace()
    try:
        return _run(arguments, options)
    except BrokenPipeError:  # the reader of our output has seen enough
        drop_output()
        return 1
    except KeyboardInterrupt:
        status, text = 130, "interrupted"
    except MemoryError:
        status, text = 1, "not enough memory"
    except (ImportError, TypeError, ValueError) as error:
        status, text = 1, with_options(str(error), options)
    except OSError as error:
        from ..checkpoints.files.errors import FileError

        if isinstance(error, FileError):
            status, text = 1, with_options(str(error), options)
        else:
            if error.filename is None:
                drop_output()
            status, text = 1, f"{error.filename or 'standard output'}: {error.strerror}"
    print("lowprec:", " ".join(text.splitlines()), file=sys.stderr)
    return status
