"""QuantizeLinear and DequantizeLinear by the array-API back end in torch and array_api_strict, and by kernels."""

from __future__ import annotations

from collections import Counter
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from support.compare import compare
from support.optional import optional
from support.quantize_cases import (
    PRECISIONS,
    Types,
    draw_codes,
    draw_scale,
    draw_x,
    draw_zero_point,
    expect_dequantized,
    expect_quantized,
    generator,
    granularities,
    tie_inputs,
    type_table,
)

import lowprec as lp
from lowprec.backends import cpu
from lowprec.reference.whole_arrays import array_values, broadcast
from lowprec.spec.formats import Format, as_format

torch: Any = optional("torch")

QUANTIZE, DEQUANTIZE = type_table("QuantizeLinear", 28), type_table("DequantizeLinear", 28)
TARGETS, SOURCES = list(dict.fromkeys(t.y for t in QUANTIZE)), list(dict.fromkeys(t.x for t in DEQUANTIZE))
BY_NAME = {"ids": lambda fmt: fmt.name}
SHAPE = (3, 4, 5)
LIBRARIES = {"torch": torch, "torch off the host": torch, "array_api_strict": strict}


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a namespace; off the host its arrays take the array-API back end, as those of a CUDA device do."""
    if "off the host" in request.param:
        leave_the_host(monkeypatch)
    return LIBRARIES[request.param]


def leave_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "has_host_memory", lambda x: False)


def _own(fmt: Format, library: Any) -> bool:
    return bool(fmt.torch_name) if library is torch else hasattr(strict, fmt.name)


def put_in(array: np.ndarray, fmt: Format, library: Any) -> Any:
    """Return a NumPy array of a format as another library carries it: own dtype, codes, or sub-byte values."""
    array = np.array(array)  # torch wants memory that it may write to
    unsigned = array.view(fmt.code_dtype)
    if fmt.is_integer and fmt.bits < 8:
        held = ((unsigned.astype(np.int64) & fmt.code_mask) ^ fmt.sign_mask) - fmt.sign_mask
        narrow = np.asarray(held.astype("i1" if fmt.signed else "u1"))
        return torch.from_numpy(narrow) if library is torch else strict.asarray(narrow)
    if library is torch:
        signed = torch.from_numpy(unsigned.view(f"i{unsigned.itemsize}"))
        return signed.view(getattr(torch, fmt.torch_name or unsigned.dtype.name))
    return strict.asarray(array if _own(fmt, library) else unsigned)


def codes_of(result: Any, fmt: Format, library: Any) -> np.ndarray:
    """Return the codes in a result, which must have the dtype that `storage_dtype` says."""
    assert result.dtype == lp.storage_dtype(fmt, library)
    if library is torch:
        result = result.view(getattr(torch, f"int{8 * result.element_size()}")).numpy()
    held = np.asarray(result)
    unsigned = held.view(f"u{held.itemsize}")
    if fmt.is_integer and fmt.bits < 8:
        low = unsigned & np.uint8(fmt.code_mask)
        assert np.array_equal(held.astype(np.int64), array_values(low, fmt).astype(np.int64))  # held as values
        return low
    return unsigned


def options_in(types: Types, library: Any) -> dict[str, Any]:
    return {} if _own(types.scale, library) else {"scale_format": types.scale}


@pytest.mark.one_in(7)
@pytest.mark.parametrize("y", TARGETS, **BY_NAME)
def test_quantize(library: Any, y: Format, tally: Counter[str]) -> None:
    ways = list(granularities(SHAPE, 28))
    for types in QUANTIZE:
        if types.y is not y or not _own(types.x, library):
            continue
        rng = generator("library", *types)
        for place, (scale_shape, plain) in enumerate([ways[i] for i in rng.integers(0, len(ways), 3)]):
            scale = draw_scale(rng, types.scale, scale_shape)
            axis, block = plain.get("axis", 1), plain.get("block_size", 0)
            x = draw_x(rng, types.x, broadcast(array_values(scale, types.scale), SHAPE, axis, block), y)
            zero_point = draw_zero_point(rng, y, scale_shape) if place % 2 else None
            options = {**plain, "saturate": bool(rng.integers(2))}
            if place == 2:
                options["precision"] = PRECISIONS[rng.integers(4)]
            expected = expect_quantized(x, scale, zero_point, types, options)
            options |= {"output_dtype": y, **options_in(types, library)}
            arguments = [put_in(x, types.x, library), put_in(scale, types.scale, library)]
            arguments.append(None if zero_point is None else put_in(zero_point, y, library))
            result = lp.quantize_linear(*arguments, **options)
            what = f"{types.x.name} by {types.scale.name} to {y.name}, scale {scale_shape}, {options}"
            compare(tally, "QuantizeLinear, libraries", codes_of(result, y, library), expected, what, x)
            out = strict.zeros_like(result) if library is strict else torch.empty_like(result)
            assert lp.quantize_linear(*arguments, **options, out=out) is out
            assert np.array_equal(codes_of(out, y, library), expected)
            if y.bits < 8:
                packed = lp.quantize_linear(*arguments, **options, packed=True)
                assert packed.dtype == library.uint8
                assert np.asarray(packed).tolist() == lp.pack(expected.view(y.dtype), y).tolist()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("x_format", SOURCES, **BY_NAME)
def test_dequantize(library: Any, x_format: Format, tally: Counter[str]) -> None:
    ways = list(granularities(SHAPE, 28))
    for types in DEQUANTIZE:
        if types.x is not x_format:
            continue
        rng = generator("library", *types)
        for place, output in enumerate(PRECISIONS[:3]):
            scale_shape, plain = ways[rng.integers(len(ways))]
            scale, x = draw_scale(rng, types.scale, scale_shape), draw_codes(rng, x_format, SHAPE)
            has_zero_point = place != 1 and x_format.bits < 32
            zero_point = draw_zero_point(rng, x_format, scale_shape) if has_zero_point else None
            options = {**plain, "output_dtype": output}
            expected = expect_dequantized(x, scale, zero_point, types, options)
            options |= {"source": x_format, **options_in(types, library)}
            beside = [put_in(scale, types.scale, library)]
            beside.append(None if zero_point is None else put_in(zero_point, x_format, library))
            result = lp.dequantize_linear(put_in(x, x_format, library), *beside, **options)
            what = f"{x_format.name} by {types.scale.name} to {output.name}, scale {scale_shape}, {options}"
            compare(tally, "DequantizeLinear, libraries", codes_of(result, output, library), expected, what, x)
            if x_format.bits < 8:
                packed = put_in(lp.pack(x, x_format), as_format("uint8"), library)
                again = lp.dequantize_linear(packed, *beside, **options, packed=True, shape=SHAPE)
                assert np.array_equal(codes_of(again, output, library), expected)


@pytest.mark.parametrize("y", TARGETS, **BY_NAME)
def test_ties_without_kernels(y: Format, monkeypatch: pytest.MonkeyPatch, tally: Counter[str]) -> None:
    leave_the_host(monkeypatch)
    for types in QUANTIZE:
        if types.y is not y:
            continue
        rng = generator("ties", *types)
        x, scale = tie_inputs(types)
        x = np.ascontiguousarray(x[:, rng.integers(11) :: 11])  # 11: the neighbours come in fives
        held, factor = put_in(x, types.x, torch), put_in(scale, types.scale, torch)
        for zero_point in (None, draw_zero_point(rng, y, scale.shape)):
            expected = expect_quantized(x, scale, zero_point, types, {"axis": 0})
            offset = None if zero_point is None else put_in(zero_point, y, torch)
            got = codes_of(lp.quantize_linear(held, factor, offset, axis=0, output_dtype=y), y, torch)
            what = f"{types.x.name} by {types.scale.name} to {y.name}"
            per_row = np.broadcast_to(scale[:, None], x.shape)
            compare(tally, "QuantizeLinear, ties without kernels", got, expected, what, x, per_row)


def test_python_numbers_as_scales_in_every_library(library: Any) -> None:
    x = put_in(np.array([[1.0, 2.0], [-3.0, 600.0]], np.float32), as_format("float32"), library)
    for y, expected in (("uint8", [[3, 4], [1, 255]]), ("int4", [[3, 4], [1, 7]]), ("int16", [[3, 4], [1, 303]])):
        fmt = as_format(y)
        for axis, scale in ((0, 2.0), (1, put_in(np.full(2, 2, np.float32), as_format("float32"), library))):
            got = lp.quantize_linear(x, scale, 3, axis=axis, output_dtype=fmt)
            assert codes_of(got, fmt, library).astype(np.int64).tolist() == expected
            back = lp.dequantize_linear(got, scale, 3, source=fmt, axis=axis)
            assert codes_of(back, as_format("float32"), library).view(np.float32)[0].tolist() == [0, 2]


def test_torch_layouts_and_gradients() -> None:
    array = np.random.default_rng(0).normal(0, 20, (6, 8, 5)).astype(np.float32)
    x, scale = torch.from_numpy(array.copy()), torch.from_numpy(np.linspace(0.1, 3, 8).astype(np.float32))
    expected = lp.quantize_linear(array, scale.numpy(), axis=1, output_dtype="int8")
    got = lp.quantize_linear(x.permute(2, 0, 1), scale, axis=2, output_dtype="int8")
    assert np.array_equal(got.numpy(), expected.transpose(2, 0, 1))
    got = lp.quantize_linear(x[::2, :, 1:4], scale, axis=-2, output_dtype="int8")
    assert np.array_equal(got.numpy(), expected[::2, :, 1:4])
    got = lp.quantize_linear(x.requires_grad_(), scale.requires_grad_(), axis=1, output_dtype="int8")
    assert not got.requires_grad
    assert np.array_equal(got.numpy(), expected)
