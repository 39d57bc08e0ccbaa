"""Integers, truth values and paths that callers give, and how a message repeats what came."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

__all__ = ["as_flag", "as_integer", "as_path", "printed", "shortened", "shown"]


_LENGTH = 60
"""Characters of a value that a message repeats."""

_BITS = 128
"""Bits of an integer whose digits a message repeats."""


def as_integer(value: object) -> int | None:
    """Return the integer that a value is, a 0-d array of an integer too; None if it is none, as truth values are not.

    Examples
    --------
    >>> as_integer(np.int8(-3)), as_integer(True), as_integer(2.0)
    (-3, None, None)
    """
    if isinstance(value, (bool, np.bool)):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]  # which says so
    except (TypeError, RuntimeError):  # RuntimeError: a tensor without data
        return None


def as_flag(value: object, parameter: str) -> bool:
    """Return True or False, or raise ValueError unless the value is one of them, 1 or 0."""
    if isinstance(value, (bool, np.bool)):
        return bool(value)
    if as_integer(value) not in (0, 1):
        raise ValueError(f"`{parameter}` must be True or False; got {shown(value)}")
    return as_integer(value) == 1


def as_path(value: object, parameter: str) -> Path:
    """Return a path, or raise TypeError unless the value is a text or an os.PathLike of one."""
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        raise TypeError(f"`{parameter}` must be a path, as text or os.PathLike; got {shown(value)}")
    return Path(path)


def printed(value: object, how: Callable[[object], str] = str) -> str:
    """Return the text of a value, or the name of its type where it has no text: what came may be anything."""
    try:
        return how(value)
    except Exception:  # of a class that is not ours, or of an integer of too many digits
        return f"a {type(value).__name__}"


def shown(value: object) -> str:
    """Return a value as a message repeats it: on one line, and short however large the value is.

    Examples
    --------
    >>> shown("int7"), shown(10**400), shown("x" * 1000)
    ("'int7'", 'an integer of 1329 bits', "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...")
    """
    if isinstance(value, int) and value.bit_length() > _BITS:  # int itself refuses to print beyond 4300 digits
        return f"{'a negative' if value < 0 else 'an'} integer of {value.bit_length()} bits"
    return shortened(printed(value, repr))


def shortened(text: str) -> str:
    """Return a text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LENGTH else line[: _LENGTH - 3] + "..."
