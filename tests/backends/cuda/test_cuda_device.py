"""CuPy arrays and torch's CUDA tensors, on a GPU: bits, layouts, streams. Skipped where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.cast_cases import NARROW, options_for

import lowprec as lp
from lowprec.backends import cuda
from lowprec.backends.jobs import Job
from lowprec.conformance import cast_inputs
from lowprec.plans.plan import copy_plan
from lowprec.reference import whole_arrays
from lowprec.spec.formats import NUMERIC, Format
from lowprec.spec.operator_versions import first_opset

cupy = pytest.importorskip("cupy")
if not cupy.is_available():
    pytest.skip("no CUDA device here", allow_module_level=True)

pytestmark = pytest.mark.gpu
BY_NAME = {"ids": lambda fmt: fmt.name}


def _codes(fmt: Format) -> np.ndarray:
    """Every code of 16 bits or fewer; of wider formats boundaries, numbers around 1, and random ones."""
    if fmt in NARROW:
        return np.arange(2 if fmt.name == "bool" else 1 << fmt.bits).astype(fmt.code_dtype)
    rng = np.random.default_rng(fmt.onnx_enum)
    special = np.array([0, 1, fmt.sign_mask, fmt.max_code, fmt.code_mask, fmt.inf_code or 0], fmt.code_dtype)
    near = rng.normal(0 if fmt.signed else 1000, 100, 30_000).astype(fmt.dtype).view(fmt.code_dtype)
    anywhere = rng.integers(0, 1 << fmt.bits, 30_001, np.uint64).astype(fmt.code_dtype)
    return np.concatenate([special, near, anywhere])


@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
@pytest.mark.parametrize("source", NUMERIC, **BY_NAME)
def test_cupy_gives_numpys_bits(source: Format, target: Format) -> None:
    codes = _codes(source)
    x = cupy.asarray(codes)
    assert cuda.accepts(Job(x, copy_plan(source)))
    for options in options_for(target):
        if options.get("opset", 28) < first_opset(source):
            continue
        got = lp.encode(x, target, source=source, **options)
        assert got.device == x.device
        assert np.array_equal(got.get(), lp.encode(codes, target, source=source, **options)), options
    result = lp.cast(x, target, source=source)
    assert result.dtype == lp.storage_dtype(target, cupy)
    expected = lp.encode(codes, target, source=source)
    if target.is_integer and target.bits < 8:
        expected = lp.decode(expected, target, to="int8" if target.signed else "uint8").view(np.uint8)
    assert np.array_equal(result.view(f"u{result.dtype.itemsize}").get(), expected)


@pytest.mark.parametrize("target", [fmt for fmt in NUMERIC if fmt.is_float], **BY_NAME)
@pytest.mark.parametrize("name", ["float32", "float64", "int64", "uint64"])
def test_sweeps(name: str, target: Format) -> None:
    if name == target.name:
        return
    x = getattr(cast_inputs, f"sweep_{name}")(target)
    expect = whole_arrays.expected_from_float64 if name.startswith("float") else whole_arrays.expected_from_integers
    with np.errstate(invalid="ignore"):
        values = x.astype(np.float64) if name == "float32" else x
    for options in options_for(target):
        assert np.array_equal(lp.encode(cupy.asarray(x), target, **options).get(), expect(values, target, **options))


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.bits in (2, 4, 6)], **BY_NAME)
@pytest.mark.parametrize("n", [0, 1, 5, 16, 1000, 1003])
def test_packing(fmt: Format, n: int) -> None:
    x = np.linspace(-9, 9, n).astype(np.float32)
    expected = lp.encode(x, fmt, packed=True)
    packed = lp.encode(cupy.asarray(x), fmt, packed=True)
    assert np.array_equal(packed.get(), expected)
    moved = cupy.concatenate([cupy.zeros(1, np.uint8), packed])[1:]  # no vector load can read it
    values = lp.decode(moved, fmt, packed=True, shape=(n,))
    assert np.array_equal(values.get(), lp.decode(expected, fmt, packed=True, shape=(n,)))


LAYOUTS: list[Callable[[Any], Any]] = [
    lambda x: x, lambda x: x[::2, :, 1:4], lambda x: x[:, ::-1], lambda x: x.transpose(2, 0, 1),
    lambda x: x[1:].transpose(2, 1, 0), lambda x: x[0, 0, 0], lambda x: x[:0], lambda x: x.reshape(-1)[1:],
    lambda x: x[None, :, None],
]  # fmt: skip


@pytest.mark.parametrize("target", ["float8_e4m3fn", "bfloat16", "int4", "float64"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: Callable[[Any], Any], target: str) -> None:
    array = np.random.default_rng(0).normal(0, 20, (6, 8, 5)).astype(np.float32)
    x, same = layout(cupy.asarray(array)), layout(array)
    expected = lp.encode(np.ascontiguousarray(same), target).reshape(same.shape)
    got = lp.encode(x, target)
    assert got.shape == same.shape
    assert np.array_equal(got.get(), expected)
    for order in "CF":
        out = cupy.zeros(same.shape, got.dtype, order=order)
        result = lp.cast(x, target)
        into = cupy.zeros(same.shape, result.dtype, order=order)
        assert lp.encode(x, target, out=out) is out
        assert np.array_equal(out.get(), expected)
        assert lp.cast(x, target, out=into) is into
        assert np.array_equal(into.view(f"u{into.itemsize}").get(), result.view(f"u{result.itemsize}").get())


def test_dense_layouts_are_kept() -> None:
    x = cupy.zeros((4, 5, 6), np.float32).transpose(2, 0, 1)
    assert lp.cast(x, "float16").strides == tuple(length // 2 for length in x.strides)


def test_out_may_be_the_input() -> None:
    x = cupy.asarray(np.random.default_rng(0).normal(0, 20, 10_000).astype(np.float32))
    expected = lp.encode(x.get(), "int32")
    codes = x.view(np.uint32)
    assert lp.encode(x, "int32", out=codes) is codes
    assert np.array_equal(codes.get(), expected)


QUANTIZED = [fmt for fmt in NUMERIC if fmt.has_zero and fmt.bits <= 8 and fmt.name != "bool"]
GRANULARITIES = [
    # axis, block_size, shape of the scale for (5, 37, 41)
    (0, 0, ()), (0, 0, (5,)), (1, 0, (37,)), (2, 0, (41,)),
    (1, 10, (5, 4, 41)), (2, 32, (5, 37, 2)), (0, 2, (3, 37, 41)),
]  # fmt: skip


@pytest.mark.parametrize("granularity", GRANULARITIES, ids=str)
@pytest.mark.parametrize("y", QUANTIZED, **BY_NAME)
def test_quantization_gives_numpys_bits(y: Format, granularity: tuple[int, int, tuple[int, ...]]) -> None:
    axis, block, shape = granularity
    rng = np.random.default_rng(0)
    array = (rng.normal(0, 1, (5, 37, 41)) * float(y.max)).astype(np.float32)
    scale = np.exp2(rng.uniform(-2, 2, shape)).astype(np.float32)
    options = {"axis": axis, "block_size": block}
    turned = cupy.asarray(np.ascontiguousarray(array.transpose(2, 0, 1))).transpose(1, 2, 0)
    for x in (cupy.asarray(array), turned):
        for precision in (None, "float16", "float64"):
            expected = lp.quantize_linear(array, scale, output_dtype=y, precision=precision, **options)
            got = lp.quantize_linear(x, cupy.asarray(scale), output_dtype=y, precision=precision, **options)
            assert got.device == x.device
            assert got.dtype == lp.storage_dtype(y, cupy)
            assert np.array_equal(lp.encode(got, y, source=y).get(), lp.encode(expected, y))
        back = lp.dequantize_linear(got, cupy.asarray(scale), source=y, **options)
        values = lp.dequantize_linear(expected, scale, **options)
        assert np.array_equal(back.view(np.uint32).get(), values.view(np.uint32))
        if y.bits < 8:
            packed = lp.quantize_linear(x, cupy.asarray(scale), output_dtype=y, packed=True, **options)
            expected = lp.quantize_linear(array, scale, output_dtype=y, packed=True, **options)
            assert np.array_equal(packed.get(), expected)


def test_zero_points() -> None:
    rng = np.random.default_rng(0)
    array = rng.normal(0, 5, (6, 50)).astype(np.float16)
    scale, zero_point = rng.uniform(0.1, 1, 6).astype(np.float16), rng.integers(0, 256, 6).astype(np.uint8)
    expected = lp.quantize_linear(array, scale, zero_point, axis=0)
    there = [cupy.asarray(part) for part in (array, scale, zero_point)]
    got = lp.quantize_linear(*there, axis=0)
    assert np.array_equal(got.get(), expected)
    back = lp.dequantize_linear(got, *there[1:], axis=0)
    assert np.array_equal(back.get(), lp.dequantize_linear(expected, scale, zero_point, axis=0))
    for mine, theirs in zip(
        lp.dynamic_quantize_linear(cupy.asarray(array.astype(np.float32))),
        lp.dynamic_quantize_linear(array.astype(np.float32)),
        strict=True,
    ):
        assert np.array_equal(mine.get(), theirs)


def test_work_is_queued_on_the_current_stream_and_waits_for_nothing() -> None:
    x = cupy.linspace(-500, 500, 100_000, dtype=np.float32)
    out = lp.encode(x, "float8_e4m3fn")  # compiled, before the stream is watched
    out[...] = 0
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()  # fails for whatever waits, or goes to another stream
        lp.encode(x, "float8_e4m3fn", out=out)
        graph = stream.end_capture()
        assert not out.any()
        graph.launch(stream)
    stream.synchronize()
    assert np.array_equal(out.get(), lp.encode(x.get(), "float8_e4m3fn"))


@pytest.fixture
def torch() -> Any:
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("torch without CUDA")
    return found


@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
def test_torch_tensors_stay_on_the_device(torch: Any, target: Format) -> None:
    for source in [fmt for fmt in NUMERIC if fmt.torch_name]:
        codes = _codes(source)
        tensor = torch.from_numpy(codes.view(f"i{codes.itemsize}").copy()).view(getattr(torch, source.torch_name))
        x = tensor.cuda()
        assert cuda.accepts(Job(x, copy_plan(source)))
        got = lp.cast(x, target)
        assert got.device == x.device
        assert got.dtype == lp.storage_dtype(target, torch)
        signed = getattr(torch, f"int{8 * got.itemsize}")
        assert torch.equal(got.view(signed).cpu(), lp.cast(tensor, target).view(signed))


def test_torch_layouts_and_gradients(torch: Any) -> None:
    x = torch.randn(2, 3, 8, 8, device="cuda").to(memory_format=torch.channels_last).requires_grad_()
    got = lp.cast(x, "float16")
    assert got.stride() == x.stride()
    assert not got.requires_grad
    expected = lp.cast(x.detach().cpu(), "float16")
    assert torch.equal(got.cpu(), expected)
    assert torch.equal(lp.cast(x[:, ::2, 1:], "float16").cpu(), expected[:, ::2, 1:])
    assert torch.equal(lp.cast(x[0, 0, 0, 0], "float16").cpu(), expected[0, 0, 0, 0])
    assert lp.cast(x[:0], "float16").shape == (0, 3, 8, 8)


def test_torch_quantization(torch: Any) -> None:
    x = torch.randn(2, 6, 8, 8, device="cuda").to(memory_format=torch.channels_last)
    scale, zero_point = torch.rand(6, device="cuda") + 0.1, torch.arange(-3, 3, dtype=torch.int8, device="cuda")
    got = lp.quantize_linear(x, scale, zero_point, axis=1)
    assert got.stride() == x.stride()
    assert torch.equal(got.cpu(), lp.quantize_linear(x.cpu(), scale.cpu(), zero_point.cpu(), axis=1))
    back = lp.dequantize_linear(got, scale, zero_point, axis=1)
    assert torch.equal(back.cpu(), lp.dequantize_linear(got.cpu(), scale.cpu(), zero_point.cpu(), axis=1))


def test_torch_streams(torch: Any) -> None:
    x = torch.linspace(-500, 500, 100_000, device="cuda")
    out = torch.zeros_like(lp.cast(x, "float8_e5m2"))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # captures torch's current stream, fails for whatever waits
        lp.cast(x, "float8_e5m2", out=out)
    assert not out.view(torch.uint8).any()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out.view(torch.uint8).cpu(), lp.cast(x.cpu(), "float8_e5m2").view(torch.uint8))


def test_out_over_the_scales() -> None:
    x = cupy.asarray(np.repeat(np.arange(2, 18, 2, dtype=np.float32), 5000).reshape(8, 5000))
    room = cupy.zeros(40_000, np.uint8)
    scale = room[:20_000].view(np.float32)
    scale[:] = 2
    got = lp.quantize_linear(x, scale, axis=1, output_dtype="uint8", out=room.reshape(8, 5000))
    assert np.array_equal(got.get(), np.repeat(np.arange(1, 9, dtype=np.uint8), 5000).reshape(8, 5000))


def test_out_over_itself_is_refused() -> None:
    out = cupy.lib.stride_tricks.as_strided(cupy.zeros(64, np.uint8), (3, 4), (1, 1))
    with pytest.raises(ValueError, match="`out` must have memory of its own for every element"):
        lp.cast(cupy.zeros((3, 4), np.float32), "uint8", out=out)
