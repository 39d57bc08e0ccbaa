"""ggml: its conversions of rows, from the libraries that pywhispercpp brings, called at their addresses."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from conversions import Arrays
from peers import Peer

FUNCTIONS = {
    ("float32", "bfloat16"): "ggml_cpu_fp32_to_bf16",
    ("float32", "float16"): "ggml_cpu_fp32_to_fp16",
    ("bfloat16", "float32"): "ggml_cpu_bf16_to_fp32",
    ("float16", "float32"): "ggml_cpu_fp16_to_fp32",
}


@functools.cache
def library(name: str) -> ctypes.CDLL:
    """Return ggml's library `base` or `cpu`, with the tables that it makes at its start."""
    found = importlib.util.find_spec("pywhispercpp")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).parents[1]
    for path in sorted([*folder.glob(f"pywhispercpp.libs/libggml-{name}*"), *folder.glob(f"libggml-{name}.so")]):
        loaded = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        if name == "cpu":
            loaded.ggml_cpu_init()
        return loaded
    raise ImportError(f"there is no libggml-{name} in {folder}")


def block_call(name: str, source: np.ndarray, target: np.ndarray, n: int) -> Callable[[], Any] | None:
    """Return a call of `quantize_row_…`, by kernels for the processor, or `dequantize_row_…`; None without ggml."""
    if not importlib.util.find_spec("pywhispercpp"):
        return None
    library("base")
    function = library("base" if name.startswith("dequantize") else "cpu")[name]
    arguments = (ctypes.c_void_p(source.ctypes.data), ctypes.c_void_p(target.ctypes.data), ctypes.c_int64(n))
    return functools.partial(function, *arguments)


def peers(arrays: Arrays, _threads: int) -> Iterator[Peer]:
    """Return the peer for a cast between float32 and a format of 16 bits."""
    row = arrays.row
    name = FUNCTIONS.get((row.source, row.target)) if row.operation == "cast" else None
    if name is None:
        return
    library("base")
    out = arrays.another_output()
    function = library("cpu")[name]
    arguments = (ctypes.c_void_p(arrays.values.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_int64(arrays.n))
    yield Peer("ggml", lambda: function(*arguments), lambda: out)
