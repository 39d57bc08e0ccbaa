"""Every array library in one interface: how it holds codes of a format, and the codes of a result."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from lowprec.spec.formats import Format, as_format
from support.bits import bits_of

# A second CPU for JAX, before it starts: there must be a device that is not the default.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2".strip()


def extended(codes: np.ndarray, fmt: Format) -> np.ndarray:
    """Return codes of an integer narrower than a byte as its values."""
    values = np.where(codes & fmt.sign_mask, codes.astype(np.int16) - (1 << fmt.bits), codes)
    return np.asarray(values.astype(np.int8 if fmt.signed else np.uint8))


@functools.cache
def codes_of(fmt: Format, count: int = 100) -> np.ndarray:
    """Return every code of a narrow format; of a wide one the special ones, values around 1, and some at random."""
    if fmt.bits <= 8:
        return np.arange(2 if fmt.name == "bool" else 1 << fmt.bits).astype(np.uint8)
    special = np.array([0, 1, fmt.sign_mask, fmt.max_code, fmt.magnitude_mask, fmt.code_mask], fmt.code_dtype)
    rng = np.random.default_rng(fmt.onnx_enum)
    drawn = rng.integers(0, 1 << fmt.bits, count, np.uint64).astype(fmt.code_dtype)
    if not fmt.is_float or fmt.bits == 16:
        return np.concatenate([special, drawn])
    near = np.ldexp(rng.normal(0, 1, count), rng.integers(-20, 20, count)).astype(fmt.dtype)
    tiny = np.ldexp(rng.normal(0, 1, 20), rng.integers(-150, -110, 20)).astype(fmt.dtype)
    return np.concatenate([special, drawn, near.view(fmt.code_dtype), tiny.view(fmt.code_dtype)])


class Library:
    """One library, or one way to use it. The base is NumPy."""

    own = staticmethod(lambda fmt: True)
    kind = "ndarray"
    """The name of its arrays' class."""
    first = True
    """Whether this is the usual way to use the library; the others, which share most code, need fewer cases."""

    def __init__(self, module: str) -> None:
        self.xp = importlib.import_module(module)
        self.namespace = self.xp

    def session(self, *formats: Format) -> contextlib.AbstractContextManager[Any]:
        """Return what must be entered before arrays of the formats can be made."""
        return contextlib.nullcontext()

    def hold(self, codes: np.ndarray, fmt: Format) -> Any:
        """Return codes as the library holds the format."""
        return self.wrap(self.as_numpy(codes, fmt))

    def as_numpy(self, codes: np.ndarray, fmt: Format) -> np.ndarray:
        """Return codes as a NumPy array of the dtype that carries the format in the library."""
        if self.own(fmt):
            return codes.view(fmt.dtype)
        return extended(codes, fmt) if fmt.is_integer else codes

    def source_for(self, fmt: Format) -> Format | None:
        """Return the `source=` that an array of the format needs: none where the library's dtype names it."""
        return None if self.own(fmt) else fmt

    def wrap(self, array: np.ndarray) -> Any:
        return array

    def unwrap(self, result: Any) -> np.ndarray:
        return np.asarray(result)

    def codes(self, result: Any, fmt: Format) -> np.ndarray:
        """Return the codes in a result that holds the format, after a look at the rest of the storage dtype."""
        found = self.unwrap(result)
        if not self.own(fmt) and fmt.is_integer:
            assert np.array_equal(found, extended(np.asarray(bits_of(found) & fmt.code_mask), fmt))
        return bits_of(found) & fmt.code_mask if fmt.bits < 8 else bits_of(found)

    def same_place(self, result: Any, x: Any) -> bool:
        """Whether a result is of the library and, where it has devices, on that of `x`."""
        kind = getattr(self.xp, self.kind)
        return isinstance(result, kind) and getattr(result, "device", None) == getattr(x, "device", None)

    def call(self, function: Callable[..., Any], *arrays: Any) -> Any:
        """Call a function of arrays; the way in which a library is used may be to compile it."""
        return function(*arrays)


class ReadOnly(Library):
    first = False

    def wrap(self, array: np.ndarray) -> Any:
        array = np.array(array)
        array.flags.writeable = False
        return array


