"""QuantizeLinear and DequantizeLinear by the array-API back end in torch and array_api_strict, and by kernels."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.array_libraries import LIBRARIES, Library
from support.compare import compare
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
from lowprec.spec.formats import Format, as_format

QUANTIZE, DEQUANTIZE = type_table("QuantizeLinear", 28), type_table("DequantizeLinear", 28)
TARGETS, SOURCES = list(dict.fromkeys(t.y for t in QUANTIZE)), list(dict.fromkeys(t.x for t in DEQUANTIZE))
BY_NAME = {"ids": lambda fmt: fmt.name}
SHAPE = (3, 4, 5)


@pytest.fixture(params=["torch", "torch off the host", "strict"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Give a library; off the host its arrays take the array-API back end, as those of a CUDA device do."""
    if "off the host" in request.param:
        leave_the_host(monkeypatch)
    return LIBRARIES[request.param.partition(" ")[0]]()


def leave_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "has_host_memory", lambda x: False)


def put_in(array: np.ndarray, fmt: Format, library: Library) -> Any:
    return library.hold(array.view(fmt.code_dtype) & fmt.code_dtype.type(fmt.code_mask), fmt)


def codes_of(result: Any, fmt: Format, library: Library) -> np.ndarray:
    """Return the codes in a result, which must have the dtype that `storage_dtype` says."""
    assert result.dtype == lp.storage_dtype(fmt, library.xp)
    return library.codes(result, fmt)


def options_in(types: Types, library: Library) -> dict[str, Any]:
    return {"scale_format": library.source_for(types.scale)}


@pytest.mark.one_in(7)
@pytest.mark.parametrize("y", TARGETS, **BY_NAME)
def test_quantize(library: Library, y: Format, tally: Counter[str]) -> None:
    ways = list(granularities(SHAPE, 28))
    for types in QUANTIZE:
        if types.y is not y or not library.own(types.x):
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
            out = library.xp.empty_like(result)
            assert lp.quantize_linear(*arguments, **options, out=out) is out
            assert np.array_equal(codes_of(out, y, library), expected)
            if y.bits < 8:
                packed = lp.quantize_linear(*arguments, **options, packed=True)
                assert packed.dtype == library.xp.uint8
                assert np.asarray(packed).tolist() == lp.pack(expected.view(y.dtype), y).tolist()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("x_format", SOURCES, **BY_NAME)
def test_dequantize(library: Library, x_format: Format, tally: Counter[str]) -> None:
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
    torch = LIBRARIES["torch"]()
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
