"""Time of every rounding to narrow formats beside peers, as multiples of a copy: one thread, AVX-512 and AVX2.

    python benchmarks/rounding.py [--sizes 65536,67108864] [--only TEXT] [--seconds 4] [--alone] [--store]

Inputs are float32 normal deviates times 10; overflow saturates; outputs were written before. The peers compute codes
too, CPFloat apart, which rounds to float32 and reads and writes twice the bytes. torch and JAX round by arithmetic
(by_hand.py), gfloat and pychop 1 Mi elements at most; stochastic peers draw random numbers of their own. A peer whose
codes are others is named in the last column. ✗ marks a bar that is missed; the bars are those out of the cache.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import rounding_peers
from bars import Row, main
from conversions import random_input
from roofline import aligned

import lowprec as lp
from lowprec.spec.rounding_modes import ROUNDINGS

TARGETS = ("float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "binary8p3se")
DETERMINISTIC = tuple(mode for mode in ROUNDINGS if not mode.startswith("stochastic"))
RANDOM_BITS = (8, 16, 32)
BARS = (1.3, 1.9)
STOCHASTIC_BARS = (2.2, 3.8)
"""Of 16 random bits an element."""


def _row(x: np.ndarray, target: str, mode: str, random_bits: int = 0) -> Row:
    fmt = lp.as_format(target)
    packed = fmt.bits == 4
    out = aligned(x.size * (4 if packed else 8) // 8).view(np.uint8 if packed else fmt.code_dtype)
    options: dict[str, Any] = {"rounding": mode, "packed": packed, "out": out}
    options |= {"seed": 0, "random_bits": random_bits} if random_bits else {}
    name = f"{target}{' packed' * packed}, {mode}{f', {random_bits} bits' if random_bits else ''}"
    bars = BARS if not random_bits else STOCHASTIC_BARS if random_bits == 16 else None
    peers = rounding_peers.peers(x, fmt, mode, random_bits, packed)
    return Row(name, bars, x, out, partial(lp.encode, x, fmt, **options), peers)


def rows(n: int, options: argparse.Namespace) -> Iterator[Row]:
    """Yield every rounding to every target."""
    x = random_input(lp.formats["float32"], n)
    for target in TARGETS:
        for mode in DETERMINISTIC:
            yield _row(x, target, mode)
        for random_bits in RANDOM_BITS:
            yield _row(x, target, "stochastic", random_bits)


if __name__ == "__main__":
    main(__doc__ or "", rows, rounding_peers.NAMES, "rounding")
