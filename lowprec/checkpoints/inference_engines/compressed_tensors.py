"""compressed-tensors, as vLLM, SGLang and transformers read it, with the arithmetic of llm-compressor.

A scale is the largest magnitude of what shares it over half the range of the codes, rounded to the type of the weight;
so is the quotient that becomes a code. Powers of two (MX) and two levels of scales (NVFP4) have rules of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from ...ops.encode_pack import decode, encode
from ...ops.quantize_linear import quantize_linear
from ...spec.formats import (
    FLOAT4_E2M1FN,
    FLOAT8_E4M3FN,
    FLOAT8_E4M3FNUZ,
    FLOAT8_E8M0FNU,
    FLOAT32,
    INT4,
    INT8,
    INT32,
    INT64,
    UINT4,
    UINT8,
    Format,
)
from ..containers.container import StoredTensor
from ..schemes.absmax import clear_negative_zeros, float_magnitudes, group_magnitudes, scales_by_rule
from ..schemes.scale_grid import Grid
from ..schemes.scheme import GlobalScale, Packing, Scheme, Tool
from ..weights.engine_interface import (
    CODES,
    GLOBAL_SCALE,
    SCALES,
    Output,
    described_block,
    described_group,
    wrong_value,
)
from ..weights.expert_weights import experts_module_of
from ..weights.quantized_weight import Source, Weight, fail, grid_of, scale_format, shape_of_pairs, take
from ..weights.tensor_selection import linear_module

__all__ = ["ARGUMENTS", "METHODS", "NAME", "TOOL", "VERSION", "describe", "find", "ignored", "listed", "outputs"]

NAME = "compressed-tensors"
METHODS = ("compressed-tensors",)

ACTIVATIONS = ("input_scale", "input_zero_point", "input_global_scale", "output_scale", "output_zero_point")

VERSION = "0.19.0"
"""The version of compressed-tensors with whose files the output is compared."""

ARGUMENTS: dict[str, Any] = {
    "actorder": None, "block_structure": None, "dynamic": False, "group_size": None, "num_bits": 8, "observer": None,
    "observer_kwargs": {}, "scale_dtype": None, "strategy": "tensor", "symmetric": True, "type": "float",
    "zp_dtype": None,
}  # fmt: skip

TOWER = re.compile(r"(?:model\.)?(\w*(?:vision|visual|audio|multi_modal|projector|connector)\w*)(?:\.|$)")
"""What stands beside the language model, by the first part of the names of its modules."""

ROUTER = r"re:.*gate$"
"""What llm-compressor's examples ignore of mixtures of experts: layers that choose among experts, by any name."""

Array = np.ndarray[Any, Any]

HALF_RANGES = {FLOAT8_E4M3FN: 448.0, INT8: 127.5, INT4: 7.5}
"""Half the range of the codes: of integers (2^n − 1) / 2."""

SMALLEST_NVFP4_SCALE = 0.125
"""What stands for a scale of 0, llm-compressor's eps of float8_e4m3fn."""

LARGEST_NVFP4 = 2688.0
"""The largest FP4 value times the largest scale in float8_e4m3fn."""

INTEGERS = {4: (INT4, UINT4)}
"""Codes in words, by their bits: the integers they stand for, and what is stored."""


def find(source: Source) -> Iterator[Weight]:
    """Yield the weights of every format of compressed-tensors 0.20 that is not sparse."""
    for codes in list(source.tensors.values()):
        if codes.name.endswith("weight_packed"):
            yield _packed(source, codes, codes.name.removesuffix("weight_packed"))
        elif (
            source.description and codes.name.endswith("weight") and codes.type_name in ("I8", "F8_E4M3", "F8_E4M3FNUZ")
        ):
            module = codes.name.removesuffix("weight")
            if module + "weight_scale" in source.tensors:
                yield _plain(source, codes, module)


def _optional(source: Source, module: str) -> dict[str, Any]:
    return {
        "zero_points": source.tensors.get(module + "weight_zero_point"),
        "groups": source.tensors.get(module + "weight_g_idx"),
        "unused": tuple(take(source, module, *ACTIVATIONS)),
    }


