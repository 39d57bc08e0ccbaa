"""The rounding modes: `round_mode` of a cast to powers of two; all other floats round to nearest, ties to even.

A mode is a name here and a case in each of the three witnesses: `_power` in ``reference/exact_cast.py``, the thresholds
in ``backends/cast_loops.py``, and ``backends/array_api_values.py``.
"""

from __future__ import annotations

from typing import get_args

from .arguments import shown
from .option_names import RoundModeName

__all__ = ["ROUND_MODES", "check_round_mode"]

ROUND_MODES: tuple[RoundModeName, ...] = get_args(RoundModeName)
"""Away from zero, toward zero, to nearest with ties away from zero; the first is the default."""


def check_round_mode(round_mode: object) -> str:
    """Return the name of a rounding mode, the default for None, or raise ValueError.

    Examples
    --------
    >>> check_round_mode(None), check_round_mode("nearest")
    ('up', 'nearest')
    """
    if round_mode is None:
        return ROUND_MODES[0]
    if isinstance(round_mode, str) and round_mode in ROUND_MODES:
        return round_mode
    raise ValueError(f"`round_mode` must be one of {', '.join(ROUND_MODES)} or None; got {shown(round_mode)}")
