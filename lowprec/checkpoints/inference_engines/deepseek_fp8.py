"""FP8 with factors: DeepSeek's blocks with the arithmetic of DeepGEMM, and what Qwen, Mistral and older ComfyUI store.

`per_block_cast_to_fp8`, as its releases of 2025 have it: a scale is the largest magnitude over the largest code, and
a code is the product of the number with the inverse of that ratio, not a quotient. torch, which the tool runs in,
computes that inverse as a reciprocal times the largest code and rounds both. Scales that are powers of two (ue8m0)
are the ratio rounded up; their reciprocals are exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..._float_mode import default_mode
from ...spec.formats import FLOAT4_E2M1FN, Format
from ..containers.container import StoredTensor
from ..schemes.absmax import float_magnitudes, multiply
from ..schemes.scale_grid import Grid
from ..schemes.scheme import Packing, Scheme, Tool
from ..weights.engine_interface import CODES, SCALES, Output, described_block, wrong_value
from ..weights.quantized_weight import Source, Weight, fail, grid_of, scale_format, shape_of_pairs, split, take
from ..weights.tensor_selection import FORMATS, module_of, why_no_experts, why_no_matrix, why_not_linear

__all__ = ["LAYOUT", "METHODS", "NAME", "TOOL", "describe", "find", "outputs", "why_kept", "why_unfit"]

NAME = "FP8"
METHODS = ("fp8", "fbgemm_fp8")

SCALE_NAMES = ("*_scale_inv", "*_scales_inv", "*_scale")
"""Names of scales in the module of the codes; ``*`` is the name of the codes."""

SCALES_OF_WEIGHT = ("scale", "scale_weight", "qscale_weight")
"""The same where the codes are named ``weight``."""

UNUSED = ("input_scale", "scale_input", "qscale_act", "activation_scale")

MARK = "scaled_fp8"
"""ComfyUI's mark, in a module around all that has scales."""

MX_GROUP = 32

LAYOUT = "FP8 of DeepSeek"

Array = np.ndarray[Any, Any]

SMALLEST = np.float32(1e-4)
"""What stands for a largest magnitude that is smaller, zero among them."""

_FRACTION_BITS = 23

KEPT = re.compile(r"\.(eh_proj|weights_proj)$")
"""Linear layers that DeepSeek keeps: of the layer that predicts further tokens, of the indexer of sparse attention."""


def _marks(source: Source, module: str) -> Iterator[StoredTensor]:
    """Yield the marks in a module and those around it."""
    yield from take(source, module, MARK)
    while module:
        module, _ = split(module[:-1])
        yield from take(source, module, MARK)


