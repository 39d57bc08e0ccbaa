"""QuantizeLinear and DequantizeLinear by the CUDA text, compiled for the CPU, against the oracle."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.bits import packed_bytes
from support.compare import compare
from support.cuda_on_cpu import CpuBuild
from support.quantize_cases import (
    PRECISIONS,
    Types,
    dequantize_case,
    draw_codes,
    draw_scale,
    draw_x,
    draw_zero_point,
    expect_dequantized,
    expect_quantized,
    generator,
    granularities,
    quantize_case,
    type_table,
)

from lowprec.backends.kernels_of_plan import make_program
from lowprec.plans.plan import Plan
from lowprec.plans.quantize_plan import QuantizeOptions, dequantize_plan, quantize_plan
from lowprec.plans.scale_shapes import granularity_of
from lowprec.reference.whole_arrays import array_values, rounded
from lowprec.spec.formats import Format, as_format

pytestmark = pytest.mark.slow

BY_NAME = {"ids": lambda fmt: fmt.name}
FLOAT32 = as_format("float32")
QUANTIZED = type_table("QuantizeLinear", 28)
DEQUANTIZED = type_table("DequantizeLinear", 28)
TARGETS = list(dict.fromkeys(types.y for types in QUANTIZED))
SOURCES = list(dict.fromkeys(types.x for types in DEQUANTIZED))
SHAPES = [(), (1,), (7,), (40,), (3, 5), (3, 32), (2, 3, 17), (4, 33, 2), (2, 3, 4, 5), (3, 2, 16)]


def _run(
    quantize_kernels: CpuBuild, plan: Plan, x: np.ndarray,
    operands: tuple[np.ndarray, Format, np.ndarray | None, Format], options: dict[str, Any], **ends: bool,
) -> np.ndarray:  # fmt: skip
    """Return the flat codes that the kernel of a plan gives; scales and zero points are brought to their types here."""
    scale, scale_format, zero_point, code = operands
    scaling = plan.scaling
    assert scaling is not None
    wide = scaling.precision.bits == 64
    with np.errstate(over="ignore"):
        factor = rounded(array_values(scale, scale_format), scaling.precision).astype(
            np.float64 if wide else np.float32
        )
    zero = None
    if zero_point is not None and scaling.zero_point is not None:
        zero = np.ascontiguousarray(array_values(zero_point, code).astype(scaling.zero_point.dtype))
    where = granularity_of(x.shape, scale.shape, options.get("axis", 1), options.get("block_size", 0), True, True)
    codes = np.ascontiguousarray(x).view(plan.source.code_dtype).reshape(-1)
    there = (np.ascontiguousarray(factor), zero, where)
    return quantize_kernels(codes, make_program(plan, **ends), x.size, operands=there)


def _quantize(
    quantize_kernels: CpuBuild, x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray | None, types: Types,
    options: dict[str, Any],
) -> np.ndarray:  # fmt: skip
    zero, output = (types.y, None) if zero_point is not None else (None, types.y)
    rules = {name: options[name] for name in ("precision", "saturate") if name in options}
    plan = quantize_plan(types.x, types.scale, zero, QuantizeOptions(output_dtype=output, **rules))
    return _run(quantize_kernels, plan, x, (scale, types.scale, zero_point, types.y), options).reshape(x.shape)


def _dequantize(
    quantize_kernels: CpuBuild, x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray | None, types: Types,
    options: dict[str, Any],
) -> np.ndarray:  # fmt: skip
    zero = None if zero_point is None else types.x
    plan = dequantize_plan(types.x, types.scale, zero, QuantizeOptions(output_dtype=options.get("output_dtype")))
    return _run(quantize_kernels, plan, x, (scale, types.scale, zero_point, types.x), options).reshape(x.shape)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("y", TARGETS, **BY_NAME)
def test_quantize_every_type_and_precision(quantize_kernels: CpuBuild, y: Format, tally: Counter[str]) -> None:
    for types in (found for found in QUANTIZED if found.y is y):
        rng = generator("CUDA", *types)
        scale = draw_scale(rng, types.scale, (40,), odd=0.3)
        x = draw_x(rng, types.x, np.broadcast_to(array_values(scale, types.scale)[:, None], (40, 150)), y)
        for precision in (None, *PRECISIONS):
            for zero_point in (None, draw_zero_point(rng, y, scale.shape)):
                for saturate in (True, False) if y.saturates == "asked" and precision is None else (True,):
                    options = {"axis": 0, "precision": precision, "saturate": saturate}
                    got = _quantize(quantize_kernels, x, scale, zero_point, types, options)
                    expected = expect_quantized(x, scale, zero_point, types, options)
                    compare(tally, "CUDA on the host, QuantizeLinear", got, expected, f"{types}, {options}", x)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("source", SOURCES, **BY_NAME)
def test_dequantize_every_type(quantize_kernels: CpuBuild, source: Format, tally: Counter[str]) -> None:
    for types in (found for found in DEQUANTIZED if found.x is source):
        rng = generator("CUDA", *types)
        scale = draw_scale(rng, types.scale, (60,), odd=0.5)
        x = draw_codes(rng, source, (60, 256))
        if source.bits <= 8:
            x = np.broadcast_to(np.arange(1 << source.bits).astype(np.uint8).view(source.dtype), (60, 1 << source.bits))
        zeros = (None,) if source.bits == 32 else (None, draw_zero_point(rng, source, scale.shape))
        for output in PRECISIONS[:3]:
            for zero_point in zeros:
                options = {"axis": 0, "output_dtype": output}
                got = _dequantize(quantize_kernels, x, scale, zero_point, types, options)
                expected = expect_dequantized(x, scale, zero_point, types, options)
                compare(tally, "CUDA on the host, DequantizeLinear", got, expected, f"{types}, {options}", x)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("y", ["int8", "uint4", "float8_e5m2", "float4_e2m1fn"])
def test_every_granularity(quantize_kernels: CpuBuild, y: str, shape: tuple[int, ...], tally: Counter[str]) -> None:
    fmt = as_format(y)
    there, back = Types(FLOAT32, FLOAT32, fmt), Types(fmt, FLOAT32, FLOAT32)
    for scale_shape, options in granularities(shape, 28):
        rng = generator(y, shape, scale_shape, options)
        what = f"{fmt.name}, {shape}, {scale_shape}, {options}"
        x, scale, zero_point, expected = quantize_case(rng, there, shape, scale_shape, options)
        got = _quantize(quantize_kernels, x, scale, zero_point, there, options)
        compare(tally, "CUDA on the host, granularities", got, expected, what, x)
        x, scale, zero_point, expected = dequantize_case(rng, back, shape, scale_shape, options)
        got = _dequantize(quantize_kernels, x, scale, zero_point, back, options)
        compare(tally, "CUDA on the host, granularities", got, expected, what, x)


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 17), (5, 64), (1, 1)], ids=str)
@pytest.mark.parametrize("fmt", [fmt for fmt in TARGETS if fmt.bits < 8], **BY_NAME)
def test_packed_ends(quantize_kernels: CpuBuild, fmt: Format, shape: tuple[int, ...]) -> None:
    rng = generator(fmt, shape)
    options = {"axis": 1, "block_size": 2}
    types, scale_shape = Types(FLOAT32, FLOAT32, fmt), (shape[0], -(-shape[1] // 2), *shape[2:])
    x, scale, _, codes = quantize_case(rng, types, shape, scale_shape, options, zero_point=False)
    plan = quantize_plan(FLOAT32, FLOAT32, None, QuantizeOptions(output_dtype=fmt))
    operands = (scale, FLOAT32, None, fmt)
    packed = packed_bytes(codes, fmt.bits)
    assert _run(quantize_kernels, plan, x, operands, options, packed=True).tobytes() == packed.tobytes()
    back = dequantize_plan(fmt, FLOAT32, None, QuantizeOptions())
    where = granularity_of(shape, scale.shape, 1, 2, True, True)
    got = quantize_kernels(
        packed, make_program(back, unpacked=True), codes.size,
        operands=(np.ascontiguousarray(scale), None, where),
    )  # fmt: skip
    values = codes.view(fmt.dtype)
    expected = expect_dequantized(values, scale, None, Types(fmt, FLOAT32, FLOAT32), options)
    assert np.array_equal(got, expected.reshape(-1))
