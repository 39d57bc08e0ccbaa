"""Which kernels run: with OpenMP or serial, for which instruction set; the variables LOWPREC_*.

Where the library is missing that the others need, OpenMP's, or LOWPREC_OPENMP is 0, `lowprec._kernels` is made to name
the serial kernels.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Callable
from typing import TypeVar

__all__ = ["problems", "serial_reason", "setting"]

OPENMP_LIBRARIES = ("libgomp", "libomp", "libiomp", "vcomp", "DLL load failed")  # Windows does not name the library

_Value = TypeVar("_Value")

serial_reason: str | None = None
"""Why conversions run on one thread; None where they need not."""

problems: list[str] = []
"""What was wrong with variables. None changes a bit of a result, so a program that imports the library goes on."""


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


def _takes_openmp(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(f"LOWPREC_OPENMP must be 0 or 1; got {text!r}")
    return text == "1"


try:
    if not setting("LOWPREC_OPENMP", _takes_openmp, True):
        raise ImportError("LOWPREC_OPENMP is 0")
    from . import _kernels
except ImportError as error:
    if not any(name in str(error) for name in ("LOWPREC_OPENMP", *OPENMP_LIBRARIES)):
        raise
    serial_reason = str(error)
    _kernels = importlib.import_module("lowprec._kernels_serial")
    sys.modules["lowprec._kernels"] = _kernels  # for `from .._kernels import isa`
    sys.modules["lowprec"]._kernels = _kernels  # type: ignore[attr-defined]  # for `from .. import _kernels`
else:
    if not _kernels.openmp():
        serial_reason = "built without OpenMP"


def _instruction_set(text: str) -> str:
    known = _kernels.available_isas()
    if text not in known:
        raise ValueError(f"LOWPREC_ISA must be one of {', '.join(known)} on this machine; got {text!r}")
    return text


_kernels.use_isa(setting("LOWPREC_ISA", _instruction_set, _kernels.available_isas()[-1]))
