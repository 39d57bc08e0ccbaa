"""The compiled loops of a quantization: their names, in order, and their numbers."""

from __future__ import annotations

import math
import struct

from ..plans.plan import Plan, Rule, Scaling
from ..spec.formats import Format
from .cast_loops import Loops, decode_loops, encode_loops, float32_loops, is_upper_half

__all__ = ["quantize_loops"]


def _grid(precision: Format) -> Loops:
    """Loop that rounds float32 bits to a 16-bit precision, and its numbers; none where there is nothing to round."""
    if precision.bits >= 32:
        return [], {}
    if is_upper_half(precision):
        return ["round_to_upper16"], {}

    def bits(value: float) -> int:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])

    return ["round_to_precision"], {
        "precision_clamp": bits(math.ldexp(1.0, precision.emax + 1)),
        "precision_smallest_normal": bits(precision.smallest_normal),
        "precision_rounder_offset": (23 - precision.mantissa_bits) << 23,
        "precision_largest": bits(float(precision.max)),
    }


def _quantize(plan: Plan, scaling: Scaling) -> Loops:
    source, target, precision = plan.source, plan.target, scaling.precision
    wide = precision.bits == 64
    grid, numbers = _grid(precision)
    names, more = (decode_loops if wide or grid else float32_loops)(source)
    numbers = numbers | more
    if source.is_integer and grid and not wide:
        names = [*names, "float64_to_float32_odd"]
    elif wide and not source.is_integer and source.bits < 64:
        names = [*names, "float32_to_float64"]
    if source != precision:
        names = names + grid
    if target.is_integer:
        numbers = numbers | {"code_min": int(target.min), "code_max": int(target.max)}
        if grid:
            return [*names, "divide", *grid, f"round_saturate{target.storage_bits}"], numbers
        return [*names, f"quantize{64 if wide else 32}_to{target.storage_bits}"], numbers
    names = [*names, "divide64" if wide else "divide", *grid]
    if scaling.zero_point is not None:
        names, wide = [*names, *(["float64_to_float32"] if wide else []), "add_zero_point"], False
    last, more = encode_loops(scaling.last, wide)
    if names[-1] == "divide" and last == ["encode8"]:
        names, last = names[:-1], ["divide_encode8"]
    return names + last, numbers | more


def _dequantize(plan: Plan, scaling: Scaling) -> Loops:
    names, numbers = float32_loops(plan.source)
    last, more = encode_loops(scaling.last, wide=False)
    return [*names, "dequantize", *last], numbers | more


def quantize_loops(plan: Plan, scaling: Scaling) -> Loops:
    """Return the loops of a plan with scales, and their numbers."""
    return (_quantize if plan.rule is Rule.QUANTIZE else _dequantize)(plan, scaling)
