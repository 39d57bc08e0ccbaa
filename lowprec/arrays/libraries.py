"""What lowprec knows of array libraries: which one an array belongs to, what holds a format there, its bytes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Protocol, TypeVar

import array_api_compat as compat
import numpy as np

from .._float_mode import default_mode
from ..spec.formats import NUMBERS, STRING, Format, Kind, as_format, own_dtype
from .array_words import array_kind, class_name, way_to_an_array
from .overlap import overlaps_itself
from .storage_dtypes import extends, native, storage_dtype
from .torch_tensors import advice, check_tensor

__all__ = [
    "Array", "call_back", "check_out", "check_readable", "check_takes_text", "empty_codes", "extends", "format_of",
    "from_codes", "has_host_memory", "is_dask", "is_jax", "is_torch", "is_traced", "match_library", "namespace",
    "native", "reinterpret", "storage_dtype", "to_codes", "to_host", "to_library", "to_torch_memory",
]  # fmt: skip


class _AnyArray(Protocol):
    """What every array has, of whatever library."""

    @property
    def dtype(self) -> Any: ...

    @property
    def ndim(self) -> int: ...

    @property
    def shape(self) -> Any: ...


Array = TypeVar("Array", bound=_AnyArray)
"""An array of any library: the type that comes in is the one that comes out."""


_known: dict[type, Any] = {np.ndarray: np}
"""The namespace of the array types met before, where it is one for all arrays of the type."""


def namespace(x: Any, parameter: str = "x") -> Any:
    """Return the array-API namespace of `x`; NumPy scalars count as 0-d arrays."""
    xp = _known.get(type(x))
    if xp is not None:
        return xp
    refused = (type, bool, int, float, complex, type(None), np.ma.MaskedArray)  # whose mask would be lost silently
    if isinstance(x, (np.ndarray, np.generic)) and not isinstance(x, np.ma.MaskedArray):
        _known[type(x)] = np
        return np
    if not isinstance(x, refused) and compat.is_array_api_obj(x):
        xp = compat.array_namespace(x)
        if is_torch(x) or is_jax(x):
            _known[type(x)] = xp
        return xp
    wanted = "an array (NumPy, torch, or any array-API library)"
    raise TypeError(f"`{parameter}` must be {wanted}; got {class_name(x)}{way_to_an_array(x, parameter)}")


def is_torch(x: Any) -> bool:
    """Whether `x` is a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_jax(x: Any) -> bool:
    """Whether `x` is a JAX array, traced or not; JAX is not imported to find out."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.Array)


def is_traced(x: Any) -> bool:
    """Whether `x` stands for a JAX array that is yet to come: under `jax.jit`, `jax.vmap`, `jax.grad`."""
    return is_jax(x) and isinstance(x, sys.modules["jax"].core.Tracer)


def is_dask(x: Any) -> bool:
    """Whether `x` is a Dask array."""
    return bool(compat.is_dask_array(x))


def has_host_memory(x: Any) -> bool:
    """Whether the elements lie in host memory: of NumPy arrays, of torch tensors and JAX arrays on the CPU."""
    if isinstance(x, (np.ndarray, np.generic)):
        return True
    if is_jax(x):
        return not is_traced(x) and all(device.platform == "cpu" for device in x.devices())
    return is_torch(x) and x.device.type == "cpu"


def check_readable(x: Any, parameter: str = "x") -> None:
    """Raise an error for an array whose elements this process cannot read."""
    if is_torch(x):
        check_tensor(x, parameter)
    elif is_jax(x) and not is_traced(x) and (x.is_deleted() or not x.is_fully_addressable):
        kind = "deleted" if x.is_deleted() else "spread over processes"
        raise ValueError(f"`{parameter}` must be a JAX array that this process can read; got one that is {kind}")


def _format_of_dtype(dtype: Any) -> Format | None:
    if isinstance(dtype, np.dtype) and dtype.kind in "UTO":
        return STRING
    try:
        return as_format(dtype)
    except ValueError:
        return None


def format_of(
    dtype: Any,
    source: object = None,
    names: tuple[str, str] = ("x", "source"),
    kinds: frozenset[Kind] = NUMBERS,
) -> Format:
    """Return the format an array holds: what its dtype says, or `source` where the dtype is only a storage dtype.

    `names` are the caller's parameters for the array and for `source`, `kinds` what the caller takes.
    """
    array, parameter = names
    stored = _format_of_dtype(dtype)
    if isinstance(source, Format) and stored is not source and isinstance(dtype, np.dtype):
        stored = source if own_dtype(source) == dtype else stored  # another object of the same facts
    if stored is None or stored.kind not in kinds:
        more = {Kind.STRING: ", text", Kind.COMPLEX: ", complex numbers"}
        also = "".join(text for kind, text in more.items() if kind in kinds)
        raise TypeError(f"`{array}` must hold bools, integers, real floats{also}; got dtype {dtype}{advice(dtype)}")
    if source is None:
        return stored
    fmt = as_format(source, parameter=parameter)
    if fmt.kind not in kinds:
        raise ValueError(f"`{parameter}` must be a format that `{array}` may hold; got {fmt.name}")
    is_narrow = fmt.is_integer and fmt.bits < 8
    codes = stored.is_integer and stored.bits == fmt.storage_bits and (not stored.signed or is_narrow)
    if stored != fmt and not codes:
        dtypes = dict.fromkeys([fmt.name, *["int8"] * is_narrow, fmt.code_dtype.name])
        wanted = " or ".join(dtypes)
        named = f"`{parameter}` " if parameter != array else ""
        raise ValueError(f"`{array}` must hold codes of {named}{fmt.name} in {wanted}; got dtype {dtype}")
    return fmt


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


def call_back(
    task: Callable[..., Any], shape: tuple[int, ...], dtype: Any, *arrays: Any, elementwise: bool = True
) -> Any:
    """Have JAX call `task` with NumPy arrays when a traced computation runs; gradients do not pass."""
    jax = sys.modules["jax"]
    dtypes = [array.dtype for array in arrays]

    def sent(array: Any) -> Any:
        # What calls back is another thread, where 64-bit types may be off and would be rounded: two halves are not.
        array = jax.lax.stop_gradient(array)
        return jax.lax.bitcast_convert_type(array, np.uint32) if array.dtype.itemsize == 8 else array

    def host(*buffers: Any) -> Any:
        halves = (np.asarray(array) for array in buffers)
        pairs = zip(halves, dtypes, strict=True)
        return task(*(a if a.dtype == dtype else a.view(dtype).reshape(a.shape[:-1]) for a, dtype in pairs))

    result = jax.ShapeDtypeStruct(shape, dtype)
    how = "expand_dims" if elementwise else "sequential"
    return jax.pure_callback(host, result, *map(sent, arrays), vmap_method=how)


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


def match_library(other: Any, x: Any, parameter: str) -> Any:
    """Return `other` as an array of the library and on the device of `x`, which it must be; Dask takes in NumPy's."""
    if type(other) is type(x) is np.ndarray:
        return other
    xp, wanted = namespace(other, parameter), namespace(x)
    if is_dask(x) and xp is np:
        return wanted.asarray(other)
    if xp is not wanted:
        raise TypeError(f"`{parameter}` must be {array_kind(wanted)}, as `x` is; got {array_kind(xp)}")
    if is_torch(other):
        check_tensor(other, parameter)
    places_known = xp is not np and not is_traced(other) and not is_traced(x)
    if places_known and compat.device(other) != compat.device(x):
        raise ValueError(f"`{parameter}` must be on {compat.device(x)}, as `x` is; got {compat.device(other)}")
    return other


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


def check_takes_text(xp: Any) -> None:
    """Raise TypeError unless arrays of a library can hold text."""
    if xp is not np:
        raise TypeError(f"`x` must be a NumPy array to become text, held in str objects; got {array_kind(xp)}")


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
