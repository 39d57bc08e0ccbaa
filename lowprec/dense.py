"""The short ways for dense arrays in host memory, of NumPy and torch: what small calls cost is decided here."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _kernels
from .row import Format
from .threads import PARALLEL_FROM, is_small, shared

__all__ = ["dense_cast", "dense_result", "dense_tensor", "remember_dense", "tensor_beside"]

_MOST = 4096
"""How many conversions of a class of arrays are kept: any number of formats can be made."""

_found: dict[type, dict[tuple[Any, object], tuple[_kernels.Program, Any]]] = {}
"""Class of an array → (its dtype, name or row of the target) → what converts it, every other option left as it is."""


def remember_dense(x: Any, to: object, program: _kernels.Program, dtype: Any) -> None:
    """Let `dense_cast` find a program; by a number, which may equal another one of another type, it finds none."""
    if isinstance(to, (str, Format)):
        known = _found.setdefault(type(x), {})
        if len(known) >= _MOST:
            known.clear()
        known[x.dtype, to] = program, dtype


def dense_cast(x: Any, to: object, out: Any) -> Any:
    """Cast a dense array the way its dtype was cast before; None if the general way must be taken."""
    try:
        program, dtype = _found[type(x)][x.dtype, to]
    except (KeyError, TypeError):  # TypeError: what cannot be a key is named by the checks
        return None
    if type(x) is np.ndarray:
        n = x.size
        if is_small(n):
            return _kernels.run_same_shape(program, x, dtype, out, 1)
        return shared(n, _kernels.run_same_shape, program, x, dtype, out)
    return tensor_beside(x, program, dtype) if out is None and dense_tensor(x) else None


def dense_result(
    x: np.ndarray[Any, Any], shape: tuple[int, ...], dtype: np.dtype[Any], out: Any
) -> np.ndarray[Any, Any] | None:
    """Return an array that `run_arrays` may take for the result, or None if the general way must be taken."""
    if not x.flags.c_contiguous:
        return None
    if out is None:
        return np.empty(shape, dtype)
    return out if type(out) is np.ndarray and out.dtype == dtype and out.shape == shape else None


def dense_tensor(x: Any) -> bool:
    """Whether `x` is a torch tensor whose elements stand in one row of host memory, few enough for torch to hold more.

    Of larger results NumPy has the memory in huge pages.
    """
    torch = sys.modules.get("torch")
    return (
        torch is not None
        and type(x) is torch.Tensor
        and x.layout is torch.strided
        and x.is_cpu
        and x.is_contiguous()
        and not x.is_neg()
        and x.numel() < PARALLEL_FROM
    )


def tensor_beside(x: Any, program: _kernels.Program, dtype: Any) -> Any:
    """Return a dense tensor converted to another one of the same shape, which holds `dtype`."""
    n, result = x.numel(), sys.modules["torch"].empty_like(x, dtype=dtype)
    shared(n, _kernels.run_addresses, program, x.data_ptr(), x.nbytes, result.data_ptr(), result.nbytes, n, None)
    return result
