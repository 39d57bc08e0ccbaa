"""The memory of an array as codes, in and out; what `out=` must be."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import array_api_compat as compat
import numpy as np

from .._float_mode import default_mode
from ..spec.formats import Format
from .libraries import array_kind, call_back, check_readable, is_dask, is_jax, is_torch, is_traced, namespace
from .storage_dtypes import extends, native, storage_dtype
from .torch_tensors import check_tensor

__all__ = [
    "check_out",
    "empty_codes",
    "from_codes",
    "overlaps_itself",
    "reinterpret",
    "to_codes",
    "to_host",
    "to_library",
    "to_torch_memory",
]


def overlaps_itself(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Return whether two elements share memory; exactly, in time and memory that are linear in what the array spans.

    Parameters
    ----------
    shape, strides : sequence of int
        Of the array; strides of any sign.
    itemsize : int
        The size of an element, in the unit of the strides.

    Examples
    --------
    >>> overlaps_itself((3, 4), (0, 4), 4), overlaps_itself((3, 4), (-16, 4), 4)
    (True, False)
    >>> overlaps_itself((3, 2), (2, 3), 1), overlaps_itself((4, 2), (2, 6), 1)
    (False, True)
    """
    if 0 in shape:
        return False
    axes = sorted((abs(step), length) for step, length in zip(strides, shape, strict=True) if length > 1)
    extent, apart = itemsize, True
    for step, length in axes:
        apart = apart and step >= extent  # one step along an axis leads beyond all that the axes before reach
        extent += step * (length - 1)
    if apart:
        return False
    if math.prod(shape) * itemsize > extent:
        return True
    # Axes that are interleaved, as no slicing or transposing makes them: mark where every element starts.
    starts = np.zeros(extent, np.bool)
    np.lib.stride_tricks.as_strided(
        starts, tuple(length for _, length in axes), tuple(step for step, _ in axes)
    )[...] = True  # fmt: skip
    places = np.flatnonzero(starts)
    return len(places) < math.prod(shape) or bool((np.diff(places) < itemsize).any())


@cache
def _torch_signed(width: int) -> Any:
    """Return torch's signed integer of a width: NumPy and every torch dtype can be viewed as it."""
    return getattr(sys.modules["torch"], f"int{width}")


