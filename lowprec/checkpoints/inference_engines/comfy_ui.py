"""ComfyUI: a description to each weight; FP8, MXFP8, NVFP4 with scales in tiles, and int8; comfy-kitchen's arithmetic.

A module's description is JSON in the tensor ``comfy_quant``, or in the file's metadata, which ComfyUI prefers. Files of
before November 2025 have none (see `deepseek_fp8`).

The results are those of comfy-kitchen 0.2.40 on a CPU, bit for bit, but for weights of which it makes NaN or infinities
(all of them 0, or tiny).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...ops.encode_pack import decode, encode
from ...ops.quantize_linear import quantize_linear
from ...spec.formats import (
    FLOAT4_E2M1FN,
    FLOAT8_E4M3FN,
    FLOAT8_E5M2,
    FLOAT8_E8M0FNU,
    FLOAT16,
    FLOAT32,
    INT8,
    UINT8,
    Format,
)
from ..containers.container import StoredTensor
from ..schemes.absmax import float_magnitudes, multiply, scales_by_rule
from ..schemes.packing import swap_nibbles, tiled_shape
from ..schemes.scale_grid import Grid
from ..schemes.scheme import GlobalScale, Packing, Scheme, Tool
from ..weights.engine_interface import CODES, GLOBAL_SCALE, SCALES, Output
from ..weights.quantized_weight import Source, Weight, fail, grid_of, scale_format, take
from ..weights.tensor_selection import module_of, why_no_matrix

__all__ = [
    "FP8_TOOL", "METHODS", "MXFP8_TOOL", "NAME", "NVFP4_TOOL", "alone", "describe", "find", "outputs", "why_kept",
    "why_unfit",
]  # fmt: skip

NAME = "ComfyUI"
METHODS: tuple[str, ...] = ()

DESCRIPTION = "comfy_quant"

LARGEST = 1 << 16
"""Descriptions have a few dozen bytes; one of more than so many is none."""

SCHEMES: Mapping[str, Scheme] = {
    str(FLOAT8_E4M3FN.torch_name): Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(0, 0)),
    str(FLOAT8_E5M2.torch_name): Scheme(FLOAT8_E5M2, Packing.NONE, FLOAT32, Grid(0, 0)),
    "int8_tensorwise": Scheme(INT8, Packing.NONE, FLOAT32, Grid(0, 0)),
    "mxfp8": Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT8_E8M0FNU, Grid(1, 32), tiles=True),
    "nvfp4": Scheme(FLOAT4_E2M1FN, Packing.HIGH_FIRST, FLOAT8_E4M3FN, Grid(1, 16), GlobalScale.FACTOR, tiles=True),
}
"""The formats of ComfyUI that are read; its others rotate the weight, or look values up in tables."""

TYPES: Mapping[Format, str] = {
    FLOAT8_E4M3FN: "F8_E4M3",
    FLOAT8_E5M2: "F8_E5M2",
    INT8: "I8",
    FLOAT4_E2M1FN: "U8",
}
"""The types of codes."""

SCALE_TYPES: Mapping[Format, tuple[str, ...]] = {
    FLOAT32: ("F32", "BF16", "F16"),
    FLOAT8_E8M0FNU: ("U8", "F8_E8M0"),
    FLOAT8_E4M3FN: ("F8_E4M3", "U8"),
}
"""The types of scales: ComfyUI casts wide ones to float32, and takes bytes for either of the narrow ones."""

Array = np.ndarray[Any, Any]

TOOL_NAME = "comfy-kitchen 0.2.40"

LARGEST_FP8 = 448.0

LARGEST_NVFP4 = 2688.0
"""The largest FP4 value times the largest scale in float8_e4m3fn."""

SMALLEST_NORMAL = np.float32(2.0**-126)

BLOCK = re.compile(r"(^|[._])(\w*blocks?|\w*layers?)\.\d+\.")
"""A block that is repeated: double_blocks.0, single_blocks.0 (Flux, Hunyuan), joint_blocks.0 (SD3), blocks.0 (Wan,
Cosmos), transformer_blocks.0 (Qwen-Image, LTX, SDXL), layers.0 (Z-Image, Lumina)."""

OTHER_MODELS = re.compile(r"^(cond_stage_model|conditioner|text_encoders?|first_stage_model|vae|audio_vae|vocoder)\.")
"""Text encoders and autoencoders in a file with a diffusion model."""

KEPT = (
    (
        re.compile(
            r"distilled_guidance_layer|(^|\.)(nerf_blocks|llm_adapter|face_adapter|face_encoder|motion_encoder|"
            r"audio_injector|casual_audio_encoder|cond_encoder|control_adapter|frame_packer)\.|connector\."
        ),
        "conditioning",
    ),
    (re.compile(r"norm|(^|[._])ln(_|\d|\.|$)"), "a norm"),
    (re.compile(r"embed|(^|[._])emb($|[._])|(^|[._])(img|txt|time|vector|guidance|vision)_in($|\.)"), "an embedding"),
    (re.compile(r"adaln", re.IGNORECASE), "modulation by the time step (adaLN)"),
    (re.compile(r"(^|\.)(first|final|last)_layer\."), "a first or last layer"),
    (re.compile(r"(^|[._])(gate|router|to_gate_logits)$"), "a gate"),
)
"""Parts of the names of modules that converters for ComfyUI keep, inside and around repeated blocks; what they are.

