"""The bits of arrays of any library, as unsigned integers in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


def bits_of(x: Any) -> np.ndarray[Any, Any]:
    """Return the bits of every element of an array, in its shape; of a Dask array as it is computed."""
    if hasattr(x, "compute"):
        x = x.compute()
    if type(x).__module__.partition(".")[0] == "torch":
        import torch

        x = x.contiguous().view(getattr(torch, f"uint{8 * x.element_size()}")).numpy()
    array = np.asarray(x)
    return array.view(f"u{array.dtype.itemsize}")


def contents(results: Any) -> list[tuple[str, tuple[int, ...], bytes]]:
    """Return what tells results apart: dtype, shape and bytes of each."""
    results = results if isinstance(results, tuple) else (results,)
    return [(str(one.dtype), tuple(one.shape), bits_of(one).tobytes()) for one in results]


def packed_bytes(codes: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """Return codes of 2, 4 or 6 bits packed in ONNX's order, bit by bit."""
    ones = (codes.reshape(-1, 1).astype(np.uint8) >> np.arange(bits, dtype=np.uint8)) & 1
    return np.packbits(ones.reshape(-1), bitorder="little")