def to_codes(x: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy view of host memory as unsigned integers of the same width, byte order and strides."""
    if not is_torch(x):
        array = np.asarray(x)
        return array.view(f"u{array.dtype.itemsize}")
    width = 8 * x.itemsize
    x = x.detach() if x.requires_grad else x
    x = x.resolve_neg() if x.is_neg() else x
    codes: np.ndarray[Any, Any] = x.view(_torch_signed(width)).numpy().view(f"u{width // 8}")
    return codes


def empty_codes(
    shape: tuple[int, ...], dtype: np.dtype[Any], like: Any, layout: np.ndarray[Any, Any] | None
) -> np.ndarray[Any, Any]:
    """Return new memory that `from_codes` can hand to the library of `like`, in the layout of an array where given."""
    if is_jax(like):  # XLA takes memory over where it is aligned to 64 bytes, else it copies
        n_bytes = math.prod(shape) * dtype.itemsize
        memory = np.empty(n_bytes + 64, np.uint8)
        start = -memory.ctypes.data % 64
        return memory[start : start + n_bytes].view(dtype).reshape(shape)
    if layout is not None:
        return np.empty_like(layout, dtype=dtype, order="K", subok=False)
    return np.empty(shape, dtype)


def from_codes(codes: np.ndarray[Any, Any], dtype: Any, like: Any) -> Any:
    """Hand unsigned codes to the library and device of `like` as its own `dtype`, without a copy on the host."""
    if is_torch(like):
        return to_torch_memory(codes, dtype)
    if not is_jax(like):
        return codes.view(dtype)
    jax = sys.modules["jax"]
    placed = like.sharding if like.shape == codes.shape else next(iter(like.devices()))
    if like.committed:
        return jax.device_put(codes.view(dtype), placed)
    with jax.default_device(next(iter(like.devices()))):  # no more bound to its device than `like` is
        return jax.device_put(codes.view(dtype))


def _exchanged(x: Any, parameter: str = "x") -> np.ndarray[Any, Any]:
    """Return what another library lets NumPy see of its memory."""
    try:
        return np.from_dlpack(x)
    except (AttributeError, TypeError, RuntimeError, BufferError) as error:
        kind = array_kind(namespace(x))
        raise TypeError(
            f"`{parameter}` must let its bits be seen; {kind} has no view and no DLPack ({error})"
        ) from None


def to_host(x: Any, parameter: str = "x") -> np.ndarray[Any, Any]:
    """Return what `x` holds as unsigned codes in host memory and native byte order: a view where one can be had."""
    if is_traced(x):
        raise TypeError(f"`{parameter}` must hold something; got a JAX array that is being traced")
    if is_dask(x):
        return to_host(x.compute(), parameter)
    if compat.is_cupy_array(x):
        x = x.get()
    elif not isinstance(x, (np.ndarray, np.generic)) and not is_jax(x):
        check_readable(x, parameter)
        x = x.detach().cpu() if is_torch(x) else _exchanged(x, parameter)
    else:
        check_readable(x, parameter)
    codes = to_codes(x)
    return codes.byteswap() if isinstance(x, np.ndarray) and not x.dtype.isnative else codes


def to_torch_memory(codes: np.ndarray[Any, Any], dtype: Any) -> Any:
    """Return a torch tensor over unsigned codes; torch must have been imported."""
    return sys.modules["torch"].from_numpy(codes.view(f"i{codes.dtype.itemsize}")).view(dtype)


def _seen_as(array: np.ndarray[Any, Any], seen: Any) -> np.ndarray[Any, Any]:
    """Return the bits of a NumPy array as a dtype of the same width, in native byte order."""
    if not array.dtype.isnative:
        array = array.byteswap().view(array.dtype.newbyteorder("="))
    return array.view(seen)


def reinterpret(x: Any, fmt: Format, xp: Any) -> Any:
    """Return `x` as the library's dtype for a format of the same width, from 8 bits up: a view where one can be had."""
    dtype = storage_dtype(fmt, xp)
    if xp is np:
        return _seen_as(np.asarray(x), dtype)
    if is_torch(x):
        check_readable(x)
        return x.detach().resolve_neg().resolve_conj().view(dtype)
    if is_traced(x):
        return call_back(partial(_seen_as, seen=dtype), x.shape, dtype, x)
    if is_dask(x):
        return x.map_blocks(_seen_as, seen=dtype, dtype=dtype, token="lowprec-bitcast")
    if is_jax(x):
        check_readable(x)
        return from_codes(to_codes(x), dtype, x)
    if hasattr(x, "view"):
        return x.view(dtype)
    own = fmt.dtype if native(fmt, xp) is not None else fmt.code_dtype
    return xp.asarray(_exchanged(x).view(own), device=compat.device(x))


@default_mode
def _rebuilt(codes: np.ndarray[Any, Any], fmt: Format, dtype: Any, like: Any) -> Any:
    """Return codes as the values of another library, which takes them as Python numbers."""
    numbers = codes.view(fmt.dtype).astype(np.float64 if fmt.is_float else fmt.dtype)
    return _from_list(numbers, dtype, like)


def _from_list(numbers: np.ndarray[Any, Any], dtype: Any, like: Any) -> Any:
    """Return numbers as an array of the library of `like`, by way of a list: that of no numbers has no lengths."""
    xp = namespace(like)
    return xp.reshape(xp.asarray(numbers.tolist(), dtype=dtype, device=compat.device(like)), numbers.shape)


def to_library(codes: np.ndarray[Any, Any], fmt: Format, like: Any) -> Any:
    """Return a small NumPy array of unsigned codes in the library of `like`, on its device, in its storage dtype."""
    xp = namespace(like)
    dtype = storage_dtype(fmt, xp)
    if xp is np:
        return codes.view(fmt.dtype)
    if is_jax(like):
        return xp.asarray(codes.view(dtype)) if is_traced(like) else from_codes(codes, dtype, like)
    if native(fmt, xp) is None:
        sign = fmt.sign_mask if extends(fmt, xp) else 0
        values = (codes.astype(np.int64) ^ sign) - sign
        return _from_list(values, dtype, like)
    if is_torch(like):
        return from_codes(codes, dtype, like).to(compat.device(like))
    return _rebuilt(codes, fmt, dtype, like)


def _overlaps_itself(x: Any) -> bool:
    """Return whether elements of an array share memory, as far as its library says where they lie."""
    if is_torch(x):
        return overlaps_itself(x.shape, x.stride(), 1)
    strides = getattr(x, "strides", None)
    return strides is not None and overlaps_itself(x.shape, strides, x.dtype.itemsize)


def check_out(out: Any, like: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Raise unless `out` can take a result of that shape and dtype, for the input `like`."""
    xp, wanted = namespace(out, "out"), namespace(like)
    if xp is not wanted:
        raise TypeError(f"`out` must be {array_kind(wanted)}, as `x` is; got {array_kind(xp)}")
    if is_jax(out) or is_dask(out):
        raise TypeError(f"`out` must be None where arrays cannot be written to; got {array_kind(xp)}")
    if is_torch(out):
        check_tensor(out, "out")
    same = out.dtype.newbyteorder("=") == dtype if xp is np else out.dtype == dtype
    if tuple(out.shape) != tuple(shape) or not same:
        is_flat = same and len(shape) == 1 and math.prod(out.shape) == shape[0]  # packed results are
        hint = ": a view of it with one axis" if is_flat else ""
        came = f"{tuple(out.shape)}, {out.dtype}{hint}"
        raise ValueError(f"`out` must have shape {tuple(shape)} and dtype {dtype}; got {came}")
    if xp is not np and compat.device(out) != compat.device(like):
        raise ValueError(f"`out` must be on {compat.device(like)}, as `x` is; got {compat.device(out)}")
    if isinstance(out, np.generic) or (isinstance(out, np.ndarray) and not out.flags.writeable):
        raise ValueError("`out` must be writable; got a read-only array")
    if _overlaps_itself(out):
        raise ValueError("`out` must have memory of its own for every element; got an array that overlaps itself")
    if is_torch(out) and out.is_neg():
        raise ValueError("`out` must be plain memory; got a tensor that is negated when it is read")
    if is_torch(out) and out.requires_grad:
        raise ValueError("`out` must not require gradients; got requires_grad=True")
