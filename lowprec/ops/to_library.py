"""From one library's storage dtype of a format to another's, codes unchanged: `to_numpy`, `to_torch`, `to_jax`."""

from __future__ import annotations

import importlib
from typing import Any

import array_api_compat as compat
import numpy as np

from ..arrays.array_memory import reinterpret, to_host, to_torch_memory
from ..arrays.libraries import is_jax, is_torch, namespace
from ..arrays.storage_dtypes import extends, format_of, storage_dtype
from ..arrays.torch_tensors import dispatched, eager, recorded
from ..backends.backend_choice import dispatch
from ..backends.jobs import Job
from ..plans.plan import copy_plan
from ..spec.formats import Format
from ..spec.old_names import renamed

__all__ = ["held_codes", "to_jax", "to_numpy", "to_torch"]


def _held(x: Any, source: object) -> Format:
    namespace(x)
    return format_of(x.dtype, source, ("x", "source"))


def held_codes(x: Any, row: Format, parameter: str) -> np.ndarray[Any, Any]:
    """Return what an array of any library holds of a format, with the dtype of the format; errors name `parameter`."""
    return _untraced_codes(x, row, False, parameter).view(row.dtype)


def _untraced_codes(x: Any, row: Format, extend: bool, parameter: str) -> np.ndarray[Any, Any]:
    """Return codes as `_codes` does, or raise where torch would keep them as constants of a graph."""
    if recorded(x):
        raise TypeError(f"`{parameter}` must be an array that torch does not trace, for a graph would keep constants")
    return _codes(x, row, extend, parameter)


def _codes(x: Any, row: Format, extend: bool, parameter: str = "x") -> np.ndarray[Any, Any]:
    """Return codes whose bits beyond the format's are clear or, on request, copies of the sign: `x` if they are."""
    stored = to_host(x, parameter)
    if row.bits >= 8:
        return stored
    codes = stored & np.uint8(row.code_mask)
    if extend:
        codes = (codes ^ np.uint8(row.sign_mask)) - np.uint8(row.sign_mask)
    return stored if np.array_equal(codes, stored) else codes


@eager
@renamed(fmt="source")
def to_numpy(x: Any, source: object = None) -> np.ndarray[Any, Any]:
    """Return an array of any library as a NumPy array with the dtype of its format.

    Codes do not change: NaN payloads, -0 and Inf stay as they are, and nothing is out of range. For integers narrower
    than a byte, values in int8 become the codes of ml_dtypes.

    Parameters
    ----------
    x : array
        Any library, shape and strides; bool, integer or float of any format. Dask arrays are computed, arrays on other
        devices copied to the host; torch tensors that require gradients are detached.
    source : str, int, dtype or Format, optional
        The format of `x` where its dtype only carries the codes (uint8, uint16, int8).

    Returns
    -------
    numpy.ndarray
        The same shape, with the dtype ``storage_dtype(source, numpy)``. It shares the memory of NumPy arrays in native
        byte order, torch tensors on the CPU, JAX arrays (then it is read-only) and of whatever has DLPack on the CPU;
        it is a copy where the bytes differ, as those of int4 values do.

    Raises
    ------
    TypeError
        If `x` is no array, holds text or complex numbers, has nothing in it (torch's meta device, JAX's tracers), or
        is written down in a graph by torch, which would keep the result as a constant.
    ValueError
        If `source` is no format, or does not go with the dtype of `x`.

    Notes
    -----
    Source: lowprec's own table, docs/formats.md; docs/interchange.md shows files, DLPack and pickle.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> y = lp.to_numpy(np.array([0x38, 0x7E], np.uint8), "float8_e4m3fn")
    >>> y.dtype, y.tolist()
    (dtype(float8_e4m3fn), [1.0, 448.0])
    """
    if recorded(x):
        from .. import torch_ops

        return torch_ops.to_numpy(x, source)
    row = _held(x, source)
    return _codes(x, row, extend=False).view(row.dtype)


