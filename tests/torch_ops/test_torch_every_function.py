"""Every public function on arrays, in every way in which torch traces or transforms it: the bits of another input.

A graph that kept what came out of the traced input as a constant would give these once more for the next one.
"""

from __future__ import annotations

import enum
import inspect
import io
import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from support.torch_calls import bits, sample
from torch._dynamo.testing import CompileCounterWithBackend
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import lowprec as lp

Call = Callable[[Any], Any]
STOCHASTIC: dict[str, Any] = {"rounding": "stochastic", "seed": 2**64 - 3, "random_bits": 9, "offset": 5}


class Row(NamedTuple):
    """Calls of a public function of one tensor, (n, 8) float32: a plain one, one with `out=`, one with a seed."""

    plain: Call
    into: Call | None = None
    seeded: Call | None = None


def _codes(x: Any, fmt: str = "float4_e2m1fn") -> Any:
    return lp.encode(x, fmt)


def _packed(x: Any) -> Any:
    return lp.encode(x, "float4_e2m1fn", packed=True)


def _scales(x: Any) -> Any:
    return x.abs().nan_to_num(1.0).amax(1).clamp(min=1.0)


def _mx(x: Any) -> Any:
    return lp.mx_quantize(x, block_size=4)


def _nvfp4(x: Any) -> Any:
    return lp.nvfp4_quantize(x, block_size=4)


def _like(x: Any, *dtypes: torch.dtype) -> Any:
    return tuple(torch.empty_like(x[:, : 8 >> number], dtype=dtype) for number, dtype in enumerate(dtypes))


