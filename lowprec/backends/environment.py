"""The library's own environment variables, read at import: a wrong value is reported in one line and not used."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import TypeVar

__all__ = ["problems", "setting"]

_Value = TypeVar("_Value")

problems: list[str] = []
"""What was wrong. Neither variable changes a bit of a result, so a program that imports the library goes on."""


def setting(name: str, read: Callable[[str], _Value], default: _Value) -> _Value:
    """Return what `read` returns for a variable; the default where it is not set, empty, or `read` raises ValueError.

    The line goes to the logger ``lowprec``: to standard error, unless the program has set up logging.
    """
    text = os.environ.get(name)
    if not text:
        return default
    try:
        return read(text)
    except ValueError as error:
        problems.append(str(error))
        logging.getLogger("lowprec").warning("lowprec: %s", error)
        return default
