"""`quantize` and `dequantize` give the same bits in every library, as one object that torch and JAX look into."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support.array_libraries import Library
from support.optional import optional

import lowprec as lp
from lowprec.spec.formats import FLOAT32

torch: Any = optional("torch")
jax: Any = optional("jax")

WAYS: list[dict[str, Any]] = [
    {"to": "int8"}, {"to": "int4", "axis": 0, "block_size": 3}, {"to": "float8_e4m3fn", "axis": 1},
    {"to": "int4", "block_size": 4, "packed": True},
    {"to": "float4_e2m1fn", "axis": (0, 1), "block_size": (2, 4), "scale_format": "float16"},
    {"to": "uint4", "axis": -1, "zero_point": True}, {"to": "int16", "zero_point": True}, {"to": "mxfp4"},
    {"to": "mxfp8_e4m3", "axis": 0, "block_size": 2, "scale_rule": "rceil"}, {"to": "mxfp6_e2m3", "packed": True},
    {"to": "mxint8", "axis": 1}, {"to": "nvfp4", "block_size": 4},
    {"to": "float8_e5m2", "rounding": "stochastic", "seed": 5, "block_size": 8},
]  # fmt: skip
by_way = pytest.mark.parametrize("how", WAYS, ids=lambda how: "-".join(map(str, how.values())))


def sample(seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(0, 20, (6, 8)).astype(np.float32)
    x[0, :6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40]
    return x


def codes_in(xp: Library, quantized: lp.Quantized) -> list[np.ndarray]:
    """Return the codes of the arrays of a quantized one."""
    how = quantized.to
    found = [xp.codes(quantized.codes, lp.as_format("uint8") if quantized.packed else quantized.format)]
    scales = {"mx": "float8_e8m0fnu", "nvfp4": "float8_e4m3fn"}.get(quantized.scheme)
    row = FLOAT32 if "float16" not in str(quantized.scale.dtype) else lp.as_format("float16")
    found.append(xp.codes(quantized.scale, row if scales is None else lp.as_format(scales)))
    if quantized.zero_point is not None:
        found.append(xp.codes(quantized.zero_point, lp.as_format(how)))
    if quantized.global_scale is not None:
        found.append(xp.codes(quantized.global_scale, FLOAT32))
    return found


class Base(Library):
    """NumPy, whose results are expected."""

    def __init__(self) -> None:
        super().__init__("numpy")


@by_way
def test_every_library(xp: Library, how: dict[str, Any]) -> None:
    x = sample()
    expected = lp.quantize(x, **how)
    with xp.session(FLOAT32):
        held = xp.hold(x.view(np.uint32), FLOAT32)
        found = xp.call(lambda x: lp.quantize(x, **how), held)
        assert isinstance(found, lp.Quantized)
        assert (found.to, found.axis, found.block_size) == (expected.to, expected.axis, expected.block_size)
        assert found.shape == expected.shape
        for got, wanted in zip(codes_in(xp, found), codes_in(Base(), expected), strict=True):
            assert np.array_equal(got, wanted)
        values = xp.call(lp.dequantize, found)
        assert np.array_equal(xp.codes(values, FLOAT32), expected.dequantize().view(np.uint32))
        assert xp.same_place(values, held)


# ---- torch


def same(found: Any, expected: Any) -> bool:
    """Whether two quantized arrays have the same bits and say the same."""
    assert repr(found) == repr(expected)
    return all(torch.equal(torch.as_tensor(a).view(torch.uint8) if a.ndim else a, b.view(torch.uint8) if b.ndim else b)
               for a, b in zip(found, expected, strict=True))  # fmt: skip


@by_way
def test_compiled_exported_and_batched(how: dict[str, Any]) -> None:
    def call(x: Any) -> Any:
        return lp.quantize(x, **how)

    class Module(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return call(x)

    x, other = torch.from_numpy(sample()), torch.from_numpy(sample(1))
    compiled = torch.compile(call, fullgraph=True, backend="eager")
    back = torch.compile(lp.dequantize, fullgraph=True, backend="eager")
    for one in (x, other):
        expected = call(one)
        assert same(compiled(one), expected)
        assert torch.equal(back(expected).view(torch.int32), expected.dequantize().view(torch.int32))
    program, file = torch.export.export(Module(), (x,)), io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for one in (program, torch.export.load(file)):
        assert same(one.module()(other), call(other))
    batch = torch.stack([x, other])
    found = torch.vmap(call)(batch)
    expected = torch.stack([call(one).dequantize() for one in batch])
    for values in (found.dequantize(), torch.vmap(lp.dequantize)(found)):
        assert torch.equal(values.view(torch.int32), expected.view(torch.int32))
    torch._dynamo.reset()


def test_a_pytree_of_torch() -> None:
    found = lp.quantize(torch.from_numpy(sample()), "nvfp4")
    leaves, spec = torch.utils._pytree.tree_flatten(found)
    assert [leaf is one for leaf, one in zip(leaves, found, strict=True)] == [True] * 3
    assert same(torch.utils._pytree.tree_unflatten(leaves, spec), found)
    assert same(pickle.loads(pickle.dumps(found)), found)


LOAD_IN_ANOTHER_PROCESS = """
import io, sys
import torch
import lowprec.torch_ops
program = torch.export.load(io.BytesIO(sys.stdin.buffer.read()))
print(program.module()(torch.tensor([[3.0, -127.0]])))
"""


@pytest.mark.slow
def test_a_saved_program_that_returns_one_is_loaded_in_another_process() -> None:
    class Module(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return lp.quantize(x, "int8", axis=0)

    file = io.BytesIO()
    torch.export.save(torch.export.export(Module(), (torch.ones(1, 2),)), file)
    command = [sys.executable, "-c", LOAD_IN_ANOTHER_PROCESS]
    done = subprocess.run(command, input=file.getvalue(), capture_output=True, check=True)
    assert done.stdout.decode().strip() == repr(lp.quantize(torch.tensor([[3.0, -127.0]]), "int8", axis=0))


# ---- JAX


@by_way
def test_batched_by_jax(how: dict[str, Any]) -> None:
    batch = jax.numpy.asarray(np.stack([sample(), sample(1)]))
    if how.get("seed") is not None:
        pytest.skip("random numbers of a batch count on")
    found = jax.vmap(lambda x: lp.quantize(x, **how))(batch)
    expected = np.stack([lp.quantize(sample(seed), **how).dequantize() for seed in range(2)])
    for values in (found.dequantize(), jax.vmap(lp.dequantize)(found), jax.jit(jax.vmap(lp.dequantize))(found)):
        assert np.array_equal(np.asarray(values).view(np.uint32), expected.view(np.uint32))


def test_a_pytree_of_jax() -> None:
    found = lp.quantize(jax.numpy.asarray(sample()), "uint8", axis=0, zero_point=True)
    doubled = jax.tree_util.tree_map(lambda leaf: leaf, found)
    assert [leaf.dtype for leaf in jax.tree_util.tree_leaves(found)] == ["uint8", "float32", "uint8"]
    assert repr(doubled) == repr(found)
    assert np.array_equal(np.asarray(doubled.dequantize()), np.asarray(found.dequantize()), equal_nan=True)


READ_IN_ANOTHER_PROCESS = """
import pickle, sys
import {library}
found = pickle.load(sys.stdin.buffer)
print(len({leaves}(found)), found.dequantize().sum())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "leaves"), [("torch", "torch.utils._pytree.tree_leaves"), ("jax", "jax.tree_util.tree_leaves")]
)
def test_a_pickle_is_a_pytree_in_another_process(library: str, leaves: str) -> None:
    pytest.importorskip(library)
    found = lp.quantize(np.ones((2, 2), np.float32), "int8")
    code = READ_IN_ANOTHER_PROCESS.format(library=library, leaves=leaves)
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(found), capture_output=True, check=True)
    assert done.stdout.split() == [b"2", b"4.0"]
