"""MXFP4 as gpt-oss stores it, 32 FP4 codes and one E8M0 scale to a group; the arithmetic of triton_kernels.

`downcast_to_mxfp_torch` with ROUND_UP, computed in float32: a scale is the largest magnitude over the largest code,
rounded up to a power of two, so that no number is beyond the codes. The scale of a group of zeros has the code 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..._float_mode import default_mode
from ...ops.quantize_linear import quantize_linear
from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E8M0FNU, UINT8, Format
from ..schemes.absmax import float_magnitudes, scales_by_rule
from ..schemes.scale_grid import Grid
from ..schemes.scheme import Packing, Scheme, Tool
from ..weights.engine_interface import CODES, SCALES, Output
from ..weights.quantized_weight import Source, Weight, fail, split

__all__ = ["METHODS", "NAME", "TOOL", "describe", "find", "outputs"]

NAME = "gpt-oss MXFP4"
METHODS = ("mxfp4",)

GROUP = 32

KEPT = ("model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head")
"""What the published models say that they keep."""

Array = np.ndarray[Any, Any]

_FRACTION_BITS = 23


def find(source: Source) -> Iterator[Weight]:
    """Yield ``*_blocks`` with ``*_scales`` of Hugging Face's files, and ``*.blocks`` with ``*.scales`` of OpenAI's.

    In Hugging Face's model without quantization the last two axes are exchanged; in OpenAI's they are not.
    """
    for codes in list(source.tensors.values()):
        module, last = split(codes.name)
        if last != "blocks" and not last.endswith("_blocks"):
            continue
        scales = source.tensors.get(module + last.removesuffix("blocks") + "scales")
        if scales is None or codes.type_name != "U8" or len(codes.shape) < 3 or codes.shape[-1] != GROUP // 2:
            continue
        if scales.type_name not in ("U8", "F8_E8M0") or scales.shape != codes.shape[:-1]:
            raise fail(scales, f"must be U8 {list(codes.shape[:-1])}; got {scales.type_name} {list(scales.shape)}")
        hugging_face = last != "blocks"
        name = module + last.removesuffix("_blocks") if hugging_face else module[:-1]
        shape = (*codes.shape[:-2], codes.shape[-2] * GROUP)
        scheme = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E8M0FNU, Grid(1, GROUP))
        yield Weight(name, NAME, shape, scheme, codes, scales, transposed=hugging_face and len(shape) == 3)


def outputs(name: str, shape: tuple[int, ...], scheme: Scheme) -> Iterator[Output]:
    """Yield the codes, in bytes of two, and the exponents of the scales; `shape` is experts, rows, columns."""
    group = scheme.grid.columns
    *rows, columns = shape
    yield Output(CODES, f"{name}_blocks", UINT8, (*rows, columns // group, scheme.row_bytes(group)))
    yield Output(SCALES, f"{name}_scales", UINT8, (*rows, columns // group))


def describe(scheme: Scheme, ignore: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the entry ``quantization_config`` of config.json: experts that are kept come after what always is."""
    kept = [*KEPT, *(module for module in ignore if module.endswith(".experts"))]
    return {"quantization_config": {"modules_to_not_convert": kept, "quant_method": "mxfp4"}}


@default_mode
def quantize(
    x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None, *, scale_rule: str | None = None
) -> tuple[Array, Array]:
    """Return exponents of scales, and codes, two to a byte.

    Numbers that are rounded to 0 keep their signs, as does −0.

    Parameters
    ----------
    x : numpy.ndarray
        Rows of a weight as unsigned codes of `fmt`, of whole groups.
    fmt : Format
        bfloat16, float16 or float32.
    scheme : Scheme
        How they are to be stored.
    second : None
        There is no second scale.
    scale_rule : str, optional
        The rule of `absmax_scale` for scales that are powers of two; None for the tool's own.

    Returns
    -------
    scales, codes : numpy.ndarray
        Codes of float8_e8m0fnu, a row and a column to each group; rows of bytes.

    Raises
    ------
    NotFiniteError
        If an element is a NaN or an infinity.
    """
    group = scheme.grid.columns
    scales = _scales(x, fmt, scheme) if scale_rule is None else scales_by_rule(x, fmt, scheme, scale_rule)
    # A scale of code 0 is a power of two here, and a factor of 0 in the tool: its group is rounded to 0 by both.
    factors, to = scales.view(scheme.scale.dtype), scheme.codes
    codes = quantize_linear(x.view(fmt.dtype), factors, axis=1, block_size=group, output_dtype=to, packed=True)
    return scales, np.asarray(codes).reshape(len(x), -1)


def _scales(x: Array, fmt: Format, scheme: Scheme) -> Array:
    ratio = (float_magnitudes(x, fmt, scheme.grid) / np.float32(scheme.codes.max)).view(np.uint32)
    return ((ratio + np.uint32((1 << _FRACTION_BITS) - 1)) >> _FRACTION_BITS).astype(np.uint8)


def rule(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of scales and codes."""
    return (
        f"scale  = absmax / {scheme.codes.max:g}, in float32, rounded up to a power of two; byte 0 for zeros",
        f"code   = {scheme.codes.name}(x / scale)",
        "value  = code * scale",
    )


TOOL = Tool("triton_kernels", quantize, rule=rule, takes_scale_rule=True)
