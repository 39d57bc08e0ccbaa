"""Arguments that change from call to call of a compiled function: formats, however they are named, numbers, axes."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from support.torch_calls import bits, sample
from torch._dynamo.testing import CompileCounterWithBackend

import lowprec as lp


@pytest.fixture(autouse=True)
def _compiled_afresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _formats() -> list[list[Any]]:
    class Numbers(enum.IntEnum):
        FLOAT8 = 17
        HALF = 10
        INT4 = 22

    names = ["float8_e4m3fn", "float16", "int4"]
    return [
        names,
        [17, 10, 22],
        list(Numbers),
        [lp.formats[name] for name in names],
        [torch.float8_e4m3fn, torch.half, torch.int8],
    ]


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
