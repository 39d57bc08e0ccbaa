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
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from support.torch_calls import FUNCTIONS as CALLS
from support.torch_calls import bits, sample
from torch._dynamo.testing import CompileCounterWithBackend
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import lowprec as lp

RETURN_OTHERS = {"to_jax", "to_numpy", "stochastic_bits"}
WITHOUT_ARRAYS = {
    "Format", "Quantized", "as_format", "build_info", "compare", "convert", "explain", "finfo", "float_format",
    "formats", "get_num_threads", "iinfo", "register", "roundings", "set_num_threads", "storage_dtype",
}  # fmt: skip


def test_every_public_function_has_its_calls() -> None:
    kinds: dict[str, set[str]] = {}
    for name in CALLS:
        kinds.setdefault(name.split()[0], set()).add(name.split()[1])
    assert sorted([*kinds, *RETURN_OTHERS, *WITHOUT_ARRAYS]) == sorted(lp.__all__)
    for name, found in kinds.items():
        parameters = inspect.signature(getattr(lp, name)).parameters
        assert ("out" in parameters, "seed" in parameters) == ("into" in found, "seeded" in found), name


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
def test_compiled_together() -> None:
    def call(x: Any) -> Any:
        return every_call(x * 2 + 1)

    with torch._inductor.config.patch(compile_threads=1):
        backend = "inductor" if shutil.which("g++") else "aot_eager"  # the former compiles C++ of what the latter makes
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
        call = CALLS[f"{name} plain"]
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
FORMATS: dict[str, list[Any]] = {
    "names": ["float8_e4m3fn", "float16", "int4"], "numbers": [17, 10, 22],
    "IntEnum": list(enum.IntEnum("Numbers", {"FLOAT8": 17, "HALF": 10, "INT4": 22})),
    "Format": [lp.formats[name] for name in ("float8_e4m3fn", "float16", "int4")],
    "dtypes": [torch.float8_e4m3fn, torch.half, torch.int8],
}  # fmt: skip
by_formats = pytest.mark.parametrize("formats", FORMATS.values(), ids=FORMATS)


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
