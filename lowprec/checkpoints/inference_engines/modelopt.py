"""ModelOpt, as TensorRT-LLM and vLLM read it: its names and descriptions, and its arithmetic.

ModelOpt writes NaN for a weight that is all zeros where the scale is one for the whole tensor. Here such a weight has
the scale that ModelOpt gives to a row of zeros: the one of the largest code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...ops.encode_pack import decode, encode
from ...ops.quantize_linear import quantize_linear
from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E4M3FNUZ, FLOAT32, UINT8, Format
from ..containers.container import StoredTensor
from ..schemes.absmax import clear_negative_zeros, divide, float_magnitudes
from ..schemes.scale_grid import Grid
from ..schemes.scheme import GlobalScale, Packing, Scheme, Tool
from ..weights.engine_interface import CODES, GLOBAL_SCALE, SCALES, Output, wrong_value
from ..weights.quantized_weight import Source, Weight, fail, grid_of, scale_format, shape_of_pairs, split, take

__all__ = [
    "FP8", "FP8_ROWS", "LAYOUT", "METHODS", "NAME", "NVFP4", "NVFP4_WEIGHTS", "VERSION", "describe", "find",
    "fp8_scale", "nvfp4_scale", "outputs", "quantize", "static_outputs",
]  # fmt: skip

NAME = "ModelOpt"
METHODS = ("modelopt", "modelopt_fp4", "modelopt_mxfp8", "modelopt_mixed")

BLOCK = (128, 128)
"""The rows and columns of a block (FP8_PB_WO); its scales have four axes, [rows / 128, 1, columns / 128, 1]."""

LAYOUT = "modelopt"

VERSION = "0.47.0"
"""The version of ModelOpt with whose files the output is compared."""

FP8, FP8_ROWS = "FP8", "FP8_PER_CHANNEL_PER_TOKEN"
NVFP4, NVFP4_WEIGHTS = "NVFP4", "W4A16_NVFP4"
"""Algorithms: inputs of a layer have the scale ``input_scale``, or one to a token; or ``input_scale``, or no codes."""

Array = np.ndarray[Any, Any]

LARGEST_FP8, LARGEST_FP4 = np.float32(FLOAT8_E4M3FN.max), np.float32(FLOAT4_E2M1FN.max)

SMALLEST_FP8 = np.float32(2.0**-9)
"""The least positive float8_e4m3fn: no NVFP4_TOOL scale is smaller."""


def find(source: Source) -> Iterator[Weight]:
    """Yield ``P.weight`` with ``P.weight_scale`` and, for NVFP4, ``P.weight_scale_2``."""
    for codes in list(source.tensors.values()):
        module, last = split(codes.name)
        scales, second = source.tensors.get(f"{module}{last}_scale"), source.tensors.get(f"{module}{last}_scale_2")
        if scales is None or (second is None and not source.description) or f"{module}comfy_quant" in source.tensors:
            continue
        if f"{module}pre_quant_scale" in source.tensors:
            raise fail(source.tensors[f"{module}pre_quant_scale"], "is a scale of columns, which is not supported")
        size = source.description.get("group_size")
        if size is not None and (type(size) is not int or size < 0):
            raise wrong_value("group_size", "an integer from 0 on", size)
        unused = tuple(take(source, module, "input_scale"))
        if second is not None and codes.type_name == "U8":
            shape = shape_of_pairs(codes)
            if scales.type_name != "F8_E4M3":
                raise fail(scales, f"must be F8_E4M3 where there is a {last}_scale_2; got {scales.type_name}")
            grid = grid_of(shape, scales)
            scheme = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E4M3FN, grid, GlobalScale.FACTOR)
            yield Weight(codes.name, NAME, shape, scheme, codes, scales, second, unused=unused)
        elif second is None and codes.fmt in (FLOAT8_E4M3FN, FLOAT8_E4M3FNUZ):
            fmt = scale_format(scales, exponents=True)
            scheme = Scheme(codes.fmt, Packing.NONE, fmt, _grid(codes, scales))
            yield Weight(codes.name, NAME, codes.shape, scheme, codes, scales, unused=unused)


def _grid(codes: StoredTensor, scales: StoredTensor) -> Grid:
    """Return which elements of FP8 share a scale."""
    lengths = scales.shape
    if len(codes.shape) == 2 and len(lengths) == 4 and lengths[1::2] == (1, 1):
        return grid_of(codes.shape, replace(scales, shape=lengths[::2]), BLOCK)
    return grid_of(codes.shape, scales)


def _numbers(bits: int) -> dict[str, Any]:
    return {"dynamic": False, "num_bits": bits, "type": "float"}


def outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the tensors that a weight of two axes becomes."""
    rows, columns = shape
    if scheme.packing is Packing.LOW_FIRST:
        yield Output(CODES, name, UINT8, (rows, scheme.row_bytes(columns)))
    else:
        yield Output(CODES, name, scheme.codes, shape)
    if not scheme.grid.rows:
        yield Output(GLOBAL_SCALE, f"{name}_scale", FLOAT32, ())
    elif not scheme.grid.columns:
        yield Output(SCALES, f"{name}_scale", FLOAT32, (rows,))
    else:
        yield Output(SCALES, f"{name}_scale", scheme.scale, scheme.grid.shape(rows, columns))
    if scheme.global_scale is not GlobalScale.NONE:
        yield Output(GLOBAL_SCALE, f"{name}_scale_2", FLOAT32, ())