Other modulation in repeated blocks (``img_mod``, ``modulation``) they quantize: a quarter of the numbers of Flux.1, and
a third of Qwen-Image's.
"""


def find(source: Source) -> Iterator[Weight]:
    """Yield the weights of all modules that are described."""
    ends = f".{DESCRIPTION}"
    modules = {name.removesuffix(DESCRIPTION) for name in source.tensors if name.endswith(ends) or name == DESCRIPTION}
    for module in sorted(modules | {f"{name}." for name in source.layers}):
        codes = source.tensors.get(f"{module}weight")
        if codes is not None:
            yield _weight(source, codes, module, _description(source, module))


def _description(source: Source, module: str) -> Mapping[str, Any]:
    """Return the description of a module."""
    tensor = source.tensors.get(module + DESCRIPTION)
    fields = source.layers.get(module[:-1])
    if fields is None and tensor is not None:
        if tensor.type_name != "U8" or tensor.size > LARGEST:
            raise fail(tensor, f"must be JSON in U8; got {tensor.type_name} {list(tensor.shape)}")
        try:
            fields = json.loads(source.read(tensor).tobytes())
        except (ValueError, RecursionError):
            raise fail(tensor, "must be JSON; it is none") from None
    if not isinstance(fields, dict) or not isinstance(fields.get("format"), str):
        raise fail(tensor or source.tensors[f"{module}weight"], "must be described by a JSON object with a format")
    return fields


def _weight(source: Source, codes: StoredTensor, module: str, description: Mapping[str, Any]) -> Weight:
    """Return a weight, once its tensors are those of its format."""
    name = description["format"]
    params = description.get("params")
    rotated = description.get("convrot", params.get("convrot") if isinstance(params, dict) else None)
    if name not in SCHEMES or rotated:
        kind = f"{ascii(name)[1:-1][:40]}{', rotated (convrot)' * bool(rotated)}"
        raise fail(codes, f"has the format {kind}, which is not supported; only {', '.join(SCHEMES)} are")
    scheme = SCHEMES[name]
    if codes.type_name != TYPES[scheme.codes] or len(codes.shape) < 2 or (scheme.tiles and len(codes.shape) > 2):
        wanted = f"{TYPES[scheme.codes]} of two axes{' or more' * (not scheme.tiles)}"
        raise fail(codes, f"must be {wanted} in the format {name}; got {codes.type_name} {list(codes.shape)}")
    rotation = next(take(source, module, "pre_quant_scale"), None)
    if rotation is not None:
        raise fail(rotation, "is a scale of columns, which is not supported")
    scales = _scales(source, codes, module, scheme)
    *_, rows, columns = codes.shape
    columns *= 8 // scheme.codes.bits
    if scheme.tiles:
        _check_tiles(scales, rows, columns, scheme)
    else:
        scheme = _in_rows(scheme, codes, scales)
    second = source.tensors.get(f"{module}weight_scale_2")
    if (second is not None) != (scheme.global_scale is not GlobalScale.NONE):
        raise fail(second or codes, f"{'has no' if second is None else 'is a'} weight_scale_2 in the format {name}")
    padding = _padding(source, module, rows, scheme.grid.columns) if scheme.tiles else 0
    unused = (*take(source, module, DESCRIPTION, "input_scale"),)
    return Weight(
        codes.name,
        NAME,
        (*codes.shape[:-2], rows - padding, columns),
        scheme,
        codes,
        scales,
        second,
        unused=unused,
        padding=padding,
    )


def _scales(source: Source, codes: StoredTensor, module: str, scheme: Scheme) -> StoredTensor:
    """Return the scales of a weight."""
    scales = source.tensors.get(f"{module}weight_scale")
    if scales is None:
        raise fail(codes, "has no weight_scale")
    types = SCALE_TYPES[scheme.scale]
    if scales.type_name not in types:
        raise fail(scales, f"must be {' or '.join(types)}; got {scales.type_name}")
    return scales


def _in_rows(scheme: Scheme, codes: StoredTensor, scales: StoredTensor) -> Scheme:
    """Return a scheme with the scales that are there: one to a tensor, or to each of its rows or matrices."""
    grid = grid_of(codes.shape, scales)
    if grid.columns:
        raise fail(scales, f"must be one scale, or one to each row; got the shape {list(scales.shape)}")
    return replace(scheme, scale=scale_format(scales), grid=grid)


def _check_tiles(scales: StoredTensor, rows: int, columns: int, scheme: Scheme) -> None:
    """Raise FileError unless a weight is whole blocks, and its scales are whole tiles."""
    group = scheme.grid.columns
    shape = tiled_shape(rows, columns // group)
    if columns % group or scales.size != shape[0] * shape[1]:
        text = f"must be tiles {list(shape)}, a scale to {group} of {columns} columns"
        raise fail(scales, f"{text}; got the shape {list(scales.shape)}")


def _padding(source: Source, module: str, rows: int, multiple: int) -> int:
    """Return how many rows were added to make a multiple.

    ComfyUI has the shape of a weight from its model, which is not in the file; but a bias has one element to a row.
    """
    bias = source.tensors.get(f"{module}bias")
    return rows - bias.size if bias is not None and -(-bias.size // multiple) * multiple == rows else 0


def outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the tensors that a weight of two axes becomes; its description is all that ComfyUI needs to know."""
    (rows, columns), module = shape, name.removesuffix("weight")
    packed = scheme.packing is not Packing.NONE
    yield Output(CODES, name, UINT8 if packed else scheme.codes, (rows, scheme.row_bytes(columns)))
    if scheme.tiles:
        fmt = UINT8 if scheme.scale == FLOAT8_E8M0FNU else scheme.scale
        yield Output(SCALES, f"{module}weight_scale", fmt, tiled_shape(*scheme.grid.shape(rows, columns)))
    if not scheme.tiles:
        yield Output(GLOBAL_SCALE, f"{module}weight_scale", FLOAT32, ())
    elif scheme.global_scale is not GlobalScale.NONE:
        yield Output(GLOBAL_SCALE, f"{module}weight_scale_2", FLOAT32, ())
    fields = {"format": next(name for name, one in SCHEMES.items() if one == scheme)}
    content = json.dumps(fields).encode("ascii")
    yield Output("description", module + DESCRIPTION, UINT8, (len(content),), content)


