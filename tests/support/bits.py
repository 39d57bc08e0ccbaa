"""The bits of arrays of any library, as unsigned integers in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["bits_of"]


def bits_of(x: Any) -> np.ndarray[Any, Any]:
    """Return the bits of every element of an array, in its shape; of a Dask array as it is computed."""
    if hasattr(x, "compute"):
        x = x.compute()
    if type(x).__module__.partition(".")[0] == "torch":
        import torch

        x = x.contiguous().view(getattr(torch, f"uint{8 * x.element_size()}")).numpy()
    array = np.asarray(x)
    return array.view(f"u{array.dtype.itemsize}")