_U8, _F8 = torch.uint8, torch.float8_e4m3fn
FUNCTIONS: dict[str, Row] = {
    "absmax_scale": Row(lambda x: lp.absmax_scale(x, "int8", axis=1)),
    "bitcast": Row(lambda x: (lp.bitcast(x, "uint32"), lp.bitcast(_codes(x), "int4", source="float4_e2m1fn"))),
    "cast": Row(lambda x: lp.cast(x, "float8_e4m3fn", saturate=False),
                lambda x: lp.cast(x, "int8", out=torch.empty_like(x, dtype=torch.int8)),
                lambda x: lp.cast(x, "bfloat16", **STOCHASTIC)),
    "cast_like": Row(lambda x: lp.cast_like(x, torch.zeros(1, dtype=torch.int16)),
                     lambda x: lp.cast_like(x, x.half(), out=torch.empty_like(x, dtype=torch.half)),
                     lambda x: lp.cast_like(x, x.half(), **STOCHASTIC)),
    "decode": Row(lambda x: lp.decode(_packed(x), "float4_e2m1fn", packed=True, shape=x.shape),
                  lambda x: lp.decode(_codes(x), "float4_e2m1fn", out=torch.empty_like(x))),
    "dequantize": Row(
        lambda x: (lp.dequantize(lp.quantize(x, "int4", block_size=4, packed=True)),
                   lp.quantize(x, "uint8", axis=0, zero_point=True).dequantize("float16"),
                   lp.dequantize(lp.quantize(x, "nvfp4", block_size=3))),
        lambda x: lp.dequantize(lp.quantize(x, "mxfp8_e4m3", block_size=4), out=torch.empty_like(x)),
    ),
    "dequantize_linear": Row(
        lambda x: lp.dequantize_linear(lp.cast(x, "int8"), _scales(x), axis=0),
        lambda x: lp.dequantize_linear(lp.cast(x, "uint8"), 0.3, 7, out=torch.empty_like(x)),
    ),
    "dynamic_quantize_linear": Row(lambda x: lp.dynamic_quantize_linear(x.nan_to_num(1.0, 2.0, -3.0))),
    "encode": Row(lambda x: lp.encode(x, "float6_e3m2fn", packed=True),
                  lambda x: lp.encode(x, "float16", out=torch.empty_like(x, dtype=torch.uint16)),
                  lambda x: lp.encode(x, "float8_e5m2", **STOCHASTIC)),
    "minmax_scale": Row(lambda x: lp.minmax_scale(x, "uint8", axis=1, block_size=3)),
    "mx_dequantize": Row(lambda x: lp.mx_dequantize(*_mx(x), source="float4_e2m1fn", block_size=4)),
    "mx_quantize": Row(
        lambda x: (*_mx(x), *lp.mx_quantize(x, "float6_e2m3fn", axis=1, block_size=3, packed=True, swizzled=True)),
        lambda x: lp.mx_quantize(x, block_size=2, out=_like(x, _U8, torch.float8_e8m0fnu)),
        lambda x: lp.mx_quantize(x, "float8_e5m2", block_size=8, **STOCHASTIC),
    ),
    "nvfp4_dequantize": Row(lambda x: lp.nvfp4_dequantize(*_nvfp4(x), block_size=4)),
    "nvfp4_quantize": Row(
        lambda x: (*_nvfp4(x), *lp.nvfp4_quantize(x, global_scale=0.2, packed=True, swizzled=True)),
        lambda x: lp.nvfp4_quantize(x, block_size=2, out=(*_like(x, _U8, _F8), x.new_empty(()))),
        lambda x: lp.nvfp4_quantize(x, global_scale=_scales(x)[1], block_size=8, **STOCHASTIC),
    ),
    "pack": Row(lambda x: lp.pack(_codes(x, "int2"), "int2")),
    "quantize": Row(
        lambda x: (
            *lp.quantize(x, "int8", axis=1), *lp.quantize(x, "mxfp4", block_size=4),
            *lp.quantize(x, "nvfp4", block_size=4, packed=True), *lp.quantize(x.double(), "float8_e4m3fn", axis=0),
            *lp.quantize(x, "uint4", block_size=3, zero_point=True),
        ),
        lambda x: tuple(lp.quantize(x, "int8", out=torch.empty_like(x, dtype=torch.int8))),
        lambda x: tuple(lp.quantize(x, "float8_e5m2", **STOCHASTIC)),
    ),
    "quantize_linear": Row(
        lambda x: lp.quantize_linear(x, lp.absmax_scale(x, "int8", axis=1), axis=1, output_dtype="int8"),
        lambda x: lp.quantize_linear(x, 0.3, 5, out=torch.empty_like(x, dtype=torch.uint8), output_dtype="uint8"),
        lambda x: lp.quantize_linear(x, 0.3, output_dtype="float8_e4m3fn", **STOCHASTIC),
    ),
    "to_torch": Row(lambda x: (lp.to_torch(_codes(x, "int4"), "int4"), lp.to_torch(lp.encode(x, "float16"), 10))),
    "unpack": Row(lambda x: lp.unpack(_packed(x), "float4_e2m1fn", x.shape)),
}  # fmt: skip
RETURN_OTHERS = {"to_jax", "to_numpy", "stochastic_bits"}
WITHOUT_ARRAYS = {
    "Format", "Quantized", "as_format", "build_info", "compare", "convert", "explain", "finfo", "float_format",
    "formats", "get_num_threads", "iinfo", "register", "roundings", "set_num_threads", "storage_dtype",
}  # fmt: skip
CALLS: dict[str, Call] = {
    f"{name} {kind}": call
    for name, row in FUNCTIONS.items()
    for kind, call in row._asdict().items()
    if call is not None
}


def test_every_public_function_has_its_row() -> None:
    assert sorted([*FUNCTIONS, *RETURN_OTHERS, *WITHOUT_ARRAYS]) == sorted(lp.__all__)
    for name, row in FUNCTIONS.items():
        parameters = inspect.signature(getattr(lp, name)).parameters
        assert ("out" in parameters, "seed" in parameters) == (row.into is not None, row.seeded is not None), name


def graph_of(module: Any) -> Any:
    """Return a module of torch.fx once it is known to hold no tensor of its own."""
    assert [node.target for node in module.graph.nodes if node.op == "get_attr"] == []
    return module


@pytest.fixture(autouse=True)
def _compiled_afresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


by_call = pytest.mark.parametrize("name", CALLS)


