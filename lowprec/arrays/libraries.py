"""Which library an array belongs to, where its elements are, and what messages call it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import array_api_compat as compat
import numpy as np

from ..spec.formats import Format
from ..spec.rounding_modes import LaterSeed
from .torch_tensors import check_tensor

__all__ = [
    "Array",
    "array_kind",
    "call_back",
    "check_readable",
    "check_takes_text",
    "has_host_memory",
    "is_dask",
    "is_jax",
    "is_torch",
    "is_traced",
    "match_library",
    "namespace",
    "seed_argument",
    "seed_number",
]


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


def check_takes_text(xp: Any) -> None:
    """Raise TypeError unless arrays of a library can hold text."""
    if xp is not np:
        raise TypeError(f"`x` must be a NumPy array to become text, held in str objects; got {array_kind(xp)}")


def seed_argument(seed: Any) -> Any:
    """Return a seed that JAX holds as an int, or as a `LaterSeed` where it is traced; any other one as it is.

    A key is two words of 32 bits, as `jax.random.key_data` gives them: the seed is ``first * 2**32 + second``.
    """
    if not is_jax(seed):
        return seed
    jax = sys.modules["jax"]
    words = jax.random.key_data(seed) if jax.dtypes.issubdtype(seed.dtype, jax.dtypes.prng_key) else seed
    is_key = words.dtype == np.uint32 and words.shape == (2,)
    if not is_key and (words.shape != () or words.dtype.kind not in "iu"):
        wanted = "an integer, or a key of two words of 32 bits, as `jax.random.key` makes it"
        raise ValueError(f"`seed` must be {wanted}; got {seed.dtype} of shape {tuple(seed.shape)}")
    return LaterSeed(words) if is_traced(words) else seed_number(np.asarray(words))


def seed_number(words: np.ndarray[Any, Any]) -> int:
    """Return the seed that an integer is, or the two words of a key."""
    if words.ndim == 0:
        return int(words)
    first, second = words.tolist()
    return int(first) << 32 | int(second)
