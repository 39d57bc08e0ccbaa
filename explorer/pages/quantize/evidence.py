"""Evidence of Quantize: the rows of the conformance table for a setting; its codes compared with the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowprec import Format, reference
from lowprec.conformance.cast_check import CastCheck
from lowprec.reference.exact_cast import Value
from lowprec.reference.exact_quantize import quotient, rounded
from lowprec.spec.rounding_modes import STOCHASTIC, RoundingOptions, check_rounding

from ...shared import layout
from ...shared.evidence import Checked, Evidence, of_rounding, of_rule
from .settings import LINEAR, MX, Settings, axis_of
from .tensor import Tensor
from .view import Quantized, per_element

__all__ = ["MOST_CHECKED", "check_tensor", "of_setting", "show_evidence"]

Array = np.ndarray[Any, Any]

MOST_CHECKED = 4096
"""Elements of a check: exact arithmetic takes some of them a millisecond."""

_SHAPES = {"axis": "axis", "block": "block", "tensor": None}


def of_setting(quantized: Quantized) -> tuple[Evidence, ...]:
    """Return the evidence for the rules that quantize and dequantize a tensor, as far as the kept results have them."""
    settings = quantized.settings
    fmt = settings.fmt
    found: list[Evidence | None] = []
    if settings.scheme == MX:
        found.append(of_rule(f"scale {settings.scale_rule}", "scales"))
    if settings.scheme == LINEAR and fmt.onnx_enum is not None:
        found += [of_rule(name, "codes") for name in _quantize_rules(settings)]
    if settings.scheme != LINEAR or settings.rounding_arguments:
        found.append(of_rounding(fmt, settings.rounding, "elements"))
    if settings.scheme == LINEAR and fmt.onnx_enum is not None:
        found += [of_rule(name, "values") for name in _dequantize_rules(settings)]
    return tuple(row for row in found if row is not None)


def _quantize_rules(settings: Settings) -> list[str]:
    fmt = settings.fmt
    if fmt.is_integer:
        names = ["quantize even", "quantize clamp"]
    elif settings.rounding_arguments:
        names = []
    elif fmt.bits == 8:
        names = ["quantize float8 saturate" if settings.saturate else "quantize float8"]
    else:
        names = ["quantize small"]
    if not settings.scale_format.has_zero:
        names.append("quantize power")
    elif settings.scale_format.bits < 32:
        names.append("quantize precision")
    shape = _SHAPES[settings.granularity]
    return [*names, *([f"quantize {shape}"] if shape else [])]


def _dequantize_rules(settings: Settings) -> list[str]:
    names = ["dequantize codes"] if settings.fmt.bits <= 8 else []
    if not settings.scale_format.has_zero:
        names.append("dequantize power")
    elif settings.scale_format.bits < 32:
        names.append("dequantize narrow scale")
    shape = _SHAPES[settings.granularity]
    return [*names, *([f"dequantize {shape}"] if shape else [])]


def check_tensor(quantized: Quantized, source: Format) -> tuple[Checked, ...]:
    """Compare the codes of a tensor's elements, and of its scales in blocks, with exact arithmetic.

    Of a larger tensor than 4096 elements some are compared: by QuantizeLinear the first, in blocks whole rows of them.
    """
    settings = quantized.settings
    if settings.takes_rounding and settings.rounding in STOCHASTIC and _is_cut(quantized):
        why = f"random numbers are counted over the whole tensor: at most {MOST_CHECKED:,} elements are checked"
        return (Checked(settings.fmt, (), why),)
    if settings.scheme == LINEAR:
        return (_compared(source, settings.fmt, quantized.codes.reshape(-1)[:MOST_CHECKED], _linear(quantized)),)
    x, codes, scales, axis = _part(quantized)
    place: dict[str, Any] = {"axis": axis, "block_size": settings.block_size, **settings.rounding_arguments}
    if settings.scheme == MX:
        exact, exact_scales = reference.mx_blocks(x, settings.fmt, scale_rule=settings.scale_rule, **place)
    else:
        exact, exact_scales, _ = reference.nvfp4_blocks(x, global_scale=quantized.global_scale, **place)
    return (
        _compared(source, settings.fmt, codes, exact),
        _compared(source, settings.scale_format, scales, exact_scales, "scales"),
    )


def _compared(source: Format, target: Format, found: Array, exact: Array, remark: str = "") -> Checked:
    differ = int((found.astype(np.int64) != exact.astype(np.int64)).sum())
    return Checked(target, (CastCheck(source, target, found.size, differ, None),), remark=remark or "this tensor")


def _is_cut(quantized: Quantized) -> bool:
    return quantized.x.size > MOST_CHECKED


def _part(quantized: Quantized) -> tuple[Array, Array, Array, int]:
    """Return elements, their codes, the codes of their scales, and the axis: whole rows of blocks of a large tensor."""
    settings = quantized.settings
    axis = axis_of(settings, quantized.x.ndim)
    if not _is_cut(quantized):
        return quantized.x, quantized.codes, quantized.scale_codes, axis
    rows = [np.moveaxis(part, axis, -1) for part in (quantized.x, quantized.codes, quantized.scale_codes)]
    x, codes, scales = (part.reshape(-1, part.shape[-1]) for part in rows)
    count = max(1, MOST_CHECKED // x.shape[1])
    blocks = max(1, MOST_CHECKED // settings.block_size)
    length = min(x.shape[1], blocks * settings.block_size)
    return x[:count, :length], codes[:count, :length], scales[:count, :blocks], -1


def _linear(quantized: Quantized) -> Array:
    """Return the codes that QuantizeLinear gives the first elements, by the oracle."""
    settings = quantized.settings
    fmt, kept = settings.fmt, settings.scale_format
    x, scale = (part.reshape(-1)[:MOST_CHECKED].tolist() for part in (quantized.x, quantized.element_scale))
    zeros = [None] * len(x) if quantized.zero_point is None else _zero_points(quantized)
    precision = reference.precision_of(kept)
    if not settings.rounding_arguments:
        options: dict[str, Any] = {"precision": precision, "saturate": settings.saturate, "opset": settings.opset}
        triples = zip(x, scale, zeros, strict=True)
        return np.array([reference.quantize(one, by, zero, fmt, **options) for one, by, zero in triples])
    rules = check_rounding(RoundingOptions(settings.rounding), fmt, "fmt")
    is_random = settings.rounding in STOCHASTIC
    words = [
        reference.random_word(settings.rounding_seed, place, rules.random_bits) if is_random else None
        for place in range(len(x))
    ]
    quotients = (rounded(quotient(Value.of(one), Value.of(by)), precision) for one, by in zip(x, scale, strict=True))
    return np.array(
        [reference.encode_rounded(one, fmt, rules, word) for one, word in zip(quotients, words, strict=True)]
    )


def _zero_points(quantized: Quantized) -> list[int]:
    assert quantized.zero_point is not None
    zeros = per_element(quantized.zero_point, quantized.settings, quantized.x.shape).reshape(-1)[:MOST_CHECKED]
    return [int(zero) for zero in zeros]


_ABOUT = (
    f"Computes the codes of this tensor once more, in exact fractions; of a larger tensor those of at most "
    f"{MOST_CHECKED:,} elements."
)


def show_evidence(tensor: Tensor, quantized: Quantized) -> None:
    """Show which rules decide the codes of a tensor, and the button that checks them."""
    layout.evidence_section(
        lambda: of_setting(quantized), lambda: check_tensor(quantized, tensor.format), "what", _ABOUT
    )
