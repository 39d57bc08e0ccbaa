"""JAX on the CPU, compiled by `jax.jit`: its outputs are newly allocated in every call.

XLA decides about its threads when its client is made. So JAX takes part with the number of threads that was asked for
first, in the calling thread where that is one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from conversions import Arrays
from peers import Peer

import lowprec as lp

_threads_of_the_client: list[int] = []


def _jax(threads: int) -> Any:
    """Return JAX with a client of so many threads, or None where it has another one."""
    if not _threads_of_the_client:
        os.environ["NPROC"] = str(threads)  # XLA reads the size of its pool of threads here
        os.environ["JAX_PLATFORMS"] = "cpu"
        _threads_of_the_client.append(threads)
    import jax  # it reads both variables

    if _threads_of_the_client != [threads]:
        return None
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    return jax


def peers(arrays: Arrays, threads: int) -> Iterator[Peer]:
    """Return the peer where JAX has both dtypes; it packs no codes."""
    jax, row = _jax(threads), arrays.row
    if jax is None or (row.packed and row.operation != "dequantize"):
        return
    try:
        operands = [jax.numpy.asarray(arrays.values.reshape(arrays.grouped))]
        if row.granularity:
            operands.append(jax.numpy.asarray(arrays.broadcastable(arrays.scale)))
            zero = arrays.broadcastable(arrays.zero).astype(np.float32)
            operands += [jax.numpy.asarray(zero)] * row.zero_points
        arithmetic = jax.jit(_arithmetic(arrays, jax.numpy))
    except TypeError:  # a dtype that JAX lacks
        return
    yield Peer(
        "JAX",
        lambda: arithmetic(*operands).block_until_ready(),
        lambda: np.asarray(arithmetic(*operands)).view(arrays.target.code_dtype),
        compiled=True,
    )


def _arithmetic(arrays: Arrays, jnp: Any) -> Callable[..., Any]:
    row, dtype, single = arrays.row, arrays.target.dtype, np.float32
    if row.operation == "cast":
        return lambda x: x.astype(dtype)
    if row.operation == "dequantize":
        if row.zero_points:
            return lambda x, scale, zero: ((x.astype(single) - zero) * scale).astype(dtype)
        return lambda x, scale: (x.astype(single) * scale).astype(dtype)
    if arrays.target.is_float:
        most = float(lp.finfo(arrays.target).max)
        return lambda x, scale: jnp.clip(x.astype(single) / scale, -most, most).astype(dtype)
    low, high = lp.iinfo(arrays.target).min, lp.iinfo(arrays.target).max
    if row.zero_points:
        return lambda x, scale, zero: jnp.clip(jnp.round(x / scale) + zero, low, high).astype(dtype)
    return lambda x, scale: jnp.clip(jnp.round(x.astype(single) / scale), low, high).astype(dtype)
