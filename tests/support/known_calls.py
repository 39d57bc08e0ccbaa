"""One call of the linear operators that is right, and what tells whether a call was known from one before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lowprec._kernels import CallCache
from lowprec.ops import quantize_linear

X = np.linspace(-9, 9, 24, dtype=np.float32).reshape(4, 6)
SCALE = np.array([0.5, 1, 2, 0.25, 3, 1], np.float32)
ZERO = np.array([1, -2, 3, 0, 5, -6], np.int8)
CODES = np.clip(np.rint(X / SCALE) + ZERO, -128, 127).astype(np.int8)


def record(patch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list that gets, for each call from now on, whether it was carried out as one that came before."""
    seen: list[bool] = []

    def spied(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            result = original(*args)
            seen.append(result is not None)
            return result

        return run

    class Spy:
        def __init__(self, calls: CallCache) -> None:
            self.run, self.find, self.remember, self.by_shape = (
                spied(calls.run),
                calls.find,
                calls.remember,
                calls.by_shape,
            )

    for name in ("QUANTIZED", "DEQUANTIZED"):
        patch.setattr(quantize_linear, name, Spy(getattr(quantize_linear, name)))
    return seen