def _weights(source: Source) -> Iterator[Mapping[str, Any]]:
    """Yield what the groups of the configuration say of weights; a list of modules stands for a preset."""
    groups = source.description.get("config_groups")
    if groups is not None and not isinstance(groups, dict):
        raise wrong_value("config_groups", "an object of groups", groups)
    for group in (groups or {}).values():
        if not isinstance(group, (dict, list)):
            raise wrong_value("each of config_groups", "an object or a list of modules", group)
        weights = group.get("weights") if isinstance(group, dict) else None
        if weights is not None and not isinstance(weights, dict):
            raise wrong_value("weights in config_groups", "an object", weights)
        if weights is None:
            continue
        bits = weights.get("num_bits", 8)
        if type(bits) is not int or not 2 <= bits <= 8:
            raise wrong_value("num_bits", "an integer from 2 to 8", bits)
        described_block(weights, "block_structure", text=True)
        described_group(weights)
        yield weights


def _grid(source: Source, shape: tuple[int, ...], scales: StoredTensor) -> Grid:
    """Return which elements share a scale: as the groups of the configuration agree, or as the shapes say.

    Rows may end with a shorter group: 4 scales to 100 columns are groups of 25, or of 32 if the configuration says so.
    """
    said = {
        (described_block(weights, "block_structure", text=True), described_group(weights))
        for weights in _weights(source)
    }
    block, size = next(iter(said)) if len(said) == 1 else (None, None)
    if scales.type_name == "U8":
        block = None
    count = scales.shape[-1] if scales.shape else 1
    if block is None and size is not None and count > 1 and -(-shape[-1] // size) == count:
        block = (1, size)
    return grid_of(shape, scales, block)


def _plain(source: Source, codes: StoredTensor, module: str) -> Weight:
    scales = source.tensors[module + "weight_scale"]
    grid = _grid(source, codes.shape, scales)
    fmt = {"I8": INT8, "F8_E4M3": FLOAT8_E4M3FN, "F8_E4M3FNUZ": FLOAT8_E4M3FNUZ}[codes.type_name]
    scale = scale_format(scales, exponents=True)
    scheme = Scheme(fmt, Packing.NONE, scale, grid, signed_scales=fmt.is_integer)
    return Weight(module + "weight", NAME, codes.shape, scheme, codes, scales, **_optional(source, module))


def _packed(source: Source, codes: StoredTensor, module: str) -> Weight:
    scales = source.tensors.get(module + "weight_scale")
    if scales is None:
        raise fail(codes, f"has no scales: {ascii(module + 'weight_scale')[:80]} is missing")
    if codes.type_name != "U8":
        return _words(source, codes, scales, module)
    shape = shape_of_pairs(codes)
    second = source.tensors.get(module + "weight_global_scale")
    if second is None and scales.type_name not in ("U8", "F8_E8M0"):
        raise fail(scales, f"must be U8 exponents where there is no weight_global_scale; got {scales.type_name}")
    if second is not None and scales.type_name != "F8_E4M3":
        raise fail(scales, f"must be F8_E4M3 where there is a weight_global_scale; got {scales.type_name}")
    fmt = scale_format(scales, exponents=True) if second is None else FLOAT8_E4M3FN
    scheme = Scheme(
        FLOAT4_E2M1FN, Packing.LOW_FIRST, fmt, _grid(source, shape, scales),
        GlobalScale.NONE if second is None else GlobalScale.INVERSE,
    )  # fmt: skip
    return Weight(module + "weight", NAME, shape, scheme, codes, scales, second, **_optional(source, module))


def _words(source: Source, codes: StoredTensor, scales: StoredTensor, module: str) -> Weight:
    """Return a weight of integers of 2 to 8 bits in 32-bit words."""
    optional, stored = _optional(source, module), source.tensors.get(module + "weight_shape")
    if codes.type_name != "I32" or len(codes.shape) != 2:
        raise fail(codes, f"must be U8, or I32 of two axes; got {codes.type_name} {list(codes.shape)}")
    if stored is None or stored.type_name not in ("I64", "I32") or stored.size != 2:
        raise fail(codes, "needs a weight_shape of two integers")
    rows, columns = map(int, source.read(stored))
    bits = _bits(source, codes, (rows, columns))
    grid = Grid(1, 1) if optional["groups"] is not None else _grid(source, (rows, columns), scales)
    scheme = Scheme(UINT8, Packing.WORDS, scale_format(scales), grid, bits=bits, signed_scales=True)
    optional["unused"] = (*optional["unused"], stored)
    return Weight(module + "weight", NAME, (rows, columns), scheme, codes, scales, **optional)


def _bits(source: Source, codes: StoredTensor, shape: tuple[int, int]) -> int:
    """Return how many bits a code takes: what the configuration says, if the words fit the shape."""
    rows, columns = shape
    named = {weights["num_bits"] for weights in _weights(source) if "num_bits" in weights}
    fitting = [n for n in range(2, 9) if codes.shape == (rows, -(-columns * n // 32))]
    possible = sorted(named & set(fitting)) if named else fitting
    if len(possible) == 1:
        return possible[0]
    if possible:
        text = f"has the shape {list(codes.shape)}, which fits codes of {possible} bits: config.json must say num_bits"
        raise fail(codes, text)
    said = f" of {sorted(named)} bits" if named else ""
    raise fail(codes, f"has the shape {list(codes.shape)}, which fits no weight{said} of shape {[rows, columns]}")


def listed(kept: Set[str], quantized: Set[str]) -> list[str]:
    """Return how the entry ``ignore`` names the modules that are kept.

    transformers compares whole names, those of its own modules: ``model.vision_tower.encoder`` is stored as
    ``vision_tower.vision_model.encoder`` by Gemma 3, and routers of Mixtral are ``mlp.gate``, stored as
    ``block_sparse_moe.gate``. So expressions stand for routers, and for a tower that is kept as a whole.
    """
    towers = {match[1] for name in kept if (match := TOWER.match(name))}
    expressions = {rf"re:.*\b{tower}\b" for tower in towers} | {ROUTER}
    whole = {one for one in expressions if not any(re.match(one[3:], name) for name in quantized)}
    whole = {one for one in whole if any(re.match(one[3:], name) for name in kept)}
    named = {name for name in kept if not any(re.match(one[3:], name) for one in whole)}
    return sorted(named | whole)


def outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the tensors that a weight of two axes becomes."""
    (rows, columns), module = shape, name.removesuffix("weight")
    width = scheme.row_bytes(columns)
    if scheme.packing is Packing.NONE:
        yield Output(CODES, name, scheme.codes, shape)
    elif scheme.packing is Packing.LOW_FIRST:
        yield Output(CODES, f"{module}weight_packed", UINT8, (rows, width))
    else:
        yield Output(CODES, f"{module}weight_packed", INT32, (rows, width // 4))
    scale = UINT8 if scheme.scale == FLOAT8_E8M0FNU else scheme.scale
    whole = not (scheme.grid.rows or scheme.grid.columns)
    yield Output(SCALES, f"{module}weight_scale", scale, (1,) if whole else scheme.grid.shape(rows, columns))
    if scheme.global_scale is not GlobalScale.NONE:
        yield Output(GLOBAL_SCALE, f"{module}weight_global_scale", FLOAT32, (1,))
    if scheme.packing is Packing.WORDS:
        yield Output("shape", f"{module}weight_shape", INT64, (2,), np.array(shape, "<i8").tobytes())


def describe(
    preset: str, activations: dict[str, Any] | None, scheme: Scheme, ignore: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the entry ``quantization_config`` of config.json, its keys in alphabetical order.

    Parameters
    ----------
    preset : str
        The name of the group of weights: llm-compressor's name of the preset.
    activations : dict or None
        What ``input_activations`` says beyond the defaults: how the engine quantizes the inputs of a layer.
    scheme : Scheme
        How the weights are stored.
    ignore : sequence of str
        The modules that are kept.
    """
    fmt = _format(scheme)
    group = {
        "format": fmt,
        "input_activations": None if activations is None else {**ARGUMENTS, **activations},
        "output_activations": None,
        "targets": ["Linear"],
        "weights": {
            **ARGUMENTS,
            "num_bits": scheme.bits or scheme.codes.bits,
            "type": "int" if scheme.codes.is_integer else "float",
            **_strategy(scheme),
        },
    }
    configuration = {
        "config_groups": {preset: group},
        "format": fmt,
        "global_compression_ratio": None,
        "ignore": list(ignore),
        "kv_cache_scheme": None,
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
        "transform_config": {},
        "version": VERSION,
    }
    return {"quantization_config": configuration}


def _strategy(scheme: Scheme) -> dict[str, Any]:
    grid = scheme.grid
    if grid.rows > 1:
        return {"strategy": "block", "block_structure": [grid.rows, grid.columns]}
    if not grid.columns:
        return {"strategy": "channel" if grid.rows else "tensor"}
    if scheme.global_scale is not GlobalScale.NONE:
        return {
            "strategy": "tensor_group",
            "group_size": grid.columns,
            "scale_dtype": f"torch.{scheme.scale.torch_name}",
        }
    exponents = "torch.uint8" if scheme.scale == FLOAT8_E8M0FNU else None
    return {"strategy": "group", "group_size": grid.columns, "scale_dtype": exponents}


def _format(scheme: Scheme) -> str:
    """Return compressed-tensors' name of how codes are stored."""
    if scheme.packing is Packing.WORDS:
        return "pack-quantized"
    if scheme.codes.is_integer:
        return "int-quantized"
    if scheme.global_scale is not GlobalScale.NONE:
        return "nvfp4-pack-quantized"
    if scheme.scale == FLOAT8_E8M0FNU:
        return "mxfp4-pack-quantized" if scheme.codes.bits == 4 else "mxfp8-quantized"
    return "float-quantized"


def quantize(
    x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None, *, scale_rule: str | None = None
) -> tuple[Array, Array]:
    """Return scales and codes.

    Parameters
    ----------
    x : numpy.ndarray
        Rows of a weight as unsigned codes of `fmt`; with blocks of rows, whole ones.
    fmt : Format
        bfloat16, float16 or float32.
    scheme : Scheme
        How they are to be stored.
    second : numpy.float32, optional
        NVFP4's second scale, from `global_scale`.
    scale_rule : str, optional
        The rule of `absmax_scale` for scales that are powers of two; None for the tool's own.

    Returns
    -------
    scales, codes : numpy.ndarray
        Unsigned codes of `scheme.scale`, a row and a column to each scale; rows of bytes.

    Raises
    ------
    NotFiniteError
        If an element is a NaN or an infinity.
    """
    if scheme.global_scale is not GlobalScale.NONE and second is not None:
        return _nvfp4(x, fmt, scheme, second)
    if scheme.scale != FLOAT8_E8M0FNU:
        return _symmetric(x, fmt, scheme)
    scales = _mx_scales(x, fmt, scheme) if scale_rule is None else scales_by_rule(x, fmt, scheme, scale_rule)
    return scales, _codes(x, fmt, scales.view(FLOAT8_E8M0FNU.dtype), scheme)


def global_scale(largest: float, fmt: Format) -> np.float32:
    """Return NVFP4's second scale, which divides, for the largest magnitude of all tensors that share it.

    It is 1 / largest times 2688, each step rounded to the type of the weight; 1 where that is no finite number.
    """
    with np.errstate(all="ignore"):
        reciprocal = np.float32(np.divide(np.float32(1), np.float32(largest)).astype(fmt.dtype))
        scale = np.float32(np.multiply(reciprocal, np.float32(LARGEST_NVFP4)).astype(fmt.dtype))
    return scale if np.isfinite(scale) else np.float32(1)


def _codes(x: Array, fmt: Format, scales: Array, scheme: Scheme) -> Array:
    """Return rows of bytes, the codes of `x` over its scales; the quotients are rounded to the type of the scales."""
    grid, to, zero = scheme.grid, scheme.codes, None
    scales = np.repeat(scales, grid.rows, axis=0)[: len(x)] if grid.rows > 1 else scales
    axis, block = (1, grid.columns) if grid.columns else (0, 0)
    factors = np.ascontiguousarray(scales if block else scales[:, 0])
    packs = scheme.packing is Packing.LOW_FIRST
    if scheme.packing is Packing.WORDS:
        # Recipes have whole groups of 4-bit codes, a multiple of 8: a row of words is a row of packed codes.
        (_, to), zero, packs = INTEGERS[scheme.bits], 1 << (scheme.bits - 1), True
    codes = quantize_linear(
        x.view(fmt.dtype), factors, zero, axis=axis, block_size=block, output_dtype=to, packed=packs
    )
    packed = np.asarray(codes).view(np.uint8)
    if to == FLOAT4_E2M1FN:  # their sign is that of the quotient, which is 0 for −0
        clear_negative_zeros(packed, x, fmt)
    return packed.reshape(len(x), -1)


def code_format(scheme: Scheme) -> Format:
    """Return the format of the codes; those in words are integers of their number of bits."""
    return INTEGERS[scheme.bits][0] if scheme.packing is Packing.WORDS else scheme.codes


def _rounded(values: Any, fmt: Format) -> Array:
    """Return float32 values rounded to a format, as its codes."""
    return np.asarray(encode(values, fmt))


def _symmetric(x: Array, fmt: Format, scheme: Scheme) -> tuple[Array, Array]:
    """Return scales in the type of the weight, and codes; eps of the type stands for a scale of 0."""
    largest = float_magnitudes(x, fmt, scheme.grid)
    scales = _rounded(largest / np.float32(HALF_RANGES[code_format(scheme)]), fmt)
    scales[scales == 0] = _rounded(np.float32(2.0**-fmt.mantissa_bits), fmt)
    return scales, _codes(x, fmt, scales.view(fmt.dtype), scheme)


def _mx_scales(x: Array, fmt: Format, scheme: Scheme) -> Array:
    """Return exponents of scales that are powers of two.

    The exponent goes up from 1.75 times a power of two on, for FP8 elements too; a group of zeros has exponent code 0.
    """
    largest = group_magnitudes(x, fmt, scheme.grid).astype(np.int32)
    emax = int(np.floor(np.log2(scheme.codes.max)))
    exponents = (largest + (1 << (fmt.mantissa_bits - 2))) >> fmt.mantissa_bits
    exponents += 127 - emax - fmt.bias
    scales = np.clip(exponents, 0, 254, out=exponents).astype(np.uint8)
    scales[largest == 0] = 0
    return scales


def _nvfp4(x: Array, fmt: Format, scheme: Scheme, second: np.float32) -> tuple[Array, Array]:
    """Return scales in float8_e4m3fn, and codes of x over scale / second."""
    largest = float_magnitudes(x, fmt, scheme.grid)
    local = np.asarray(decode(_rounded(largest / np.float32(FLOAT4_E2M1FN.max), fmt), fmt, to=np.float32))
    with np.errstate(over="ignore"):
        scales = _rounded(second * local, FLOAT8_E4M3FN)
    scales[scales == 0] = _rounded(np.float32(SMALLEST_NVFP4_SCALE), FLOAT8_E4M3FN)
    factors = np.asarray(decode(scales, FLOAT8_E4M3FN, to=np.float32)) / second
    return scales, _codes(x, fmt, factors, scheme)


def rule(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of scales and codes; T is the type of the weight, T(…) rounds to it."""
    to = code_format(scheme)
    if scheme.global_scale is not GlobalScale.NONE:
        return (
            f"second = float32(T(T(1 / absmax of the tensors that are fused) * {LARGEST_NVFP4:g})), 1 where not finite",
            f"scale  = {scheme.scale.name}(T(absmax / {to.max:g}) * second), {SMALLEST_NVFP4_SCALE:g} where that is 0",
            f"code   = {to.name}(x / (scale / second)), in float32; -0 as 0",
            "value  = code * (scale / second)",
        )
    if scheme.scale == FLOAT8_E8M0FNU:
        emax = int(np.floor(np.log2(to.max)))
        return (
            f"scale  = 2^(e - {emax}): e is the exponent of absmax, one more from 1.75 * 2^e on; byte 0 for zeros",
            f"code   = {to.name}(x / scale)" + ("; -0 as 0" if to == FLOAT4_E2M1FN else ""),
            "value  = code * scale",
        )
    offset = f", stored as code + {1 << (scheme.bits - 1)}" if scheme.packing is Packing.WORDS else ""
    return (
        f"scale  = T(absmax / {HALF_RANGES[to]:g}), the eps of T where that is 0",
        f"code   = {to.name}(T(x / scale)), saturated{offset}",
        "value  = code * scale",
    )


TOOL = Tool("llm-compressor", quantize, global_scale, rule, takes_scale_rule=True)


def ignored(tensor: StoredTensor) -> str:
    """Return what the list of layers that are kept says of a tensor: of experts, an expression for all their layers."""
    module = experts_module_of(tensor)
    return f"re:{re.escape(module)}\\." if module else linear_module(tensor)
