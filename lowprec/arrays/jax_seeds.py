"""Seeds that JAX holds: integers and keys, those of a traced computation too."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..spec.rounding_modes import LaterSeed
from .libraries import is_jax, is_traced

__all__ = ["seed_argument", "seed_number"]


def seed_argument(seed: Any) -> Any:
    """Return a seed that JAX holds as an int, or as a `LaterSeed` where it is traced; any other one as it is.

    A key is two words of 32 bits, as `jax.random.key_data` gives them: the seed is ``first * 2**32 + second``.
    """
    if not is_jax(seed):
        return seed
    jax = sys.modules["jax"]
    words = jax.random.key_data(seed) if jax.dtypes.issubdtype(seed.dtype, jax.dtypes.prng_key) else seed
    is_key = words.dtype == np.uint32 and words.shape == (2,)
    if not is_key and (words.shape != () or words.dtype.kind not in "iu"):
        wanted = "an integer, or a key of two words of 32 bits, as `jax.random.key` makes it"
        raise ValueError(f"`seed` must be {wanted}; got {seed.dtype} of shape {tuple(seed.shape)}")
    return LaterSeed(words) if is_traced(words) else seed_number(np.asarray(words))


def seed_number(words: np.ndarray[Any, Any]) -> int:
    """Return the seed that an integer is, or the two words of a key."""
    if words.ndim == 0:
        return int(words)
    first, second = words.tolist()
    return int(first) << 32 | int(second)
