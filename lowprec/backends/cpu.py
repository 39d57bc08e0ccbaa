"""The short ways for dense arrays in host memory, of NumPy and torch: what small calls cost is decided here."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .. import _kernels
from ..arrays.torch_state import LOWEST
from ..spec.format import Format
from .threads import PARALLEL_FROM, is_small, shared

__all__ = ["converted_tensor", "dense_cast", "dense_result", "remember_dense"]

_MOST = 4096
"""How many conversions of a class of arrays are kept: any number of formats can be made."""

_found: dict[type, dict[tuple[Any, object], tuple[Any, ...]]] = {}
"""Class of an array → (its dtype, name or row of the target) → what converts it, every other option left as it is.

What converts it: a program and the dtype of the result; for torch, bytes of an element before and after too.
"""


def remember_dense(x: Any, to: object, *found: Any) -> None:
    """Let `dense_cast` find a program; by a number, which may equal another one of another type, it finds none."""
    if isinstance(to, (str, Format)):
        known = _found.setdefault(type(x), {})
        if len(known) >= _MOST:
            known.clear()
        known[x.dtype, to] = found


def dense_cast(x: Any, to: object, out: Any) -> Any:
    """Cast a dense array the way its dtype was cast before; None if the general way must be taken."""
    try:
        found = _found[type(x)][x.dtype, to]
    except (KeyError, TypeError):  # TypeError: what cannot be a key is named by the checks
        return None
    if type(x) is np.ndarray:
        program, dtype = found
        n = x.size
        if is_small(n):
            return _kernels.run_same_shape(program, x, dtype, out, 1)
        return shared(n, _kernels.run_same_shape, program, x, dtype, out)
    return converted_tensor(x, *found) if out is None else None


def dense_result(
    x: np.ndarray[Any, Any], shape: tuple[int, ...], dtype: np.dtype[Any], out: Any
) -> np.ndarray[Any, Any] | None:
    """Return an array that `run_arrays` may take for the result, or None if the general way must be taken."""
    if not x.flags.c_contiguous:
        return None
    if out is None:
        return np.empty(shape, dtype)
    return out if type(out) is np.ndarray and out.dtype == dtype and out.shape == shape else None


def converted_tensor(x: Any, program: _kernels.Program, dtype: Any, width: int, width_out: int) -> Any:
    """Return a torch tensor converted to another one of the same shape, which holds `dtype`; None if it is not dense.

    The widths are the bytes of an element, before and after.
    Dense is what stands in one row of host memory, few enough elements for torch to hold more: of larger results NumPy
    has the memory in huge pages.
    """
    torch = sys.modules.get("torch")
    if torch is None or type(x) is not torch.Tensor:
        return None
    try:
        if not (x.is_cpu and x.is_contiguous()) or x.is_neg() or x.is_nested:
            return None
        n, address = x.numel(), x.data_ptr()
    except RuntimeError:  # what is sparse, or wraps another tensor, has no address
        return None
    if n >= PARALLEL_FROM or (address < LOWEST and n):
        return None
    result = torch.empty_like(x, dtype=dtype)
    address_out, size, size_out = result.data_ptr(), n * width, n * width_out
    if is_small(n):
        _kernels.run_addresses(program, address, size, address_out, size_out, n, None, 1)
    else:
        shared(n, _kernels.run_addresses, program, address, size, address_out, size_out, n, None)
    return result