def describe(scheme: Scheme, ignore: object) -> dict[str, object]:
    """Return nothing: there is no description of a whole model."""
    return {}


def fp8_scale(largest: float, fmt: Format) -> np.float32:
    """Return the scale of a tensor in FP8: its largest magnitude over 448, rounded to the type of the weight.

    Where the reciprocal is not finite in that type, ComfyUI takes that of its largest number for float16; a power of
    two stands for it in the other types.
    """
    scale = _rounded(largest / LARGEST_FP8, fmt)
    if np.isfinite(_reciprocal(scale, fmt)):
        return scale
    return np.float32(1) / np.float32(FLOAT16.max) if fmt == FLOAT16 else SMALLEST_NORMAL


def nvfp4_scale(largest: float, fmt: Format) -> np.float32:
    """Return the second scale of NVFP4: the largest magnitude over 2688, rounded to the type of the weight.

    Where that is 0, the quotient in float32 stands for it, or a power of two.
    """
    scale = np.float32(largest) / np.float32(LARGEST_NVFP4)
    return _rounded(scale, fmt) or scale or SMALLEST_NORMAL


def _rounded(value: float | np.float32, fmt: Format) -> np.float32:
    return np.float32(np.float32(value).astype(fmt.dtype))


def _reciprocal(scale: np.float32, fmt: Format) -> np.float32:
    with np.errstate(all="ignore"):
        return _rounded(np.float32(1) / scale, fmt)


def quantize_fp8(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None) -> tuple[Array, Array]:
    """Return the scale, once to each row, and codes of x times its reciprocal, both rounded to the type of x."""
    if second is None:
        raise ValueError("FP8 needs the scale of the whole tensor")
    factor = np.asarray(_reciprocal(second, fmt))
    if fmt == FLOAT32:
        codes = multiply(x, fmt, factor, scheme.codes)
    else:
        codes = np.asarray(encode(multiply(x, fmt, factor, fmt), scheme.codes, source=fmt))
    return np.full((len(x), 1), second).view(np.uint32), codes.view(np.uint8)


