"""What commands print: options by the names that the command line has for parameters; a reader that is gone."""

from __future__ import annotations

import argparse
import functools
import inspect
import os
import re
import sys

__all__ = ["drop_output", "print_result", "with_options"]


@functools.cache
def _names_of_options() -> dict[str, str]:
    """Return options by the parameters that they are; --no-saturate is the opposite of one."""
    from ..checkpoints.conversion import convert

    return {
        name: "--from" if name == "source" else f"--{name.replace('_', '-')}"
        for name, one in inspect.signature(convert).parameters.items()
        if one.kind is one.KEYWORD_ONLY and name != "saturate"
    }


def with_options(text: str, options: argparse.Namespace | None) -> str:
    """Return a message with the options of a command in the place of parameters, which messages have in backticks."""

    def option(match: re.Match[str]) -> str:
        name = _names_of_options().get(match[1])
        return name if name is not None and hasattr(options, match[1]) else match[0]

    return re.sub("`([a-z_]+)`", option, text)


def drop_output() -> None:
    """Send what is left in standard output's buffer nowhere: Python would fail again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_result(text: str) -> None:
    """Print what a command says of work that is done: it is, though the reader may be gone."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        drop_output()
