"""A service that casts and quantizes small arrays in several threads at once."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np

import lowprec as lp


def request(number: int) -> tuple[list[int], list[int], float]:
    x = np.random.default_rng(number).normal(size=64).astype(np.float32)
    codes = lp.cast(x, "float8_e4m3fn").view(np.uint8)
    quantized, scale = lp.quantize(x, "int8")
    return codes.tolist(), quantized.tolist(), float(scale)


def by_hand(number: int) -> tuple[list[int], list[int], float]:
    x = np.random.default_rng(number).normal(size=64).astype(np.float32)
    scale = np.abs(x).max() / np.float32(127)
    return (
        x.astype(ml_dtypes.float8_e4m3fn).view(np.uint8).tolist(),
        np.rint(x / scale).astype(int).tolist(),
        float(scale),
    )


def test_requests_of_eight_threads() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads change places in the middle of a call
    try:
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(request, range(400)))
    finally:
        sys.setswitchinterval(interval)
    assert results == [by_hand(number) for number in range(400)]


def test_the_number_of_threads_changes_no_bit() -> None:
    x = np.linspace(-3, 3, 100_000, dtype=np.float32)
    found = []
    before = lp.get_num_threads()
    for n in (1, 2, 5):
        lp.set_num_threads(n)
        assert lp.get_num_threads() == n
        found.append(lp.encode(x, "float8_e5m2", rounding="stochastic", seed=1).tobytes())
    lp.set_num_threads(None)
    assert lp.get_num_threads() == before
    assert len(set(found)) == 1