@renamed(fmt="source")
def to_torch(x: Any, source: object = None) -> Any:
    """Return an array of any library as a torch tensor with the dtype of its format.

    Codes do not change: NaN payloads, -0 and Inf stay as they are, and nothing is out of range. Integers narrower than
    a byte become values in int8 or uint8.

    Parameters
    ----------
    x : array
        Any library, shape and strides; bool, integer or float of any format. Dask arrays are computed.
    source : str, int, dtype or Format, optional
        The format of `x` where its dtype only carries the codes (uint8, uint16, int8).

    Returns
    -------
    torch.Tensor
        The same shape, with the dtype ``storage_dtype(source, torch)``, detached. Tensors stay on their device,
        CuPy arrays on theirs, all else is on the CPU. It shares the memory of tensors, CuPy arrays and writable NumPy
        arrays; memory that must not be written to, JAX's for one, is copied, and so are negative strides.

    Raises
    ------
    ImportError
        If torch is not installed.
    TypeError
        If `x` is no array, holds text or complex numbers, or has nothing in it (torch's meta device, JAX's tracers).
    ValueError
        If `source` is no format, or does not go with the dtype of `x`.

    Notes
    -----
    Source: lowprec's own table, docs/formats.md; docs/interchange.md shows files, DLPack and pickle.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> lp.to_torch(np.array([0x38, 0x7E], np.uint8), "float8_e4m3fn")
    tensor([  1., 448.], dtype=torch.float8_e4m3fn)
    """
    if dispatched(x):
        from .. import torch_ops

        return torch_ops.to_torch(x, source)
    row = _held(x, source)
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise ImportError("`to_torch` needs torch, which is not installed") from None
    if compat.is_cupy_array(x):
        x = torch.from_dlpack(x.view(f"i{x.dtype.itemsize}")).view(getattr(torch, row.code_dtype.name))
    dtype = storage_dtype(row, torch)
    if is_torch(x):
        if row.bits < 8 and x.dtype != dtype:
            return dispatch(Job(x, copy_plan(row)))
        return reinterpret(x, row, namespace(x))
    codes = _codes(x, row, extends(row, torch))
    shared = codes.flags.writeable and all(step >= 0 and step % codes.itemsize == 0 for step in codes.strides)
    return to_torch_memory(codes if shared else codes.copy(), dtype)


def to_jax(x: Any, source: object = None) -> Any:
    """Return an array of any library as a JAX array with the dtype of its format.

    Codes do not change: NaN payloads, -0 and Inf stay as they are, and nothing is out of range. float6, which JAX has
    not, becomes codes in uint8.

    Parameters
    ----------
    x : array
        Any library, shape and strides; bool, integer or float of any format. Dask arrays are computed, arrays on other
        devices copied to the host; torch tensors that require gradients are detached. JAX's arrays may be traced.
    source : str, int, dtype or Format, optional
        The format of `x` where its dtype only carries the codes (uint8, uint16, int8).

    Returns
    -------
    jax.Array
        The same shape, with the dtype ``storage_dtype(source, jax.numpy)``. JAX's arrays stay on their devices, and
        are `x` itself where the dtype is; all others are copied to the default device.

    Raises
    ------
    ImportError
        If JAX is not installed.
    TypeError
        If `x` is no array, holds text or complex numbers, has nothing in it (torch's meta device), is traced by torch,
        or has 64 bits an element while JAX's 64-bit types are switched off.
    ValueError
        If `source` is no format, or does not go with the dtype of `x`.

    Notes
    -----
    Source: lowprec's own table, docs/formats.md; docs/interchange.md shows files, DLPack and pickle.

    Examples
    --------
    >>> import jax
    >>> import numpy as np
    >>> import lowprec as lp
    >>> y = lp.to_jax(np.array([0x38, 0x7E], np.uint8), "float8_e4m3fn")
    >>> y.dtype, y.tolist()
    (dtype(float8_e4m3fn), [1.0, 448.0])
    """
    namespace(x)
    row = format_of(x.dtype, source)
    try:
        jax = importlib.import_module("jax")
    except ImportError:
        raise ImportError("`to_jax` needs JAX, which is not installed") from None
    dtype = storage_dtype(row, jax.numpy)
    if is_jax(x):
        if x.dtype == dtype:
            return x
        return dispatch(Job(x, copy_plan(row))) if row.bits < 8 else reinterpret(x, row, jax.numpy)
    return jax.numpy.array(_untraced_codes(x, row, extends(row, jax.numpy), "x").view(dtype))
