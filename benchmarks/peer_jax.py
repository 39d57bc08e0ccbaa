"""JAX on the CPU, compiled by `jax.jit`: its outputs are newly allocated in every call.

XLA decides about its threads when its client is made. So JAX takes part with the number of threads that was asked for
first, in the calling thread where that is one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from conversions import Arrays
from peers import Peer

import lowprec as lp

_threads_of_the_client: list[int] = []


def _has_client(threads: int) -> bool:
    """Return whether the client has so many threads; the first call decides."""
    if not _threads_of_the_client:
        os.environ["NPROC"] = str(threads)  # XLA reads the size of its pool of threads here
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        _threads_of_the_client.append(threads)
    return _threads_of_the_client == [threads]


def peers(arrays: Arrays, threads: int) -> Iterator[Peer]:
    """Return the peer where JAX has both dtypes; it packs no codes."""
    row = arrays.row
    if not _has_client(threads) or (row.packed and row.operation != "dequantize"):
        return
    try:
        operands = [jnp.asarray(arrays.values.reshape(arrays.grouped))]
        if row.granularity:
            operands.append(jnp.asarray(arrays.broadcastable(arrays.scale)))
            zero = arrays.broadcastable(arrays.zero).astype(np.float32)
            operands += [jnp.asarray(zero)] * row.zero_points
        arithmetic = jax.jit(_arithmetic(arrays))
    except TypeError:  # a dtype that JAX lacks
        return
    last = []

    def call() -> None:
        last[:] = [arithmetic(*operands).block_until_ready()]

    yield Peer("JAX", call, lambda: np.asarray(last.pop()).view(arrays.target.code_dtype), compiled=True)


def _arithmetic(arrays: Arrays) -> Callable[..., Any]:
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
