"""torch.vmap gives the results of a loop over the batch, whichever arrays, scales and zero points are batched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from support.torch_calls import CALLS, FUNCTIONS, bits, sample
from torch.fx.experimental.proxy_tensor import make_fx

import lowprec as lp

SIZE = 3


def _values(*shape: int) -> Any:
    generator = torch.Generator().manual_seed(len(shape) + sum(shape))
    x = torch.randn(shape, generator=generator) * 20
    x.view(-1)[:1] = float("nan")
    x.view(-1)[1:2] = -0.0
    return x


def _scales(*shape: int) -> Any:
    return torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape))) + 0.1


def _codes(*shape: int, dtype: Any = torch.uint8) -> Any:
    low, high = (-128, 128) if dtype is torch.int8 else (0, 256)
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def _looped(call: Callable[..., Any], arguments: tuple[Any, ...], dims: tuple[Any, ...]) -> Any:
    rows = [
        call(*(x if dim is None else x.select(dim, row) for x, dim in zip(arguments, dims, strict=True)))
        for row in range(SIZE)
    ]
    if isinstance(rows[0], tuple):
        return tuple(torch.stack(column) for column in zip(*rows, strict=True))
    return torch.stack(rows)


def _check(call: Callable[..., Any], arguments: tuple[Any, ...], dims: tuple[Any, ...], symbolic: bool = False) -> None:
    expected = bits(_looped(call, arguments, dims))
    mapped = torch.vmap(call, in_dims=dims)
    assert bits(mapped(*arguments)) == expected
    if symbolic:
        graph = make_fx(mapped, tracing_mode="symbolic")(*arguments)
        assert bits(graph(*arguments)) == expected
        assert bits(torch.func.functionalize(mapped)(*arguments)) == expected


@pytest.mark.parametrize("name", [name for name in CALLS if name not in FUNCTIONS and not name.endswith("codes")])
def test_every_call(name: str) -> None:
    x = torch.stack([sample(seed) for seed in range(SIZE)])
    for dim, batch in ((0, x), (2, x.permute(1, 2, 0).contiguous()), (-2, x.transpose(0, 1))):
        assert bits(torch.vmap(CALLS[name], in_dims=dim)(batch)) == bits(_looped(CALLS[name], (x,), (0,)))


# ---- quantization: what is batched, and the granularity of the scales
GRANULARITIES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "one scale": ((4, 6), (), {}), "one scale in a row": ((4, 6), (1,), {"axis": 0}),
    "one scale of the rank of x": ((4, 6), (1, 1), {}), "one scale, x 0-d": ((), (), {}),
    "one scale, x 1-D": ((5,), (1,), {}), "axis 0": ((4, 6), (4,), {"axis": 0}), "axis 1": ((4, 6), (6,), {"axis": 1}),
    "the rank of x": ((4, 6, 2), (4, 1, 2), {}), "axis -1": ((2, 4, 6), (6,), {"axis": -1}),
    "axis -2": ((2, 4, 6), (4,), {"axis": -2}), "axis of x 1-D": ((6,), (6,), {}),
    "blocks along 0": ((4, 6), (2, 6), {"axis": 0, "block_size": 2}),
    "blocks along 1": ((4, 6), (4, 3), {"axis": 1, "block_size": 2}),
    "blocks along -1, the last shorter": ((2, 4, 7), (2, 4, 3), {"axis": -1, "block_size": 3}),
    "one block": ((6,), (1,), {"axis": 0, "block_size": 8}),
    "tiles": ((5, 6), (3, 2), {"axis": (0, 1), "block_size": (2, 4)}),
    "tiles along -1 and -2": ((2, 5, 6), (2, 3, 2), {"axis": (-1, -2), "block_size": (4, 2)}),
}  # fmt: skip


def _batched(shape: tuple[int, ...], dim: int | None) -> tuple[int, ...]:
    return shape if dim is None else (SIZE, *shape)


@pytest.mark.parametrize("dims", [(0, None), (None, 0), (0, 0)], ids=["x", "scale", "both"])
@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_scales(granularity: str, dims: tuple[Any, Any]) -> None:
    shape, scale_shape, options = GRANULARITIES[granularity]
    scale = _scales(*_batched(scale_shape, dims[1]))
    x, codes = _values(*_batched(shape, dims[0])), _codes(*_batched(shape, dims[0]))
    _check(lambda x, s: lp.quantize_linear(x, s, output_dtype="int8", **options), (x, scale), dims, True)
    _check(lambda x, s: lp.quantize_linear(x, s, output_dtype="uint4", packed=True, **options), (x, scale), dims)
    _check(lambda x, s: lp.dequantize_linear(x, s, **options), (codes, scale), dims)


@pytest.mark.parametrize("dims", [(0, None, None), (None, 0, None), (None, None, 0), (0, None, 0), (0, 0, 0)], ids=str)
@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_zero_points(granularity: str, dims: tuple[Any, ...]) -> None:
    shape, scale_shape, options = GRANULARITIES[granularity]
    scale, zero = _scales(*_batched(scale_shape, dims[1])), _codes(*_batched(scale_shape, dims[2]), dtype=torch.int8)
    x = _values(*_batched(shape, dims[0]))
    _check(lambda x, s, z: lp.quantize_linear(x, s, z, **options), (x, scale, zero), dims)
    codes = _codes(*_batched(shape, dims[0]), dtype=torch.int8)
    _check(lambda x, s, z: lp.dequantize_linear(x, s, z, **options), (codes, scale, zero), dims)


def test_batches_along_other_axes() -> None:
    x, scale = _values(4, 6, SIZE), _scales(6, SIZE)
    _check(lambda x, s: lp.quantize_linear(x, s, axis=1, output_dtype="uint8"), (x, scale), (2, 1))
    _check(
        lambda x, s: lp.quantize_linear(x, s, 7, axis=1, output_dtype="uint8"),
        (x.permute(2, 0, 1)[:, ::2], scale),
        (0, 1),
    )
    found = torch.vmap(lambda x: lp.cast(x, "float8_e5m2"), in_dims=2, out_dims=1)(x)
    assert bits(found) == bits(lp.cast(x, "float8_e5m2").permute(0, 2, 1))


def test_one_element_counts_for_a_zero_point_of_another_rank() -> None:
    x, scale, zero = _values(SIZE, 4), _scales(SIZE), torch.tensor([7], dtype=torch.uint8)
    _check(lambda x, s: lp.quantize_linear(x, s, zero), (x, scale), (0, 0))


@pytest.mark.parametrize("opset", [10, 13, 19, 28])
def test_old_opsets(opset: int) -> None:
    x, codes, scale = _values(SIZE, 4), _codes(SIZE, 4), _scales(SIZE)
    type_name = "uint8" if opset >= 21 else None
    for dims in ((0, None), (0, 0), (None, 0)):
        factor = scale if dims[1] == 0 else scale[0]
        if dims[0] == 0:
            _check(lambda x, s: lp.quantize_linear(x, s, output_dtype=type_name, opset=opset), (x, factor), dims)
        _check(lambda x, s: lp.dequantize_linear(x, s, opset=opset), (codes, factor), dims)


# ---- packed codes: every element of the batch is packed by itself
@pytest.mark.parametrize("fmt", ["int2", "uint4", "float4_e2m1fn", "float6_e2m3fn"])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 8])
def test_packed_rows(fmt: str, n: int) -> None:
    x = _values(SIZE, 8)[:, :n]
    _check(lambda x: lp.encode(x, fmt, packed=True), (x,), (0,))
    packed = torch.stack([lp.encode(row, fmt, packed=True) for row in x])
    _check(lambda p: lp.decode(p, fmt, packed=True, shape=n), (packed,), (0,))
    _check(lambda p: lp.unpack(p, fmt, (1, n)), (packed,), (0,))
    _check(lambda c: lp.pack(c, fmt), (lp.unpack(packed.reshape(-1), fmt, packed.numel() * 8 // lp.as_format(fmt).bits)
                                       [: SIZE * n].reshape(SIZE, n),), (0,))  # fmt: skip


@pytest.mark.parametrize("dims", [(0, None), (None, 0), (0, 0)], ids=["x", "scale", "both"])
def test_packed_codes_are_dequantized(dims: tuple[Any, Any]) -> None:
    packed, scale = _codes(*_batched((8,), dims[0])), _scales(*_batched((3,), dims[1]))

    def call(packed: Any, scale: Any) -> Any:
        return lp.dequantize_linear(
            packed, scale, 3, axis=1, source="int4", packed=True, shape=(5, 3), output_dtype="float16"
        )

    _check(call, (packed, scale), dims)


def test_several_levels() -> None:
    x, scale = _values(2, SIZE, 4, 6), _scales(2, 6)

    def inner(x: Any, scale: Any) -> Any:
        return torch.vmap(lambda x: lp.quantize_linear(x, scale, 3, axis=1, output_dtype="uint8"), in_dims=0)(x)

    expected = torch.stack(
        [
            torch.stack([lp.quantize_linear(y, s, 3, axis=1, output_dtype="uint8") for y in z])
            for z, s in zip(x, scale, strict=True)
        ]
    )
    assert bits(torch.vmap(inner)(x, scale)) == bits(expected)
    compiled = torch.compile(torch.vmap(inner), backend="aot_eager", fullgraph=True)
    assert bits(compiled(x, scale)) == bits(expected)


def test_results_without_a_batch() -> None:
    x = _values(SIZE, 4)
    constant = torch.tensor([1.5, 300.0])
    found = torch.vmap(lambda x: (lp.cast(constant, "int8"), lp.cast(x, "int8")))(x)
    assert bits(found[0]) == bits(lp.cast(constant, "int8").expand(SIZE, 2))


def test_packed_codes_of_another_length() -> None:
    with pytest.raises(ValueError, match="packed codes must be 1-D uint8 of 5 bytes for shape"):
        torch.vmap(lambda x: lp.unpack(lp.cast(x, "uint8"), "int4", 9))(_values(SIZE, 4))
