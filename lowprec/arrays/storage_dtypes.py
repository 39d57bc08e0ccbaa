"""Which dtype holds a format in which array library."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import array_api_compat as compat
import numpy as np

from ..spec.formats import FORMATS, NUMBERS, STRING, Format, Kind, as_format, is_in_table, own_dtype
from ..spec.memo import CACHED
from ..spec.scalar_arguments import shown
from .torch_tensors import advice

__all__ = ["LIBRARY_FORMATS", "extends", "format_of", "native", "storage_dtype"]


def _is_numpys(fmt: Format) -> bool:
    own = own_dtype(fmt)
    return own is not None and own.isbuiltin == 1


LIBRARY_FORMATS: dict[str, Callable[[Format], bool]] = {
    "numpy": lambda fmt: own_dtype(fmt) is not None,
    "torch": lambda fmt: fmt.torch_name is not None and is_in_table(fmt),
    "cupy": lambda fmt: _is_numpys(fmt) or (fmt.is_float and fmt.bits == 16),  # from ml_dtypes one type, since 14
    "jax": lambda fmt: own_dtype(fmt) is not None and fmt.bits != 6,  # XLA names 6-bit types and runs on none
    "dask": _is_numpys,  # one-byte dtypes of ml_dtypes do not reach every worker
}
"""Which formats a library has a dtype for; for other libraries their namespace says so."""


@cache
def _library(xp: Any) -> str:
    """Return the name of a library that `LIBRARY_FORMATS` knows, or ''."""
    checks: dict[str, Callable[[Any], bool]] = {
        "numpy": compat.is_numpy_namespace, "torch": compat.is_torch_namespace, "cupy": compat.is_cupy_namespace,
        "jax": compat.is_jax_namespace, "dask": compat.is_dask_namespace,
    }  # fmt: skip
    return next((name for name, is_it in checks.items() if is_it(xp)), "")


@lru_cache(maxsize=CACHED)
def native(fmt: Format, xp: Any) -> Any | None:
    """Return the dtype that library `xp` itself has for the format, or None."""
    library = _library(xp)
    if library == "numpy":
        return fmt.dtype
    if not (LIBRARY_FORMATS[library] if library else is_in_table)(fmt):  # the name alone says nothing
        return None
    dtype = getattr(xp, (library == "torch" and fmt.torch_name) or fmt.name, None)
    if library in ("cupy", "jax", "dask"):  # NumPy's dtypes, also where the namespace does not list them
        return fmt.dtype if dtype is not None or library != "jax" else None
    return None if isinstance(dtype, type(sys)) else dtype


def extends(fmt: Format, xp: Any) -> bool:
    """Whether the library holds the format's integers sign-extended in a wider type."""
    return fmt.is_integer and native(fmt, xp) is None


def storage_dtype(fmt: object, xp: Any) -> Any:
    """Return the dtype in which library `xp` holds a format.

    Parameters
    ----------
    fmt : str, int, dtype or Format
        Any alias of a format.
    xp : module
        An array library or array-API namespace: ``numpy``, ``torch``, ``array_api_strict`` and others.

    Returns
    -------
    dtype
        The library's own dtype for the format. Where it has none: an unsigned integer that holds the codes, or, for
        integers narrower than a byte, int8 or uint8 that holds the values.

    Raises
    ------
    ValueError
        If `fmt` is no format.
    TypeError
        If `xp` is no array library; if `fmt` is string and the library is not NumPy, which holds text as `str` objects;
        if JAX would need its 64-bit types for it, and they are switched off.

    Notes
    -----
    Source: lowprec's own table, docs/formats.md.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> lp.storage_dtype("float8_e5m2", np)
    dtype(float8_e5m2)
    """
    row = as_format(fmt)
    try:
        dtype, is_switched = _dtype_and_switch(row, xp)
    except TypeError:  # what cannot be a key of the cache is no namespace
        dtype, is_switched = None, False
    if dtype is None:
        text = ": numpy, in arrays of str objects" if row.kind is Kind.STRING else ""
        raise TypeError(f"`xp` must be an array library that can hold {row.name}{text}; got {shown(xp)}")
    if is_switched and not sys.modules["jax"].config.jax_enable_x64:
        how = 'jax.config.update("jax_enable_x64", True)'
        raise TypeError(f"JAX holds {row.name} only with its 64-bit types switched on: {how}")
    return dtype


@lru_cache(maxsize=CACHED)
def _dtype_and_switch(row: Format, xp: Any) -> tuple[Any, bool]:
    """Return the dtype, and whether it is one of those that JAX has only where its 64-bit types are switched on.

    None for what is no array library, and for text in another one than NumPy.
    """
    if not hasattr(xp, "__name__"):
        return None, False
    library = _library(xp)
    if row.kind is Kind.STRING and library != "numpy":
        return None, False
    dtype = native(row, xp)
    if dtype is None:
        prefix = "int" if row.is_integer and row.signed else "uint"
        dtype = native(FORMATS[f"{prefix}{row.storage_bits}"], xp)
    return dtype, library == "jax" and row.bits >= (128 if row.kind is Kind.COMPLEX else 64)


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
