"""Seeds that JAX holds: integers and keys, traced or not, give the bits of the integer; one program serves all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.bits import contents as bits

import lowprec as lp

jax = pytest.importorskip("jax")
jnp = jax.numpy
X = np.random.default_rng(0).normal(0, 2, (4, 48)).astype(np.float32)
SCALE = np.array(0.3, np.float32)
HOW: dict[str, Any] = {"rounding": "stochastic"}
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "cast": lambda x, seed: lp.cast(x, "float8_e4m3fn", seed=seed, **HOW),
    "cast bfloat16": lambda x, seed: lp.cast(x, "bfloat16", seed=seed, offset=5, random_bits=8, **HOW),
    "cast_like": lambda x, seed: lp.cast_like(x, np.zeros(1, np.float16), seed=seed, **HOW),
    "encode": lambda x, seed: lp.encode(x, "float4_e2m1fn", seed=seed, packed=True, **HOW),
    "quantize_linear": lambda x, seed: lp.quantize_linear(x, 0.3, output_dtype="float8_e5m2", seed=seed, **HOW),
    "mx_quantize": lambda x, seed: lp.mx_quantize(x, seed=seed, **HOW),
    "nvfp4_quantize": lambda x, seed: lp.nvfp4_quantize(x, seed=seed, **HOW),
    "nvfp4_quantize given": lambda x, seed: lp.nvfp4_quantize(x, seed=seed, global_scale=0.01, packed=True, **HOW),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_traced_seed_gives_the_bits_of_the_integer(name: str) -> None:
    call = CALLS[name]
    compiled = jax.jit(call)
    for seed in (0, 7, 123456789, 2**31 - 1):
        assert bits(compiled(X, seed)) == bits(call(X, seed))
    assert compiled._cache_size() == 1
    for seed in (0, 2**32 - 1):
        assert bits(compiled(X, np.uint32(seed))) == bits(call(X, seed))
    fixed = jax.jit(lambda seed: call(jnp.asarray(X), seed))  # an array that is not traced
    assert bits(fixed(7)) == bits(call(X, 7))


@pytest.mark.parametrize("name", CALLS)
def test_a_key_is_two_words_the_first_of_which_is_the_high_one(name: str) -> None:
    call, traced = CALLS[name], []
    compiled = jax.jit(lambda x, key: traced.append(key) or call(x, key))
    keys = [jax.random.key(3), *jax.random.split(jax.random.key(1), 3)]
    assert bits(compiled(X, keys[0])) == bits(call(X, 3))
    for key in keys:
        first, second = map(int, jax.random.key_data(key))
        expected = bits(call(X, first * 2**32 + second))
        assert bits(compiled(X, key)) == expected
        assert bits(call(jnp.asarray(X), key)) == expected
        assert bits(call(X, key)) == expected
        assert bits(call(X, jax.random.key_data(key))) == expected  # as jax.random.PRNGKey makes it
    assert len(traced) == 1


@pytest.mark.parametrize("name", CALLS)
def test_vmap_over_seeds(name: str) -> None:
    call = CALLS[name]
    keys = jax.random.split(jax.random.key(9), 4)
    words = [int(first) << 32 | int(second) for first, second in jax.random.key_data(keys)]
    for seeds, numbers, function in ((jnp.arange(4), range(4), jax.vmap(call)), (keys, words, jax.jit(jax.vmap(call)))):
        got = function(X, seeds)
        got = got if isinstance(got, tuple) else (got,)
        for row, number in enumerate(numbers):
            assert bits(tuple(one[row] for one in got)) == bits(call(X[row], number))


def test_64_bit_seeds() -> None:
    compiled = jax.jit(CALLS["cast"])
    with jax.enable_x64(True):
        for seed in (2**63 - 1, 2**40 + 3):
            assert bits(compiled(X, np.int64(seed))) == bits(CALLS["cast"](X, seed))
        assert bits(compiled(X, np.uint64(2**64 - 1))) == bits(CALLS["cast"](X, 2**64 - 1))


def test_what_is_no_seed() -> None:
    x = jnp.asarray(X)
    for wrong in (jnp.ones(3, jnp.uint32), jnp.float32(1), jnp.asarray(True), jax.random.key(0, impl="rbg")):
        for function in (CALLS["cast"], jax.jit(CALLS["cast"]), CALLS["mx_quantize"]):
            with pytest.raises(ValueError, match="`seed` must be an integer, or a key of two words"):
                function(x, wrong)
    with pytest.raises(ValueError, match="`seed` must be an integer from 0 to 2"):
        CALLS["cast"](x, jnp.int32(-1))
    with pytest.raises(Exception, match="`seed` must be an integer from 0 to 2"):
        jax.block_until_ready(jax.jit(CALLS["cast"])(x, -1))
    with pytest.raises(ValueError, match="`seed` must be None unless `rounding` is stochastic"):
        jax.jit(lambda seed: lp.cast(x, "float16", rounding="to_odd", seed=seed))(1)
    for call in (CALLS["cast"], CALLS["mx_quantize"]):
        with pytest.raises(TypeError, match="`x` must be a JAX array where `seed` is one that JAX traces; got a NumPy"):
            jax.jit(lambda seed, call=call: call(X, seed))(1)