def static_outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the same, and 1 as the scale of the layer's input."""
    yield from outputs(name, shape, scheme)
    one = np.array(1, "<f4").tobytes()
    yield Output("input_scale", f"{name.removesuffix('weight')}input_scale", FLOAT32, (), one)


def describe(
    algorithm: str, scheme: Scheme, ignore: Sequence[str], cache: str | None = None
) -> dict[str, Mapping[str, Any]]:
    """Return the entry ``quantization_config`` of config.json, and hf_quant_config.json, in ModelOpt's order.

    Parameters
    ----------
    algorithm : str
        `FP8`, `FP8_ROWS`, `NVFP4` or `NVFP4_WEIGHTS`.
    scheme : Scheme
        How the weights are stored.
    ignore : sequence of str
        The modules that are kept.
    cache : str, optional
        The algorithm for the cache of keys and values.
    """
    width = scheme.grid.columns
    group = {"group_size": width} if width else {}
    numbers = {**_numbers(scheme.codes.bits), **group}
    entry: dict[str, Any] = {}
    if algorithm != FP8_ROWS:  # for which ModelOpt writes no groups
        inputs = {} if algorithm == NVFP4_WEIGHTS else {"input_activations": numbers}
        entry["config_groups"] = {"group_0": {**inputs, "weights": numbers, "targets": ["Linear"]}}
    entry |= {"ignore": list(ignore), "quant_algo": algorithm}
    if cache is not None:
        entry["kv_cache_scheme"] = _numbers(8) if cache == FP8 else cache
    producer = {"name": LAYOUT, "version": VERSION}  # engines know the file by this name
    quantization = {"quant_algo": algorithm, "kv_cache_quant_algo": cache, **group, "exclude_modules": list(ignore)}
    return {
        "quantization_config": {**entry, "producer": producer, "quant_method": LAYOUT},
        "hf_quant_config.json": {"producer": producer, "quantization": quantization},
    }


def quantize(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None) -> tuple[Array, Array]:
    """Return scales and codes.

    Parameters
    ----------
    x : numpy.ndarray
        Rows of a weight as unsigned codes of `fmt`; finite where `second` was found.
    fmt : Format
        bfloat16, float16 or float32.
    scheme : Scheme
        FP4 with scales in FP8_TOOL, or FP8_TOOL with scales in float32.
    second : numpy.float32, optional
        The scale of the whole tensor, from `nvfp4_scale` or `fp8_scale`; FP8_TOOL without it has a scale to a row.

    Returns
    -------
    scales, codes : numpy.ndarray
        Unsigned codes of `scheme.scale`, a row and a column to each scale, that of a whole tensor in each row; rows of
        bytes.

    Raises
    ------
    NotFiniteError
        If scales are computed here, and an element is a NaN or an infinity.
    """
    with np.errstate(all="ignore"):
        if scheme.packing is Packing.LOW_FIRST and second is not None:
            return _nvfp4(x, fmt, scheme.grid, second)
        return _fp8_rows(x, fmt) if second is None else _fp8_tensor(x, fmt, second)


