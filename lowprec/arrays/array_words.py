"""Words of messages about arrays: what an array of a library is called, and what makes one of what is none."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..spec.formats import Format

__all__ = ["array_kind", "class_name", "way_to_an_array"]

_KINDS = {
    "numpy": "NumPy array", "torch": "torch tensor", "jax": "JAX array", "dask": "Dask array", "cupy": "CuPy array",
}  # fmt: skip


def array_kind(xp: Any) -> str:
    """Return what an array of a library is called, with an article."""
    name = str(xp.__name__)
    kind = _KINDS.get(name.removeprefix("array_api_compat.").partition(".")[0])
    return f"an array of {name}" if kind is None else f"a {kind}"


_FIRST = {"x", "codes", "packed", "elements"}
"""Parameters that a function has first."""


def class_name(x: Any) -> str:
    """Return the name of a class as a caller knows it."""
    place = "lowprec" if _library(x) == "lowprec" else type(x).__module__
    return f"{place}.{type(x).__qualname__}".removeprefix("builtins.")


def _library(x: Any) -> str:
    return type(x).__module__.partition(".")[0]


def way_to_an_array(x: Any, parameter: str) -> str:
    """Return what makes an array of what is none, to follow a message; nothing where that is not known."""
    library = _library(x)
    if library == "lowprec" and type(x).__name__ == "Quantized":
        return ": `lp.dequantize` takes it, and `.codes` are its codes"
    if isinstance(x, np.ma.MaskedArray):
        return ": pass `.data`, which leaves the mask out"
    if library in ("xarray", "zarr"):
        return ": pass `.data`" if library == "xarray" else ": pass `[...]`, which reads it"
    if hasattr(type(x), "to_numpy"):  # pandas, Arrow, Polars
        return ": pass `.to_numpy()`"
    if isinstance(x, (list, tuple, bool, int, float, complex)):
        return ": pass `np.asarray(...)` of it"
    if isinstance(x, (str, type, np.dtype, Format)) and parameter in _FIRST:
        return ": the array comes first"
    return ""
