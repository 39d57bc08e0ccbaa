"""A program that rounds weights stochastically in a step of jax.jit, with a new seed or key for each step."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
import ml_dtypes

import lowprec as lp
from lowprec import reference

X = np.linspace(-3, 3, 48, dtype=np.float32).reshape(6, 8)


def rounded(x: np.ndarray, seed: int) -> np.ndarray:
    """Round to bfloat16 by hand: 16 random bits are added to the 16 bits that are cut off."""
    bits = x.reshape(-1).view(np.uint32).tolist()
    words = [reference.random_word(seed, place, 16) for place in range(len(bits))]
    codes = [(one + word) >> 16 for one, word in zip(bits, words, strict=True)]
    return np.array(codes, np.uint16).view(ml_dtypes.bfloat16).reshape(x.shape)


def test_a_new_seed_for_each_step_is_compiled_once() -> None:
    traced = []

    @jax.jit
    def step(w: jax.Array, seed: jax.Array) -> jax.Array:
        traced.append(w.shape)
        return lp.cast(w, "bfloat16", rounding="stochastic", seed=seed)

    results = [np.asarray(step(X, seed)) for seed in range(5)]
    assert traced == [X.shape]
    for seed, result in enumerate(results):
        assert result.tolist() == rounded(X, seed).tolist()
    assert len({result.tobytes() for result in results}) == 5


def test_a_key_for_each_step_is_compiled_once() -> None:
    traced = []

    @jax.jit
    def step(w: jax.Array, key: jax.Array) -> jax.Array:
        traced.append(w.shape)
        return w - 0.5 * lp.cast(w, "bfloat16", rounding="stochastic", seed=key).astype(jnp.float32)

    key = jax.random.key(7)
    for _ in range(4):
        key, used = jax.random.split(key)
        first, second = jax.random.key_data(used).tolist()
        by_hand = X - np.float32(0.5) * rounded(X, (first << 32) + second).astype(np.float32)
        assert np.asarray(step(X, used)).tolist() == by_hand.tolist()
    assert len(traced) == 1


def test_the_mean_of_many_steps_is_the_weight() -> None:
    draw = jax.jit(jax.vmap(lambda seed: lp.cast(jnp.asarray(X), "bfloat16", rounding="stochastic", seed=seed)))
    mean = np.asarray(draw(jnp.arange(1000))).astype(np.float64).mean(0)
    step = 2.0 ** (np.frexp(X)[1] - 8)
    assert float(np.abs((mean - X) / step).max()) < 5 * 0.5 / 1000**0.5  # five standard deviations
