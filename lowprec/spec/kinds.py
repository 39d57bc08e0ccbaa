"""The kinds of formats: floats, integers, bool, strings and complex numbers."""

from __future__ import annotations

import enum

__all__ = ["NUMBERS", "Kind"]


class Kind(enum.Enum):
    """What a code of the format stands for."""

    FLOAT = "float"
    INT = "int"
    BOOL = "bool"
    STRING = "string"
    COMPLEX = "complex"


NUMBERS = frozenset({Kind.FLOAT, Kind.INT, Kind.BOOL})
"""The kinds that are converted by value."""
