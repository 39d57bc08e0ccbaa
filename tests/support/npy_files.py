"""Codes for the tests of .npy files."""

from __future__ import annotations

from typing import Any

import numpy as np

import lowprec as lp
from lowprec.spec.formats import Format

Array = np.ndarray[Any, Any]
INT4 = lp.formats["int4"]
UINT8 = lp.formats["uint8"]


def codes_of(fmt: Format, shape: tuple[int, ...] = (2, 3)) -> Array:
    size = int(np.prod(shape))
    return (
        (np.arange(size) * 37 % (2 if fmt.name == "bool" else 1 << min(fmt.bits, 8)))
        .astype(fmt.code_dtype)
        .reshape(shape)
    )


def same(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