def find(source: Source) -> Iterator[Weight]:
    """Yield codes with a tensor of factors; DeepSeek V4's experts are FP4 in I8.

    Scales are factors, whatever their names say.
    """
    for codes in list(source.tensors.values()):
        module, last = split(codes.name)
        names = (*(one.replace("*", last) for one in SCALE_NAMES), *(SCALES_OF_WEIGHT if last == "weight" else ()))
        scales = next(take(source, module, *names), None)
        if scales is None or codes.fmt is None or codes.fortran:
            continue
        unused = (*take(source, module, *UNUSED), *_marks(source, module))
        if codes.fmt.is_float and codes.fmt.bits == 8 and codes.fmt.signed and len(codes.shape) > 1:
            if scales.name == codes.name + "_scale" and not source.description:
                continue  # lowprec's own files have this name too, for other axes as well
            grid = grid_of(codes.shape, scales, described_block(source.description, "weight_block_size"))
            powers = _says_powers(source.description)
            scheme = Scheme(codes.fmt, Packing.NONE, scale_format(scales), grid, powers_of_two=powers)
            yield Weight(codes.name, NAME, codes.shape, scheme, codes, scales, unused=unused)
        elif codes.type_name == "I8" and scales.type_name == "F8_E8M0" and len(codes.shape) > 1:
            shape = shape_of_pairs(codes)
            if scales.shape != (*shape[:-1], -(-shape[-1] // MX_GROUP)):
                raise fail(
                    scales, f"must have a scale to {MX_GROUP} FP4 codes of {list(shape)}; got {list(scales.shape)}"
                )
            scheme = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, scale_format(scales), Grid(1, MX_GROUP))
            yield Weight(codes.name, NAME, shape, scheme, codes, scales, unused=unused)


def _says_powers(description: Mapping[str, Any]) -> bool:
    """Whether a configuration says that all scales are powers of two."""
    said = description.get("scale_fmt")
    if said is not None and not isinstance(said, str):
        raise wrong_value("scale_fmt", "a text", said)
    return said == "ue8m0"


def outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the codes and the scales of a weight, or of those of all experts.

    Scales are factors, although their name says that they are inverse.
    """
    *experts, rows, columns = shape
    yield Output(CODES, name, scheme.codes, shape)
    yield Output(SCALES, f"{name}_scale_inv", scheme.scale, (*experts, *scheme.grid.shape(rows, columns)))


def describe(scale_format: str, scheme: Scheme, ignore: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the entry ``quantization_config`` of config.json.

    Parameters
    ----------
    scale_format : str
        What ``scale_fmt`` says: "ue8m0" for scales that are powers of two; nothing where there is no such entry.
    scheme : Scheme
        How the weights are stored.
    ignore : sequence of str
        The modules that are kept. vLLM and SGLang read this entry too, where there is no ``ignored_layers``.
    """
    configuration = {
        "activation_scheme": "dynamic",
        "fmt": "e4m3",
        "modules_to_not_convert": list(ignore),
        "quant_method": "fp8",
        **({"scale_fmt": scale_format} if scale_format else {}),
        "weight_block_size": [scheme.grid.rows, scheme.grid.columns],
    }
    return {"quantization_config": configuration}


@default_mode
def quantize(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None) -> tuple[Array, Array]:
    """Return scales in float32, and codes.

    Parameters
    ----------
    x : numpy.ndarray
        Rows of a weight as unsigned codes of `fmt`, whole blocks of rows but for the last.
    fmt : Format
        bfloat16, float16 or float32.
    scheme : Scheme
        How they are to be stored.
    second : None
        There is no second scale.

    Returns
    -------
    scales, codes : numpy.ndarray
        Unsigned codes of float32, a row and a column to each block; rows of bytes.

    Raises
    ------
    NotFiniteError
        If an element is a NaN or an infinity.
    """
    largest, top = _largest(x, fmt, scheme.grid), np.float32(scheme.codes.max)
    return (largest / top).view(np.uint32), _products(x, fmt, np.reciprocal(largest) * top, scheme)


@default_mode
def quantize_by_powers(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None) -> tuple[Array, Array]:
    """Return scales in float32 that are powers of two, and codes, as `quantize` takes and returns them."""
    ratio = (_largest(x, fmt, scheme.grid) / np.float32(scheme.codes.max)).view(np.uint32)
    scales = (ratio + np.uint32((1 << _FRACTION_BITS) - 1)) & np.uint32(0xFF << _FRACTION_BITS)
    return scales, _products(x, fmt, np.reciprocal(scales.view(np.float32)), scheme)


def _largest(x: Array, fmt: Format, grid: Grid) -> Array:
    clamped: Array = np.maximum(float_magnitudes(x, fmt, grid), SMALLEST)
    return clamped


def _products(x: Array, fmt: Format, factors: Array, scheme: Scheme) -> Array:
    """Return codes of the products with the factors, a row and a column of which each block has."""
    factors = np.repeat(factors, scheme.grid.rows, axis=0)[: len(x)]
    return multiply(x, fmt, factors, scheme.codes, scheme.grid.columns)


def rule(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of scales and codes."""
    top, to = scheme.codes.max, scheme.codes.name
    return (
        f"scale  = absmax / {top:g}, in float32; absmax is at least {SMALLEST:g}",
        f"code   = {to}(x * ({top:g} / absmax)); the factor is 1 / absmax times {top:g}, both rounded to float32",
        "value  = code * scale",
    )


def rule_of_powers(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of scales that are powers of two, and of codes."""
    return (
        f"scale  = absmax / {scheme.codes.max:g}, rounded up to a power of two; absmax is at least {SMALLEST:g}",
        f"code   = {scheme.codes.name}(x * (1 / scale)), in float32",
        "value  = code * scale",
    )


TOOL = Tool("DeepGEMM", quantize, rule=rule)
UE8M0_TOOL = Tool("DeepGEMM, ue8m0", quantize_by_powers, rule=rule_of_powers)


def why_unfit(tensor: StoredTensor) -> str:
    """Return why a tensor is neither a matrix nor the weights of all experts of a layer, or nothing."""
    if why_no_matrix(tensor) and why_no_experts(tensor):
        return f"no .weight of two axes, or of experts in three, in {', '.join(fmt.name for fmt in FORMATS)}"
    return ""


def why_kept(tensor: StoredTensor) -> str:
    """Return why a name is not that of a layer which DeepSeek quantizes, or nothing."""
    return why_not_linear(tensor) or ("engines keep it" if KEPT.search(module_of(tensor.name)) else "")