@pytest.mark.parametrize(("mode", "name"), list(itertools.product(["real", "fake", "symbolic"], CALLS)))
def test_made_into_a_graph(name: str, mode: str) -> None:
    call = CALLS[name]
    graph = graph_of(make_fx(call, tracing_mode=mode)(sample(0)))
    others = [sample(1), sample(2)[:3]] if mode == "symbolic" else [sample(1)]
    for x in others:
        assert bits(graph(x)) == bits(call(x))


@by_call
def test_functionalized(name: str) -> None:
    call = CALLS[name]
    x = sample(1)
    assert bits(torch.func.functionalize(call)(x)) == bits(call(x))
    graph = graph_of(make_fx(torch.func.functionalize(call, remove="mutations_and_views"))(sample(0)))
    assert bits(graph(x)) == bits(call(x))


@by_call
def test_of_fake_tensors(name: str) -> None:
    call = CALLS[name]
    expected = call(sample(0))
    with FakeTensorMode() as mode:
        found = call(mode.from_tensor(sample(0)))
    for fake, real in zip(*(one if isinstance(one, tuple) else (one,) for one in (found, expected)), strict=True):
        assert isinstance(fake, FakeTensor)
        assert (fake.dtype, fake.shape, fake.stride()) == (real.dtype, real.shape, real.stride())


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Converting a tensor to a Python integer:torch.jit.TracerWarning")  # x.shape
@by_call
def test_traced_by_jit(name: str) -> None:
    call = CALLS[name]
    traced = torch.jit.trace(call, (sample(0),), check_trace=False)
    constants = [node.output().type().kind() for node in traced.graph.nodes() if node.kind() == "prim::Constant"]
    assert "TensorType" not in constants
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    assert bits(torch.jit.load(file)(sample(1))) == bits(call(sample(1)))


@pytest.mark.parametrize(("fullgraph", "name"), list(itertools.product([True, False], CALLS)))
def test_compiled(name: str, fullgraph: bool) -> None:
    call = CALLS[name]
    graphs: list[Any] = []
    with torch._dynamo.config.patch(error_on_recompile=True):
        compiled = torch.compile(call, backend=lambda graph, _: graphs.append(graph) or graph, fullgraph=fullgraph)
        for seed in (0, 1):
            assert bits(compiled(sample(seed))) == bits(call(sample(seed)))
    graph_of(*graphs)


def every_call(x: Any) -> list[Any]:
    """Return the results of all calls."""
    return [call(x) for call in CALLS.values()]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # torch's compiler warns of its own parts
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_together(backend: str) -> None:
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("inductor compiles C++")

    def call(x: Any) -> Any:
        return every_call(x * 2 + 1)

    with torch._inductor.config.patch(compile_threads=1):
        compiled = torch.compile(call, backend=backend, fullgraph=True, dynamic=True)
        for x in (sample(0), sample(1), sample(2)[:4]):
            assert bits(compiled(x)) == bits(call(x))


