"""Rounding beyond ONNX in every library, layout and chunking: the bits of one contiguous array, from the oracle."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from support.array_libraries import Library
from support.bits import bits_of

import lowprec as lp
from lowprec.reference.whole_arrays import expected_rounded
from lowprec.spec.rounding_modes import Rounding

X = np.random.default_rng(4).normal(0, 3, (6, 5, 8)).astype(np.float32)
X[0, 0, :4] = np.nan, -np.inf, -0.0, 1e9
SEED, OFFSET = 2**64 - 5, 9
HOW: dict[str, Any] = {"rounding": "stochastic", "seed": SEED, "offset": OFFSET}
RULE = Rounding("stochastic_b", "sat_finite", "signed", 16)
SCALES = [
    (1, 0, (1,)), (0, 0, (6,)), (2, 0, (8,)), (1, 2, (6, 3, 8)), (0, 4, (2, 5, 8)), (2, 3, (6, 5, 3)),
    ((0, 1), (2, 2), (3, 3, 8)),
]  # fmt: skip


def wanted(x: np.ndarray, target: str, rule: Rounding = RULE, first: int = OFFSET) -> np.ndarray:
    seed = SEED if rule.random_bits else None
    return expected_rounded(x.view(np.uint32), "float32", target, rule, seed, first)


def scaled(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(5).uniform(0.5, 2, shape).astype(np.float32)


def test_every_library(xp: Library) -> None:
    fmt = lp.formats["float32"]
    x = xp.hold(np.ascontiguousarray(X).view(np.uint32), fmt)
    for target in ("float8_e4m3fn", "bfloat16", "binary8p3se"):
        rule = Rounding("stochastic_b", "ovf_inf", "signed", 16)
        result = xp.call(lambda x, target=target: lp.encode(x, target, overflow="ovf_inf", **HOW), x)
        np.testing.assert_array_equal(bits_of(xp.unwrap(result)), wanted(X, target, rule))
        assert xp.same_place(result, x)
    odd = xp.call(lambda x: lp.encode(x, "float6_e2m3fn", rounding="to_odd", nan="largest"), x)
    np.testing.assert_array_equal(
        bits_of(xp.unwrap(odd)), wanted(X, "float6_e2m3fn", Rounding("to_odd", "sat_finite", "largest"))
    )
    packed = xp.call(lambda x: lp.encode(x, "float4_e2m1fn", packed=True, **HOW), x)
    np.testing.assert_array_equal(xp.unwrap(packed), lp.pack(wanted(X, "float4_e2m1fn"), "float4_e2m1fn"))


@pytest.mark.parametrize("rounding", ["stochastic", "away_from_zero"])
def test_quantization_in_every_library(xp: Library, rounding: str) -> None:
    fmt, how = lp.formats["float32"], HOW if rounding == "stochastic" else {"rounding": rounding}
    rule = RULE if rounding == "stochastic" else Rounding(rounding, "sat_finite", "signed")
    for axis, block, shape in SCALES if xp.first else SCALES[3:4]:
        scale = scaled(shape)
        spread = scale
        for one, size in zip(np.atleast_1d(axis), np.atleast_1d(block), strict=True):
            if size:
                spread = np.repeat(spread, size, one).take(range(X.shape[one]), one)
            elif len(scale) > 1:
                spread = scale.reshape([-1 if other == one else 1 for other in range(3)])
        with np.errstate(invalid="ignore"):
            quotient = np.ascontiguousarray(np.broadcast_to(X / spread, X.shape))
        x, factor = xp.hold(X.view(np.uint32), fmt), xp.hold(scale.view(np.uint32), fmt)
        options: dict[str, Any] = {"axis": axis, "block_size": block, "output_dtype": "float4_e2m1fn", "packed": True}
        result = xp.call(lambda x, s, options=options: lp.quantize_linear(x, s, **options, **how), x, factor)
        expected = wanted(quotient, "float4_e2m1fn", rule)
        np.testing.assert_array_equal(xp.unwrap(result), lp.pack(expected, "float4_e2m1fn"))


# ---- Dask


@pytest.fixture
def da() -> Any:
    return pytest.importorskip("dask.array")


@pytest.mark.parametrize(
    "chunks", [(6, 5, 8), (6, 5, 3), (2, 5, 8), (4, 2, 5), (1, 1, 1), ((1, 5), (5,), (7, 1))], ids=str
)
def test_chunks_of_dask_arrays_do_not_matter(da: Any, chunks: Any) -> None:
    x = da.from_array(X, chunks=chunks)

    def check(result: Any, expected: np.ndarray) -> None:
        np.testing.assert_array_equal(bits_of(result.compute(scheduler="synchronous")), expected)

    check(lp.encode(x, "float8_e4m3fn", **HOW), wanted(X, "float8_e4m3fn"))
    turned, rule = np.ascontiguousarray(X.transpose(2, 0, 1)), Rounding("stochastic_b", "ovf_inf", "signed", 16)
    check(lp.cast(x.transpose(2, 0, 1), "bfloat16", **HOW), wanted(turned, "bfloat16", rule))
    fp4 = lp.pack(wanted(X, "float4_e2m1fn"), "float4_e2m1fn")
    check(lp.encode(x, "float4_e2m1fn", packed=True, **HOW), fp4)
    for axis, block, shape in SCALES:
        scale, options = scaled(shape), {"axis": axis, "block_size": block, "output_dtype": "float8_e5m2"}
        expected = lp.quantize_linear(X, scale, **options, **HOW).view(np.uint8)
        check(lp.quantize_linear(x, scale, **options, **HOW), expected)


def test_packed_dask_arrays_are_cast_from_their_place(da: Any) -> None:
    packed = lp.encode(X, "float6_e3m2fn", packed=True)
    values = lp.decode(packed, "float6_e3m2fn", packed=True, shape=X.shape)
    lazy = lp.decode(da.from_array(packed, chunks=13), "float6_e3m2fn", packed=True, shape=X.shape)
    found = lp.encode(lazy, "float4_e2m1fn", **HOW).compute(scheduler="synchronous")
    np.testing.assert_array_equal(found, wanted(values, "float4_e2m1fn"))


def test_dask_arrays_without_and_of_one_element(da: Any) -> None:
    for x in (X[0, 1, 0], X[:0], X[:, :0]):
        found = lp.encode(da.from_array(np.asarray(x)), "float8_e5m2", **HOW).compute(scheduler="synchronous")
        np.testing.assert_array_equal(found, wanted(np.asarray(x), "float8_e5m2"))


def test_dask_keys_tell_rules_and_seeds_apart(da: Any) -> None:
    x = da.from_array(X, chunks=(4, 2, 5))
    how = [
        {}, {"rounding": "to_odd"}, {"overflow": "ovf_inf"}, {"nan": "zero"}, HOW, {**HOW, "seed": 1},
        {**HOW, "offset": 1}, {**HOW, "random_bits": 3},
    ]  # fmt: skip
    results = [lp.cast(x, "float8_e5m2", **options) for options in how]
    results += [lp.quantize_linear(x, 0.5, output_dtype="float8_e5m2", **options) for options in how]
    assert len({result.name for result in results}) == len(results)
    again = [lp.cast(x, "float8_e5m2", **options) for options in how]
    assert [result.name for result in again] == [result.name for result in results[: len(how)]]


# ---- JAX
def test_each_element_of_a_jax_batch_draws_the_numbers_of_a_call_of_its_own() -> None:
    jax = pytest.importorskip("jax")
    scale = jax.numpy.asarray(scaled((6,)))
    rows = np.stack([wanted(row, "float8_e5m2") for row in X])
    np.testing.assert_array_equal(jax.vmap(lambda x: lp.encode(x, "float8_e5m2", **HOW))(X), rows)
    np.testing.assert_array_equal(jax.jit(jax.vmap(lambda x: lp.encode(x, "float8_e5m2", **HOW)))(X), rows)
    found = jax.vmap(lambda x, s: lp.quantize_linear(x, s, output_dtype="float8_e5m2", **HOW))(X, scale)
    with np.errstate(invalid="ignore"):
        quotients = X / np.asarray(scale)[:, None, None]
    np.testing.assert_array_equal(bits_of(np.asarray(found)), np.stack([wanted(q, "float8_e5m2") for q in quotients]))


# ---- torch
@pytest.fixture
def torch() -> Any:
    torch = pytest.importorskip("torch")
    torch._dynamo.reset()
    return torch


def test_torch_operators_take_seeds_in_twos_complement(torch: Any) -> None:
    importlib.import_module("lowprec.torch_ops")
    x, operators = torch.from_numpy(X), torch.ops.lowprec
    for view in (x, x.transpose(0, 2), x[:, ::2], x.flip(1)):
        plain = np.ascontiguousarray(view.numpy())
        expected = wanted(plain, "float8_e5m2")
        options = {"rounding": "stochastic", "seed": SEED - 2**64, "offset": OFFSET}
        np.testing.assert_array_equal(operators.encode(view, "float8_e5m2", **options), expected)
        np.testing.assert_array_equal(bits_of(operators.cast(view, "float8_e5m2", **options)), expected)
        np.testing.assert_array_equal(lp.encode(view, "float8_e5m2", **HOW), expected)
        one = torch.ones(())
        result = operators.quantize_linear(view, one, output_dtype="float8_e5m2", **options)
        np.testing.assert_array_equal(bits_of(result), expected)
    largest = operators.encode(x, "float4_e2m1fn", rounding="to_odd", overflow="ovf_inf", nan="largest")
    np.testing.assert_array_equal(largest, wanted(X, "float4_e2m1fn", Rounding("to_odd", "ovf_inf", "largest")))


def test_torch_compiles_once_for_all_seeds(torch: Any) -> None:
    counter = pytest.importorskip("torch._dynamo.testing").CompileCounter()

    @torch.compile(backend=counter, fullgraph=True)
    def rounded(x: Any, seed: int, offset: int) -> Any:
        how = {"rounding": "stochastic", "seed": seed, "offset": offset}
        like = lp.cast_like(x, torch.empty(0, dtype=torch.float8_e5m2), **how)
        return lp.encode(x, "binary8p3se", **how), like, lp.quantize_linear(x, 1.0, output_dtype="float8_e5m2", **how)

    counts = []
    for seed in (5, 6, 99, 2**62, 2**63, 2**64 - 1):
        first, *others = rounded(torch.from_numpy(X), seed, seed // 3)
        bits = X.view(np.uint32)
        np.testing.assert_array_equal(first, expected_rounded(bits, "float32", "binary8p3se", RULE, seed, seed // 3))
        for other in others:
            expected = expected_rounded(bits, "float32", "float8_e5m2", RULE, seed, seed // 3)
            np.testing.assert_array_equal(bits_of(other), expected)
        counts.append(counter.frame_count)
    assert counts[2] == counts[3]  # once seed and offset are symbols
    assert counts[4] == counts[5]  # the upper half of the seeds


def test_each_element_of_a_torch_batch_draws_the_numbers_of_a_call_of_its_own(torch: Any) -> None:
    x, scale = torch.from_numpy(X), torch.from_numpy(scaled((6,)))
    rows = np.stack([wanted(row, "float8_e5m2") for row in X])
    np.testing.assert_array_equal(torch.vmap(lambda x: lp.encode(x, "float8_e5m2", **HOW))(x), rows)
    twice = torch.vmap(torch.vmap(lambda x: lp.encode(x, "float8_e5m2", **HOW)))(x)
    np.testing.assert_array_equal(twice, [[wanted(row, "float8_e5m2") for row in matrix] for matrix in X])
    packed = torch.vmap(lambda x: lp.encode(x, "float4_e2m1fn", packed=True, **HOW), in_dims=2)(x)
    columns = [np.ascontiguousarray(X[:, :, column]) for column in range(X.shape[2])]
    expected = [lp.pack(wanted(column, "float4_e2m1fn"), "float4_e2m1fn") for column in columns]
    np.testing.assert_array_equal(packed, np.stack(expected))
    found = torch.vmap(lambda x, s: lp.quantize_linear(x, s, output_dtype="float8_e5m2", **HOW))(x, scale)
    with np.errstate(invalid="ignore"):
        quotients = X / scale.numpy()[:, None, None]
    np.testing.assert_array_equal(bits_of(found), np.stack([wanted(q, "float8_e5m2") for q in quotients]))
    odd = torch.vmap(lambda x: lp.encode(x, "float8_e5m2", rounding="to_odd"))(x)
    np.testing.assert_array_equal(odd, wanted(X, "float8_e5m2", Rounding("to_odd", "sat_finite", "signed")))