def nvfp4_scale(largest: float, fmt: Format) -> np.float32:
    """Return NVFP4_TOOL's second scale, a factor, for the largest magnitude of all tensors that share it."""
    return _scale(largest, LARGEST_FP4 * LARGEST_FP8, LARGEST_FP4)


def fp8_scale(largest: float, fmt: Format) -> np.float32:
    """Return the scale of FP8_TOOL for the largest magnitude of all tensors that share it."""
    return _scale(largest, LARGEST_FP8, LARGEST_FP8)


def _scale(largest: float, divisor: np.float32, otherwise: np.float32) -> np.float32:
    with np.errstate(under="ignore"):
        scale = np.float32(largest) / divisor
    return np.float32(scale if scale > 0 else otherwise / divisor)


def _nvfp4(x: Array, fmt: Format, grid: Grid, second: np.float32) -> tuple[Array, Array]:
    ratios = float_magnitudes(x, fmt, grid) / (LARGEST_FP4 * second)
    ratios[ratios == 0] = 1
    scales = np.asarray(encode(np.clip(ratios, SMALLEST_FP8, LARGEST_FP8), FLOAT8_E4M3FN)).view(np.uint8)
    factors = np.asarray(decode(scales, FLOAT8_E4M3FN, to=np.float32)) * second
    # A quotient of 0 has no sign: −0 itself, and what becomes 0 by a factor above 1.
    width = grid.columns
    if factors.max(initial=0) > 1:
        zero = x.view(fmt.dtype).astype(np.float32) / np.repeat(factors, width, axis=1) == 0
        x = np.where(zero, x.dtype.type(0), x)
    values = x.view(fmt.dtype)
    codes = quantize_linear(values, factors, axis=1, block_size=width, output_dtype=FLOAT4_E2M1FN, packed=True)
    packed = np.asarray(codes)
    clear_negative_zeros(packed, x, fmt)
    return scales, packed.reshape(len(x), -1)


def _fp8_tensor(x: Array, fmt: Format, scale: np.float32) -> tuple[Array, Array]:
    """Return the scale for each row, and codes of quotients that are rounded to the type of the weight first."""
    if fmt == FLOAT32:
        codes = divide(x, fmt, scale, FLOAT8_E4M3FN)
    else:
        codes = np.asarray(encode(divide(x, fmt, scale, fmt), FLOAT8_E4M3FN, source=fmt))
    return np.full((len(x), 1), scale, np.float32).view(np.uint32), codes.view(np.uint8)


def _fp8_rows(x: Array, fmt: Format) -> tuple[Array, Array]:
    """Return a scale to each row, and codes; a largest magnitude is at least the least normal number of its type."""
    largest = float_magnitudes(x, fmt, Grid(1, 0))
    scales = np.where(largest == 0, LARGEST_FP8, np.maximum(largest, np.float32(fmt.smallest_normal))) / LARGEST_FP8
    codes = quantize_linear(x.view(fmt.dtype), scales[:, 0], axis=0, output_dtype=FLOAT8_E4M3FN)
    return scales.view(np.uint32), np.asarray(codes).view(np.uint8)


def rule(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of scales and codes; T is the type of the weight, T(…) rounds to it."""
    top, to = LARGEST_FP8, scheme.codes.name
    if scheme.packing is Packing.LOW_FIRST:
        return (
            f"second = absmax of the tensors that are fused / {LARGEST_FP4 * LARGEST_FP8:g}, in float32",
            f"scale  = {scheme.scale.name}(absmax / ({LARGEST_FP4:g} * second)), at least 2^-9; 1 for zeros",
            f"code   = {to}(x / (scale * second)); -0 as 0",
            "value  = code * (scale * second)",
        )
    if scheme.grid.rows:
        least = "absmax is at least the least normal number of T, and 1 the scale of zeros"
        return f"scale  = absmax / {top:g}, in float32; {least}", f"code   = {to}(x / scale)", "value  = code * scale"
    return (
        f"scale  = absmax of the tensors that are fused / {top:g}, in float32; 1 for zeros",
        f"code   = {to}(T(x / scale))",
        "value  = code * scale",
    )


FP8_TOOL = Tool("ModelOpt", quantize, fp8_scale, rule)
FP8_ROWS_TOOL = Tool("ModelOpt", quantize, rule=rule)
NVFP4_TOOL = Tool("ModelOpt", quantize, nvfp4_scale, rule)
