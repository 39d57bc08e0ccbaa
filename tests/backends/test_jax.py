"""JAX: shared memory, the switch for 64-bit types, transformations, sharded and deleted arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.bits import bits_of

import lowprec as lp
from lowprec.backends import cpu
from lowprec.backends import jax as backend
from lowprec.spec.formats import NUMERIC

jax = pytest.importorskip("jax")
jnp = jax.numpy
X = np.array([0.3, -1000.0, np.inf, np.nan, 2.0**-149, -0.0, 2.0**-127, 2.5], np.float32)


def _bits(x: Any) -> list[int]:
    return bits_of(x).tolist()


def test_results_are_handed_over_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    run = cpu._kernels.run

    def spy(program: Any, src: np.ndarray, dst: np.ndarray, *more: Any) -> None:
        seen.append((src.ctypes.data, dst.ctypes.data))
        run(program, src, dst, *more)

    monkeypatch.setattr(cpu._kernels, "run", spy)
    x = jnp.linspace(-3, 3, 1000)
    y = lp.cast(x, "float8_e4m3fn")
    assert seen == [(x.unsafe_buffer_pointer(), y.unsafe_buffer_pointer())]


def test_subnormals_are_kept_where_xla_flushes_them() -> None:
    tiny = np.ldexp(np.random.default_rng(0).normal(size=500), -140).astype(np.float32)
    for name in ("bfloat16", "float8_e8m0fnu", "bool", "float32"):
        expected = _bits(lp.cast(tiny, name))
        assert _bits(lp.cast(jnp.asarray(tiny), name)) == expected
        assert _bits(jax.jit(lambda x, name=name: lp.cast(x, name))(tiny)) == expected


@pytest.mark.parametrize("name", ["float64", "int64", "uint64"])
def test_64_bit_types_must_be_switched_on(name: str) -> None:
    x = jnp.asarray(X)
    with pytest.raises(TypeError, match=rf"JAX holds {name} only with its 64-bit types switched on: jax\.config"):
        lp.cast(x, name)
    with pytest.raises(TypeError, match="JAX holds"):
        lp.storage_dtype(name, jnp)
    with pytest.raises(TypeError, match="JAX holds"):
        jax.jit(lambda v: lp.cast(v, name))(x)
    with jax.enable_x64(True):
        assert _bits(lp.cast(x, name)) == _bits(lp.cast(X, name))
        wide = jnp.asarray(np.array([1 + 2**-8 + 2**-40, 5e-324, -1e300]))
        for function in (lp.cast, jax.jit(lp.cast, static_argnums=1)):
            assert _bits(function(wide, "bfloat16")) == _bits(lp.cast(np.asarray(wide), "bfloat16"))
    assert _bits(lp.cast(wide, "bfloat16")) == [0x3F81, 0, 0xFF80]  # one that was made before the switch went off


@pytest.mark.parametrize("name", ["float8_e5m2", "int4", "float4_e2m1fn", "float6_e2m3fn", "bool"])
def test_vmap(name: str) -> None:
    x = np.random.default_rng(0).normal(0, 5, (3, 4, 5)).astype(np.float32)
    expected = _bits(lp.cast(x, name))
    for axis in (0, 1, 2):
        got = jax.vmap(lambda row: lp.cast(row, name), axis, axis)(x)
        assert got.dtype == lp.storage_dtype(name, jnp)
        assert _bits(got) == expected
    if lp.as_format(name).bits in (4, 6):
        packed = jax.vmap(lambda row: lp.encode(row, name, packed=True))(x)
        assert _bits(packed) == [lp.encode(row, name, packed=True).tolist() for row in x]


def test_vmap_over_scales() -> None:
    x = np.random.default_rng(0).normal(0, 5, (3, 4, 5)).astype(np.float32)
    scale = np.random.default_rng(1).uniform(0.1, 1, (3, 5)).astype(np.float32)
    got = jax.vmap(lambda row, s: lp.quantize_linear(row, s, axis=1, output_dtype="int8"))(x, scale)
    rows = zip(x, scale, strict=True)
    assert got.tolist() == [lp.quantize_linear(row, s, axis=1, output_dtype="int8").tolist() for row, s in rows]


def test_gradients_do_not_pass() -> None:
    def quantized(x: Any) -> Any:
        return (x * lp.cast(lp.cast(x, "float8_e4m3fn"), "float32")).sum()

    x = jnp.asarray([0.3, 500.0])
    for function in (quantized, jax.jit(quantized)):
        assert jax.grad(function)(x).tolist() == [0.3125, 448.0]


def test_scan_and_shape_evaluation() -> None:
    _, got = jax.lax.scan(lambda carry, row: (carry, lp.cast(row, "bfloat16")), 0, jnp.ones((3, 2)))
    assert got.dtype == jnp.bfloat16
    shape = jax.eval_shape(lambda x: lp.encode(x, "int4", packed=True), jnp.ones((3, 3)))
    assert (shape.shape, shape.dtype) == ((5,), jnp.uint8)


def test_large_arrays_call_back() -> None:
    x = jnp.linspace(-500, 500, 1 << 22)
    got = jax.jit(lambda v: lp.cast(v, "float8_e4m3fn"))(x)
    assert np.array_equal(np.asarray(got).view(np.uint8), lp.encode(np.asarray(x), "float8_e4m3fn"))


def test_arrays_in_parts() -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("a",))
    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("a"))
    x = jax.device_put(np.arange(8, dtype=np.float32) - 4, split)
    got = lp.cast(x, "int4")
    assert got.sharding == split
    assert got.astype("int8").tolist() == list(range(-4, 4))
    assert lp.encode(x, "int4", packed=True).tolist() == lp.encode(np.asarray(x), "int4", packed=True).tolist()


def test_operands_on_another_device() -> None:
    here, there = jax.devices()
    x, ones = jax.device_put(np.ones((2, 3), np.float32), here), jax.device_put(np.ones(3, np.float32), there)
    codes = jax.device_put(np.ones((2, 3), np.uint8), here)
    where = r"must be on .*cpu:0, as `x` is; got .*cpu:1"
    with pytest.raises(ValueError, match=f"`scale` {where}"):
        lp.quantize_linear(x, ones, axis=1, output_dtype="int8")
    with pytest.raises(ValueError, match=f"`scale` {where}"):
        lp.dequantize_linear(codes, ones, axis=1)
    with pytest.raises(ValueError, match=f"`zero_point` {where}"):
        lp.quantize_linear(x, jax.device_put(ones, here), jax.device_put(np.zeros(3, np.uint8), there), axis=1)
    with pytest.raises(ValueError, match=f"`global_scale` {where}"):
        lp.nvfp4_quantize(x, global_scale=ones[0])


def test_deleted_arrays() -> None:
    x = jnp.ones(3)
    x.delete()
    with pytest.raises(ValueError, match="`x` must be a JAX array that this process can read; got one that is deleted"):
        lp.cast(x, "int8")


def test_keys_are_no_numbers() -> None:
    with pytest.raises(TypeError, match=r"`x` must hold bools, integers, real floats.*; got dtype key<fry>"):
        lp.cast(jax.random.key(0), "int8")


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.bits < 64], ids=lambda fmt: fmt.name)
def test_jaxs_own_names_are_formats(fmt: lp.Format) -> None:
    assert lp.as_format(getattr(jnp, fmt.name)) is fmt
    assert lp.cast(jnp.asarray(X), getattr(jnp, fmt.name)).dtype == lp.storage_dtype(fmt, jnp)


def test_arrays_off_the_host_are_converted_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an accelerator's arrays take, on the CPU's: the back end of JAX, not that of host memory."""
    monkeypatch.setattr(cpu, "has_host_memory", lambda x: False)
    taken = []
    run = backend.run
    monkeypatch.setattr(backend, "run", lambda job: taken.append(job) or run(job))
    values = np.linspace(-9, 9, 24, dtype=np.float32).reshape(4, 6)
    x, scale = jnp.asarray(values), np.linspace(0.1, 2, 6, dtype=np.float32)
    for to in ("float8_e4m3fn", "float6_e2m3fn", "int4", "bfloat16", "bool"):
        got = lp.cast(x, to)
        assert (got.dtype, got.shape, got.devices()) == (lp.storage_dtype(to, jnp), x.shape, x.devices())
        assert lp.to_numpy(got, to).tobytes() == lp.cast(values, to).tobytes()
    assert np.array_equal(lp.encode(x, "int4", packed=True), lp.encode(values, "int4", packed=True))
    got = lp.quantize_linear(x, jnp.asarray(scale), axis=1, output_dtype="int4")
    assert (
        lp.to_numpy(got, "int4").tobytes() == lp.quantize_linear(values, scale, axis=1, output_dtype="int4").tobytes()
    )
    assert len(taken) >= 7
