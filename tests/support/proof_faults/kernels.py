"""Calls of the public functions in a child without enough memory: MemoryError or the right result, and no crash."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lowprec as lp
from support.checkpoint_files import values

from .forked import Case, Child, Outcome, set_fault


@functools.cache
def _array() -> Any:
    with np.errstate(all="ignore"):
        return np.clip(np.nan_to_num(values((256, 1024), 5)), -1e4, 1e4)


@functools.cache
def _codes() -> Any:
    return lp.encode(_array(), "float8_e4m3fn")


CALLS: dict[str, Callable[[], Any]] = {
    "cast": lambda: lp.cast(_array(), "float8_e4m3fn"),
    "cast, strided": lambda: lp.cast(_array()[:, ::3], "bfloat16"),
    "encode, 4 bits": lambda: lp.encode(_array(), "float4_e2m1fn"),
    "encode, stochastic": lambda: lp.encode(_array(), "float8_e5m2", rounding="stochastic", seed=1),
    "decode": lambda: lp.decode(_codes(), "float8_e4m3fn"),
    "quantize_linear": lambda: lp.quantize_linear(_array(), np.float32(0.5), np.int8(0)),
    "absmax_scale": lambda: lp.absmax_scale(_array(), "int8", axis=0),
}
"""Calls by name."""


def _result(name: str) -> bytes:
    found = CALLS[name]()
    return found.tobytes() if isinstance(found, np.ndarray) else repr(found).encode()


def _call(case: Case, wanted: bytes) -> int:
    set_fault(case, {"target": Path("/")})
    try:
        found = _result(case.job)
    except MemoryError:
        return 1
    except SystemError as error:  # what Python makes of a reduction of NumPy's that fails without saying why
        if "numpy.ufunc" in str(error):
            return 1
        raise
    return 0 if found == wanted else 97


def count(case: Case, said: Path) -> int:
    """Return how many allocations a call makes."""
    wanted = _result(case.job)
    return Child(lambda: _call(case, wanted), said).wait().calls["memory"]


def run(case: Case, said: Path) -> tuple[Outcome, list[str]]:
    """Make a call in a child; return how it ended and what is wrong."""
    wanted = _result(case.job)
    outcome = Child(lambda: _call(case, wanted), said).wait()
    found = [] if outcome.status in (0, 1) and not outcome.said else [f"status {outcome.status}: {outcome.said[-300:]}"]
    return outcome, found