class Strict(Library):
    own = staticmethod(lambda fmt: fmt.bits >= (32 if fmt.is_float else 8))

    def __init__(self, device: str) -> None:
        super().__init__("array_api_strict")
        self.device = self.xp.Device(device)
        self.first = device == "CPU_DEVICE"

    def wrap(self, array: np.ndarray) -> Any:
        return self.xp.asarray(array, device=self.device)

    def unwrap(self, result: Any) -> np.ndarray:
        return np.asarray(result.to_device(self.xp.Device("CPU_DEVICE")))

    def same_place(self, result: Any, x: Any) -> bool:
        return type(result) is type(x) and result.device == x.device


class Torch(Library):
    own = staticmethod(lambda fmt: fmt.torch_name is not None)
    kind = "Tensor"

    def __init__(self) -> None:
        super().__init__("torch")

    def wrap(self, array: np.ndarray) -> Any:
        signed = self.xp.from_numpy(bits_of(array).view(f"i{array.itemsize}").copy())
        return signed.view(getattr(self.xp, array.dtype.name))

    def unwrap(self, result: Any) -> np.ndarray:
        codes = result.view(getattr(self.xp, f"int{8 * result.element_size()}")).numpy()
        return codes.view(as_format(result.dtype).dtype)


class Cupy(Library):
    own = staticmethod(lambda fmt: fmt.dtype.isbuiltin == 1 or fmt.bits == 16)

    def __init__(self) -> None:
        super().__init__("cupy")

    def wrap(self, array: np.ndarray) -> Any:
        return self.xp.asarray(bits_of(array)).view(array.dtype)

    def unwrap(self, result: Any) -> np.ndarray:
        return result.get()


class Jax(Library):
    own = staticmethod(lambda fmt: fmt.bits != 6)

    def __init__(self, device: int = 0) -> None:
        super().__init__("jax")
        self.namespace = self.xp.numpy
        self.device = self.xp.devices()[device]
        self.bound = device > 0
        self.first = device == 0

    def session(self, *formats: Format) -> contextlib.AbstractContextManager[Any]:
        wide = any(fmt.bits == 64 for fmt in formats)
        return self.xp.enable_x64(True) if wide else contextlib.nullcontext()

    def wrap(self, array: np.ndarray) -> Any:
        return self.xp.device_put(array, self.device if self.bound else None)

    def same_place(self, result: Any, x: Any) -> bool:
        return isinstance(result, self.xp.Array) and (result.devices(), result.committed) == (x.devices(), x.committed)


class JaxCompiled(Jax):
    def __init__(self) -> None:
        super().__init__()
        self.first = False

    def call(self, function: Callable[..., Any], *arrays: Any) -> Any:
        return self.xp.jit(function)(*arrays)


class Dask(Library):
    own = staticmethod(lambda fmt: fmt.dtype.isbuiltin == 1)
    kind = "Array"

    def __init__(self) -> None:
        super().__init__("dask.array")

    def wrap(self, array: np.ndarray) -> Any:
        return self.xp.from_array(array, chunks=tuple(min(length, 5 + length // 3) for length in array.shape))

    def unwrap(self, result: Any) -> np.ndarray:
        found = result.compute(scheduler="synchronous")
        assert (found.shape, found.dtype) == (result.shape, result.dtype)
        return np.asarray(found)


LIBRARIES: dict[str, Callable[[], Library]] = {
    "numpy": lambda: Library("numpy"), "numpy read-only": lambda: ReadOnly("numpy"), "torch": Torch,
    "strict": lambda: Strict("CPU_DEVICE"), "strict device1": lambda: Strict("device1"), "jax": Jax,
    "jax device 1": lambda: Jax(1), "jax.jit": JaxCompiled, "dask": Dask, "cupy": Cupy,
}  # fmt: skip


@contextlib.contextmanager
def library(name: str) -> Iterator[Library]:
    """Give a library ready for use, or skip the test where an optional one is missing."""
    module = name.replace(".", " ").split()[0]
    if module in ("jax", "dask", "cupy"):
        found = pytest.importorskip(module)
        if module == "cupy" and not found.is_available():
            pytest.skip("CuPy finds no GPU")
    yield LIBRARIES[name]()