def quantize_mxfp8(
    x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None, *, scale_rule: str | None = None
) -> tuple[Array, Array]:
    """Return exponents, of the power of two from the largest magnitude over 448 on, and codes.

    The logarithm is rounded to float32 before it is rounded up. A block of zeros has exponent code 0. A `scale_rule`
    of `absmax_scale` stands for this one.
    """
    values = x.view(fmt.dtype)
    largest = float_magnitudes(x, fmt, scheme.grid)
    with np.errstate(divide="ignore"):
        logarithms = np.log2((largest / np.float32(LARGEST_FP8)).astype(np.float64)).astype(np.float32)
    scales = np.where(largest == 0, 0, np.clip(np.ceil(logarithms) + 127, 1, 254)).astype(np.uint8)
    scales = scales if scale_rule is None else scales_by_rule(x, fmt, scheme, scale_rule)
    codes = _codes(_without_zero_blocks(values, largest == 0), scales.view(FLOAT8_E8M0FNU.dtype), scheme)
    return scales, codes


def quantize_nvfp4(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None) -> tuple[Array, Array]:
    """Return scales in float8_e4m3fn, and codes of x over scale times second scale; 0 where that product is 0."""
    if second is None:
        raise ValueError("NVFP4 needs the second scale")
    largest = float_magnitudes(x, fmt, scheme.grid)
    with np.errstate(over="ignore"):
        local = np.minimum(largest / np.float32(FLOAT4_E2M1FN.max) / second, np.float32(LARGEST_FP8))
    scales = np.asarray(encode(local, FLOAT8_E4M3FN)).view(np.uint8)
    factors = second * np.asarray(decode(scales, FLOAT8_E4M3FN, to=np.float32))
    values = _without_zero_blocks(x.view(fmt.dtype), factors == 0)
    codes = _codes(values, np.where(factors == 0, np.float32(1), factors), scheme)
    return scales, swap_nibbles(codes)


def _without_zero_blocks(values: Array, zero: Array) -> Array:
    """Return rows with 0 where a block is to be all zeros: −0 would keep its sign."""
    if not zero.any():
        return values
    blocks = np.where(zero[:, :, np.newaxis], values.dtype.type(0), values.reshape(*zero.shape, -1))
    return np.asarray(blocks).reshape(values.shape)


def _codes(values: Array, scales: Array, scheme: Scheme) -> Array:
    """Return codes of values over the scales of their blocks, narrow ones two to a byte, the first one low."""
    packed = scheme.packing is not Packing.NONE
    codes = quantize_linear(
        values, scales, axis=1, block_size=scheme.grid.columns, output_dtype=scheme.codes, packed=packed
    )
    return np.asarray(codes).view(np.uint8).reshape(len(values), -1)


def rule_of_fp8(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of FP8; T is the type of the weight, T(…) rounds to it."""
    return (
        f"scale  = T(absmax of the tensor / {LARGEST_FP8:g})",
        f"code   = {scheme.codes.name}(T(x * T(1 / scale)))",
        "value  = code * scale",
    )


def rule_of_mxfp8(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of MXFP8."""
    return (
        f"scale  = 2^ceil(log2(absmax / {LARGEST_FP8:g})), byte 0 for zeros",
        f"code   = {scheme.codes.name}(x / scale)",
        "value  = code * scale",
    )


def rule_of_nvfp4(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of NVFP4; T is the type of the weight, T(…) rounds to it."""
    return (
        f"second = T(absmax of the tensor / {LARGEST_NVFP4:g})",
        f"scale  = {scheme.scale.name}(absmax / {scheme.codes.max:g} / second), in float32",
        f"code   = {scheme.codes.name}(x / (scale * second)), 0 where that scale is 0",
        "value  = code * (scale * second)",
    )


FP8_TOOL = Tool(TOOL_NAME, quantize_fp8, fp8_scale, rule_of_fp8)
MXFP8_TOOL = Tool(TOOL_NAME, quantize_mxfp8, rule=rule_of_mxfp8, takes_scale_rule=True)
NVFP4_TOOL = Tool(TOOL_NAME, quantize_nvfp4, nvfp4_scale, rule_of_nvfp4)


def why_unfit(multiple: int, tensor: StoredTensor) -> str:
    """Return why a tensor is no weight that ComfyUI would store without padding, or nothing.

    ComfyUI pads rows to a multiple, and has the true shape from its model; a file with padded rows says nothing of it.
    """
    rows = tensor.shape[0] if tensor.shape else 0
    return why_no_matrix(tensor) or (f"its rows are not a multiple of {multiple}" if rows % multiple else "")


def why_kept(tensor: StoredTensor) -> str:
    """Return why a weight is not quantized for its name, or nothing."""
    if OTHER_MODELS.search(tensor.name):
        return "part of a text encoder or an autoencoder"
    if not BLOCK.search(tensor.name):
        return "not in a numbered block"
    module = module_of(tensor.name)
    return next((what for pattern, what in KEPT if pattern.search(module)), "")


def alone(name: str) -> str:
    """Return nothing: every weight has a second scale of its own."""
    return ""
