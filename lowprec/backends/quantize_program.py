"""From the plan of a quantization to the compiled loops that carry it out."""

from __future__ import annotations

import math
import struct

from .. import _kernels
from ..plans.quantize import QUANTIZE, LinearPlan
from ..spec.float_mode import default_mode
from ..spec.formats import Format
from .program import compose, encode_stages, integer_numbers, is_upper_half, load_stages, single_stages

__all__ = ["make_linear_program"]


def _grid(precision: Format) -> tuple[list[str], dict[str, int]]:
    """Loop that rounds float32 bits to a 16-bit precision, and its numbers; none where there is nothing to round."""
    if precision.bits >= 32:
        return [], {}
    if is_upper_half(precision):
        return ["grid_upper"], {}

    def bits(value: float) -> int:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])

    return ["grid"], {
        "grid_clamp": bits(math.ldexp(1.0, precision.emax + 1)),
        "grid_floor": bits(precision.smallest_normal),
        "grid_magic": (23 - precision.mantissa_bits) << 23,
        "grid_last": bits(float(precision.max)),
    }


def _quantize(plan: LinearPlan) -> tuple[list[str], dict[str, int]]:
    source, target, precision = plan.source, plan.target, plan.precision
    wide = precision.bits == 64
    grid, numbers = _grid(precision)
    names, more = (load_stages if wide or grid else single_stages)(source)
    numbers = numbers | more
    if source.is_integer and grid and not wide:
        names = [*names, "narrow_odd"]
    elif wide and not source.is_integer:
        names = [*names, "widen"]
    if source != precision:
        names = names + grid
    if target.is_integer:
        numbers = numbers | {"low": int(target.min), "high": int(target.max)}
        if grid:
            return [*names, "divide", *grid, f"place{target.storage_bits}"], numbers
        return [*names, f"quantize_wide{target.storage_bits}" if wide else f"quantize{target.storage_bits}"], numbers
    names = [*names, "divide_wide" if wide else "divide", *grid]
    if plan.zero_point is not None:
        names, wide = [*names, *(["narrow"] if wide else []), "shift"], False
    last, more = encode_stages(plan.last, wide)
    if names[-1] == "divide" and last == ["encode8"]:
        names, last = names[:-1], ["divide_encode8"]
    return names + last, numbers | more


def _dequantize(plan: LinearPlan) -> tuple[list[str], dict[str, int]]:
    names, numbers = single_stages(plan.source)
    last, more = encode_stages(plan.last, wide=False)
    return [*names, "multiply", *last], numbers | more


@default_mode
def make_linear_program(plan: LinearPlan, *, extend: bool = False, swap: bool = False, swap_out: bool = False,
                        packed: bool = False, unpacked: bool = False) -> _kernels.Program:  # fmt: skip
    """Compose the loops of one quantization; the options are those of `stages.make_program`."""
    source, target = plan.source, plan.target
    names, numbers = (_quantize if plan.operator == QUANTIZE else _dequantize)(plan)
    numbers = integer_numbers(source, target, extend, source.code_mask) | numbers
    return compose(
        names, numbers, source, target, swap=swap, swap_out=swap_out, packed=packed, unpacked=unpacked
    )  # fmt: skip
