"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear give the same codes in every library."""

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
from lowprec.spec.formats import FLOAT32, NUMERIC, Format

BY_NAME = {"ids": lambda fmt: fmt.name}
CODES = [fmt for fmt in NUMERIC if (fmt.is_integer and fmt.bits <= 16) or (fmt.is_float and fmt.bits <= 8)]
CODES = [fmt for fmt in CODES if fmt.has_zero]
FLOATS = [lp.formats[name] for name in ("float32", "float16", "bfloat16")]
POWERS = next(fmt for fmt in NUMERIC if not fmt.has_zero)
SHAPE = (5, 11, 4)
GRANULARITIES: dict[
    str, tuple[tuple[int, ...], Any, Any]
] = {  # how the scale lies beside an array of SHAPE: its shape, axis and block_size
    "tensor": ((), 1, 0), "axis 0": ((5,), 0, 0), "last axis": ((4,), -1, 0), "blocks": ((5, 3, 4), 1, 4),
    "long blocks": ((1, 11, 4), 0, 7), "tiles": ((3, 3, 4), (0, 1), (2, 4)),
}  # fmt: skip


def values(fmt: Format, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Return codes of floats of every size, with Inf, NaN, zeros and subnormals among them."""
    rng = np.random.default_rng(7)
    drawn = np.ldexp(rng.normal(0, 1, shape), rng.integers(-12, 12, shape))
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40, 2.5, -3.5]
    drawn.reshape(-1)[: len(special)] = special[: drawn.size]
    return lp.encode(drawn, fmt)


def scales(fmt: Format, shape: tuple[int, ...]) -> np.ndarray:
    return lp.encode(np.random.default_rng(3).uniform(0.01, 4, shape), fmt)


def zero_points(fmt: Format, shape: tuple[int, ...]) -> np.ndarray:
    """Return codes of zero points that are not all zero where the format may have others."""
    if not (fmt.is_integer or fmt.saturates == "always"):
        return np.zeros(shape, np.uint8)
    return lp.encode(np.random.default_rng(5).integers(int(fmt.min) // 2, int(fmt.max) // 2 + 1, shape), fmt)


def run(xp: Library, function: Any, formats: list[Format], arrays: list[np.ndarray], **options: Any) -> Any:
    """Call an operator in a library; options that say what a dtype holds are left out where it says so itself."""
    said = {
        name: None if name.endswith("_format") and xp.own(lp.as_format(value)) else value
        for name, value in options.items()
    }
    with xp.session(*formats):
        held = [xp.hold(codes, fmt) for codes, fmt in zip(arrays, formats, strict=True)]
        got = xp.call(lambda *given: function(*given, **said), *held)
        assert xp.same_place(got, held[0])
        return got


@pytest.mark.one_in(7)
@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("target", CODES, **BY_NAME)
def test_quantize(xp: Library, target: Format, granularity: str) -> None:
    shape, axis, block_size = GRANULARITIES[granularity]
    how = {"axis": axis, "block_size": block_size, "output_dtype": target}
    for source in FLOATS if xp.first else FLOATS[:1]:
        for scale in (source, POWERS):
            arrays = [values(source), scales(scale, shape), zero_points(target, shape)]
            views = [arrays[0].view(source.dtype), arrays[1].view(scale.dtype), arrays[2].view(target.dtype)]
            for count in (2, 3) if xp.first else (3,):
                expected: Any = lp.quantize_linear(*views[:count], **how)
                formats = [source, scale, target][:count]
                said = {"source": xp.source_for(source), "scale_format": scale}
                got = run(xp, lp.quantize_linear, formats, arrays[:count], **how, **said)
                assert np.array_equal(xp.codes(got, target), expected.view(target.code_dtype)), (source, scale, count)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("source", [*CODES, lp.formats["int32"]], **BY_NAME)
def test_dequantize(xp: Library, source: Format, granularity: str) -> None:
    shape, axis, block_size = GRANULARITIES[granularity]
    codes = np.resize(np.arange(1 << min(source.bits, 16)), SHAPE).astype(source.code_dtype)
    zeros = zero_points(source, shape).astype(source.code_dtype) * (source.bits < 32)
    for target in FLOATS if xp.first else FLOATS[:1]:
        for scale in (target, POWERS):
            how = {"axis": axis, "block_size": block_size, "output_dtype": target}
            for count in (2, 3) if xp.first else (3,):
                arrays = [codes, scales(scale, shape), zeros][:count]
                formats = [source, scale, source][:count]
                views = [array.view(fmt.dtype) for array, fmt in zip(arrays, formats, strict=True)]
                expected: Any = lp.dequantize_linear(*views, **how)
                said = {"source": xp.source_for(source), "scale_format": scale}
                got = run(xp, lp.dequantize_linear, formats, arrays, **how, **said)
                assert np.array_equal(xp.codes(got, target), expected.view(target.code_dtype)), (target, scale, count)


@pytest.mark.parametrize("fmt", [fmt for fmt in CODES if fmt.bits < 8], **BY_NAME)
@pytest.mark.parametrize("granularity", ["last axis", "blocks"])
def test_packed(xp: Library, fmt: Format, granularity: str) -> None:
    shape, axis, block_size = GRANULARITIES[granularity]
    row = FLOATS[0]
    arrays, how = [values(row), scales(row, shape)], {"axis": axis, "block_size": block_size}
    views = [array.view(row.dtype) for array in arrays]
    expected = lp.quantize_linear(*views, output_dtype=fmt, packed=True, **how)
    got = run(xp, lp.quantize_linear, [row, row], arrays, output_dtype=fmt, packed=True, **how)
    assert np.array_equal(xp.unwrap(got), expected)
    how |= {"source": fmt, "packed": True, "shape": SHAPE}
    back = lp.dequantize_linear(expected, views[1], **how)
    again = run(xp, lp.dequantize_linear, [lp.formats["uint8"], row], [expected, arrays[1]], **how)
    assert np.array_equal(xp.unwrap(again), back)


def test_numbers_for_scale_and_zero_point(xp: Library) -> None:
    row = FLOATS[0]
    x = values(row)
    for fmt in CODES:
        zero = 1 if fmt.is_integer else 0
        expected = lp.quantize_linear(x.view(row.dtype), 0.3, zero, output_dtype=fmt)
        got = run(xp, lambda v, f=fmt, z=zero: lp.quantize_linear(v, 0.3, z, output_dtype=f), [row], [x])
        assert np.array_equal(xp.codes(got, fmt), expected.view(fmt.code_dtype)), fmt.name
        held = expected.view(fmt.code_dtype)
        back = lp.dequantize_linear(expected, 0.3, zero)
        said = xp.source_for(fmt)
        again = run(xp, lambda v, s=said, z=zero: lp.dequantize_linear(v, 0.3, z, source=s), [fmt], [held])
        assert np.array_equal(xp.unwrap(again), back, equal_nan=True), fmt.name


def test_zero_points_of_float8_must_be_zero(xp: Library) -> None:
    fmt, row = next(f for f in CODES if f.is_float and f.saturates == "asked"), FLOATS[0]
    arrays = [values(row), scales(row, ()), np.ones((), np.uint8)]
    with pytest.raises(Exception, match="`zero_point` must be 0 for"):
        xp.unwrap(run(xp, lp.quantize_linear, [row, row, fmt], arrays, output_dtype=fmt))


def test_arrays_of_two_libraries(xp: Library) -> None:
    other = np.ones((), np.float32)
    x = xp.wrap(np.ones(3, np.float32))
    if isinstance(x, np.ndarray):
        return
    if xp.xp.__name__ == "dask.array":  # small arrays beside a large one
        assert xp.unwrap(lp.quantize_linear(x, other, output_dtype="uint8")).tolist() == [1, 1, 1]
        return
    with pytest.raises(TypeError, match=r"`scale` must be an? .*, as `x` is; got a NumPy array"):
        xp.call(lambda v: lp.quantize_linear(v, other, output_dtype="uint8"), x)


def test_a_block_beyond_the_axis(xp: Library) -> None:
    x, scale = xp.wrap(np.array([[1, 2, 3, 4], [-5, 6, -7, 8]], np.float32)), xp.wrap(np.array([[1], [2]], np.float32))
    got = xp.call(
        lambda x, scale: lp.quantize_linear(x, scale, block_size=2**70, output_dtype="int8", axis=1), x, scale
    )
    assert xp.unwrap(got).tolist() == [[1, 2, 3, 4], [-2, 3, -4, 4]]


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
        for got, wanted in zip(codes_in(xp, found), codes_in(Library("numpy"), expected), strict=True):
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
