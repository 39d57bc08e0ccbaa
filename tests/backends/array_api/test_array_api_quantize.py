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
    dequantize_case,
    draw_zero_point,
    expect_quantized,
    generator,
    granularities,
    quantize_case,
    tie_inputs,
    type_table,
)

import lowprec as lp
from lowprec.backends import cpu
from lowprec.reference.whole_arrays import array_values
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
            options = {**plain, "saturate": bool(rng.integers(2))}
            if place == 2:
                options["precision"] = PRECISIONS[rng.integers(4)]
            case = quantize_case(rng, types, SHAPE, scale_shape, options, zero_point=place == 1)
            x, scale, zero_point, expected = case
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
            options = {**plain, "output_dtype": output}
            case = dequantize_case(rng, types, SHAPE, scale_shape, options, zero_point=place != 1)
            x, scale, zero_point, expected = case
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
