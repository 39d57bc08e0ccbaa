"""The peers: each carries out a conversion on the same arrays, and is checked for equal bits before it is timed."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from conversions import Arrays
from timing import Contender, calls

PEERS = ("torch", "torch.compile", "ONNX Runtime", "JAX", "NumPy", "NumKong", "ggml")
"""The names of the columns; NumPy casts to the dtypes of ml_dtypes."""
MODULES = {
    "peer_torch": "torch",
    "peer_onnxruntime": "onnxruntime",
    "peer_jax": "jax",
    "peer_numpy": "numpy",
    "peer_numkong": "numkong",
    "peer_ggml": "pywhispercpp",
}
"""The module with a peer's calls, and the package it needs."""


@dataclass
class Peer:
    """One way to carry out a conversion. A peer that cannot is left out, not an error."""

    name: str
    call: Callable[[], Any]
    codes: Callable[[], np.ndarray]
    """The result of the last call as an array, packed or not."""
    compiled: bool = False
    """Whether the first call compiles, and the next one tells the time."""


def peers(arrays: Arrays, threads: int) -> Iterator[Peer]:
    """Return every peer that is installed and has the conversion."""
    for module, package in MODULES.items():
        if not importlib.util.find_spec(package):
            continue
        yield from importlib.import_module(module).peers(arrays, threads)


def checked(arrays: Arrays, threads: int, verbose: bool = False) -> tuple[dict[str, Contender], list[str]]:
    """Return the peers that run, by name, and the names of those that return other bits than lowprec."""
    contenders, other_bits = {}, []
    for peer in peers(arrays, threads):
        try:
            if peer.compiled:
                peer.call()
            start = time.perf_counter()
            peer.call()
            seconds = time.perf_counter() - start
        except Exception as error:  # what a peer raises for a type that it lacks is its own affair
            if verbose:
                print(f"{arrays.row.name}: {peer.name}: {type(error).__name__}: {error}")
            continue
        if not _equal(peer.codes(), arrays):
            other_bits.append(peer.name)
        contenders[peer.name] = calls(peer.call, limited=True, threads=threads, known=seconds, keep=peer)
    return contenders, other_bits


def _equal(codes: np.ndarray, arrays: Arrays) -> bool:
    if codes.size != arrays.expected.size:
        return np.array_equal(codes.view(np.uint8).reshape(-1), arrays.expected_packed.view(np.uint8).reshape(-1))
    codes = codes.reshape(-1).view(arrays.expected.dtype)
    if arrays.target.bits < 8:  # the upper bits of a storage dtype have no meaning
        codes = codes & np.array(arrays.target.code_mask, codes.dtype)
    return np.array_equal(codes, arrays.expected.reshape(-1))
