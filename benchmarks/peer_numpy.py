"""NumPy with the dtypes of ml_dtypes: casts into an array; quantization in plain array arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from conversions import Arrays
from peers import Peer

import lowprec as lp


def peers(arrays: Arrays, _threads: int) -> Iterator[Peer]:
    """Return the peer; for quantization only where NumPy has the types and the formula is usual."""
    row, target = arrays.row, arrays.target
    if row.operation == "cast":
        out = arrays.another_output()

        def call() -> None:
            with np.errstate(all="ignore"):
                np.copyto(out, arrays.values, casting="unsafe")

        yield Peer("NumPy", call, lambda: out)
        return
    if row.source not in ("float32", "int8", "int4", "float8_e4m3fn") or row.target not in ("float32", "int8"):
        return
    out = arrays.another_output()
    scale, x = arrays.broadcastable(arrays.scale), arrays.values.reshape(arrays.grouped)
    zero = arrays.broadcastable(arrays.zero).astype(np.float32)
    if row.operation == "quantize":
        held = lp.iinfo(target)

        def quantize() -> None:
            y = np.rint(x / scale)
            if row.zero_points:
                y += zero
            out[...] = np.clip(y, held.min, held.max)

        yield Peer("NumPy", quantize, lambda: out)
        return

    def dequantize() -> None:
        y = x.astype(np.float32)
        if row.zero_points:
            y -= zero
        np.multiply(y, scale, out=out)

    yield Peer("NumPy", dequantize, lambda: out)
