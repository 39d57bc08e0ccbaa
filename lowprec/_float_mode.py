"""Python functions in the default floating-point mode, whatever the caller's is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from . import _kernels

__all__ = ["default_mode"]


_Options = ParamSpec("_Options")
_Result = TypeVar("_Result")


def default_mode(function: Callable[_Options, _Result]) -> Callable[_Options, _Result]:
    """Let a function round to nearest, subnormals neither flushed nor read as zero; the caller's mode is put back.

    The kernels do so themselves. This is for host arithmetic: by Python, NumPy or libm, on the calling thread.

    Parameters
    ----------
    function : callable
        No generator: its body would run after the mode was put back.

    Returns
    -------
    callable
        The same function, in the default mode.

    Notes
    -----
    Source: IEEE 754-2019, 4.3; the default environment of C, FE_DFL_ENV.

    Examples
    --------
    >>> @default_mode
    ... def smallest() -> float:
    ...     return 2.0**-1000 * 2.0**-74
    >>> smallest()
    5e-324
    """

    @wraps(function)
    def call(*arguments: _Options.args, **options: _Options.kwargs) -> _Result:
        result: _Result = _kernels.in_default_mode(partial(function, *arguments, **options))
        return result

    return call
