"""The command line."""

from .command_line import main

__all__ = ["main"]