class Every(torch.nn.Module):
    """All calls, and quantized weights of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([0.5, 0.25, 2.0]))
        self.register_buffer("codes", torch.arange(6, dtype=torch.uint8))

    def forward(self, x: Any) -> Any:
        how: dict[str, Any] = {"source": "int4", "packed": True, "shape": (3, 4), "axis": 0}
        return [*every_call(x), lp.dequantize_linear(self.codes, self.scale, **how)]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # torch's own parts
@pytest.mark.parametrize("strict", [True, False])
def test_exported(strict: bool, tmp_path: Path) -> None:
    shapes = ({0: torch.export.Dim("rows", min=2)},)
    model = Every()
    program = torch.export.export(model, (sample(0),), dynamic_shapes=shapes, strict=strict)
    assert (set(program.state_dict), dict(program.constants)) == ({"scale", "codes"}, {})
    torch.export.save(program, tmp_path / "every.pt2")
    for found in (program, program.run_decompositions(), torch.export.load(tmp_path / "every.pt2")):
        for x in (sample(1), sample(2)[:5]):
            assert bits(found.module()(x)) == bits(model(x))


# ---- batches
def _stacked(results: list[Any], dim: int) -> Any:
    if not isinstance(results[0], tuple):
        return torch.stack(results, dim)
    return tuple(torch.stack(column, dim) for column in zip(*results, strict=True))


@pytest.mark.parametrize("name", CALLS)
def test_batched(name: str) -> None:
    call = CALLS[name]
    x = torch.stack([sample(seed) for seed in range(3)])
    expected = bits(_stacked([call(one) for one in x], 0))
    assert bits(torch.vmap(call)(x)) == expected
    assert bits(torch.vmap(call, in_dims=2)(x.permute(1, 2, 0))) == expected
    nested = torch.vmap(torch.vmap(call, in_dims=-1), in_dims=1)(x[None].permute(2, 1, 3, 0))
    for found in nested if isinstance(nested, tuple) else (nested,):
        assert found.shape[:2] == (3, 1)
    assert bits(nested) == bits(_stacked([_stacked([call(one)], 0) for one in x], 0))
    graph = graph_of(make_fx(torch.vmap(call))(x))
    assert bits(graph(x.flip(0))) == bits(_stacked([call(one) for one in x.flip(0)], 0))


def test_batches_that_come_out_last() -> None:
    x = torch.stack([sample(seed) for seed in range(3)])
    for name in ("absmax_scale", "mx_quantize", "nvfp4_dequantize"):
        call = FUNCTIONS[name].plain
        assert bits(torch.vmap(call, out_dims=1)(x)) == bits(_stacked([call(one) for one in x], 1))


# ---- what returns a NumPy array, of which no graph is made
@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # torch's own parts
def test_to_numpy_is_called_between_graphs() -> None:
    compiled = torch.compile(lambda x: (x * 2, lp.to_numpy(x), x * 3), backend="eager")
    doubled, found, tripled = compiled(sample(1))
    assert np.array_equal(found.view("u4"), sample(1).numpy().view("u4"))
    assert bits((doubled, tripled)) == bits((sample(1) * 2, sample(1) * 3))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_to_numpy_is_refused_where_its_result_would_be_a_constant() -> None:
    def call(x: Any) -> Any:
        return x + float(lp.to_numpy(x)[1, 1])

    class Module(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return call(x)

    message = "`x` must be an array that torch does not trace, .*: use `lp.encode`, `lp.bitcast` or `lp.to_torch`"
    apart = r"lowprec\.to_numpy returns a NumPy array, which no graph"
    for mode in ("real", "fake", "symbolic"):
        with pytest.raises(TypeError, match=message):
            make_fx(call, tracing_mode=mode)(sample())
    with pytest.raises(TypeError, match=message):
        torch.jit.trace(call, (sample(),))
    with pytest.raises(TypeError, match=message):
        torch.export.export(Module(), (sample(),), strict=False)
    with pytest.raises(torch._dynamo.exc.Unsupported, match=apart):
        torch.compile(call, backend="eager", fullgraph=True)(sample())
    with pytest.raises(torch._dynamo.exc.Unsupported, match=apart):
        torch.export.export(Module(), (sample(),), strict=True)
    with pytest.raises(TypeError, match="`x` must be a dense torch tensor with data; got one that is a wrapper of"):
        torch.vmap(call)(sample()[None])
    assert call(sample()).shape == (6, 8)


@pytest.mark.slow
def test_random_numbers_of_a_compiled_function() -> None:
    compiled = torch.compile(lambda x: (x + 1, lp.stochastic_bits(7, (2, 3), 8)), backend="eager")
    moved, found = compiled(torch.zeros(2))
    assert (moved.tolist(), found.tolist()) == ([1, 1], lp.stochastic_bits(7, (2, 3), 8).tolist())
    message = "lowprec.stochastic_bits returns a NumPy array, which no graph of torch holds: call it outside"
    with pytest.raises(torch._dynamo.exc.Unsupported, match=message):
        torch.compile(lambda x: (x, lp.stochastic_bits(7, 3)), backend="eager", fullgraph=True)(torch.zeros(2))


# ---- arguments that change from call to call: formats, however they are named, numbers, axes
def _formats() -> list[list[Any]]:
    class Numbers(enum.IntEnum):
        FLOAT8 = 17
        HALF = 10
        INT4 = 22

    names = ["float8_e4m3fn", "float16", "int4"]
    return [
        names, [17, 10, 22], list(Numbers), [lp.formats[name] for name in names],
        [torch.float8_e4m3fn, torch.half, torch.int8],
    ]  # fmt: skip


by_formats = pytest.mark.parametrize("formats", _formats(), ids=["names", "numbers", "IntEnum", "Format", "dtypes"])


def _check_changes(call: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> None:
    compiled = torch.compile(call, backend="eager", fullgraph=True)
    for given in arguments:
        assert bits(compiled(sample(1), *given)) == bits(call(sample(1), *given))


@by_formats
def test_formats_may_change(formats: list[Any]) -> None:
    _check_changes(lambda x, fmt: lp.cast(x, fmt), [(fmt,) for fmt in formats])


@pytest.mark.slow
@by_formats
def test_formats_of_every_parameter_may_change(formats: list[Any]) -> None:
    def call(x: Any, fmt: Any) -> Any:
        output_dtype = fmt if fmt != formats[1] else "uint8"
        codes, values = lp.encode(x, fmt), lp.cast(x, fmt)
        return (
            lp.decode(codes, fmt, to=fmt), lp.quantize_linear(x, 0.5, output_dtype=output_dtype),
            lp.to_torch(codes, fmt),
            lp.absmax_scale(x, fmt), lp.bitcast(codes, fmt, source=fmt), lp.cast(values, "float32", source=fmt),
        )  # fmt: skip

    _check_changes(call, [(fmt,) for fmt in (*formats, *formats)])


def test_numbers_of_random_bits_may_change() -> None:
    _check_changes(
        lambda x, random_bits: lp.cast(x, "float8_e5m2", rounding="stochastic", seed=3, random_bits=random_bits),
        [(16,), (8,), (4,), (32,)],
    )


@pytest.mark.slow
def test_numbers_of_a_stream_may_change() -> None:
    def call(x: Any, random_bits: int, offset: int, seed: int) -> Any:
        how: Any = {"rounding": "stochastic", "random_bits": random_bits, "offset": offset, "seed": seed}
        scaled = lp.quantize_linear(x, 0.5, output_dtype="float8_e5m2", **how)
        return lp.cast(x, "float8_e4m3fn", **how), scaled, lp.mx_quantize(x, **how), lp.nvfp4_quantize(x, **how)

    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        counter = CompileCounterWithBackend(backend)
        compiled = torch.compile(call, backend=counter, fullgraph=True)
        for random_bits in (1, 2, 8, 9, 16, 17, 31, 32):
            given = random_bits, 3 * random_bits, 1000 - random_bits
            assert bits(compiled(sample(1), *given)) == bits(call(sample(1), *given))
        assert counter.frame_count <= 3  # constants, then symbols
        for random_bits in (0, 33):
            with pytest.raises(torch._dynamo.exc.Unsupported, match="`random_bits` must be an integer from 1 to 32"):
                compiled(sample(1), random_bits, 0, 0)


@pytest.mark.slow
def test_axes_block_sizes_and_opsets_may_change() -> None:
    def call(x: Any, axis: int, block: int, opset: int) -> Any:
        sharing: Any = {"axis": axis, "block_size": block}
        return (
            lp.absmax_scale(x, "int8", **sharing), lp.minmax_scale(x, "int8", **sharing), lp.mx_quantize(x, **sharing),
            lp.nvfp4_dequantize(*lp.nvfp4_quantize(x, **sharing), **sharing), lp.bitcast(x, 12, opset=opset),
            lp.cast_like(x, x.half(), opset=opset),
        )  # fmt: skip

    _check_changes(call, [(0, 2, 28), (1, 3, 27), (-1, 100, 26), (-2, 1, 28)])
