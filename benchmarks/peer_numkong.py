"""NumKong: its casts of arrays, by the kernels that it chooses for the processor."""

from __future__ import annotations

from collections.abc import Iterator

import numkong
import numpy as np
from conversions import Arrays
from peers import Peer

NAMES = {
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float6_e2m3fn": "e2m3",
    "float6_e3m2fn": "e3m2",
    **{name: name for name in ("float64", "float32", "float16", "bfloat16", "int8", "int64")},
}


def peers(arrays: Arrays, _threads: int) -> Iterator[Peer]:
    """Return the peer for a cast between its types; it has no scales for these."""
    row = arrays.row
    if row.operation != "cast" or row.packed or row.source not in NAMES or row.target not in NAMES:
        return
    out = arrays.another_output()

    def tensor(array: np.ndarray, name: str) -> numkong.Tensor:
        return numkong.from_pointer(array.ctypes.data, array.shape, NAMES[name], owner=array)

    read, written = tensor(arrays.values, row.source), tensor(out, row.target)
    yield Peer("NumKong", lambda: numkong.astype(read, NAMES[row.target], out=written), lambda: out)
