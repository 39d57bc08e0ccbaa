"""Which compiled kernels carry out a plan, in order."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from .. import _kernels
from .._float_mode import default_mode
from ..plans.plan import Method, Plan, Scaling
from ..spec.formats import Format, Kind, NaNRule
from ..spec.memo import CACHED
from ..spec.rounding_modes import Rounding
from .kernel_parameters import (
    DOUBLE,
    FINE_FRACTION,
    FLOAT32_BIAS,
    FLOAT32_MANTISSA,
    SINGLE,
    WHOLE_FRACTION,
    decode_numbers,
    encode_numbers,
    increments,
    lifted_numbers,
    power_numbers,
    precision_numbers,
    rounding_numbers,
)

__all__ = ["make_program", "rounding_loops"]


Loops = tuple[list[str], dict[str, int]]


def _fits_float32(target: Format, bits: int) -> bool:
    """Whether a number made of a float32 has the fraction that a rule asks for, a sticky bit included."""
    keep = SINGLE.mantissa - target.mantissa_bits
    if not target.has_zero or target.bits > 16:
        return False
    if target.emin == 1 - SINGLE.bias:  # float32's own subnormals: nothing is lost
        return keep > 0
    scales_exactly = 0 <= SINGLE.mantissa - target.emin <= SINGLE.bias  # to a fixed-point number, by a float32
    return keep >= bits + 2 and scales_exactly


def _fits_fine_float32(target: Format, rounding: Rounding) -> bool:
    """Whether random bits fit where a fraction is a number of its own, of 33 bits and a sticky one."""
    if not target.has_zero or target.bits > 16 or (rounding.mode, rounding.random_bits) == ("stochastic_c", 32):
        return False
    scales_exactly = SINGLE.mantissa - target.emin <= SINGLE.bias and target.emin <= target.mantissa_bits
    return rounding.random_bits > 0 and scales_exactly


def exact_loops(plan: Plan) -> Loops | None:
    """Return the loop from 64-bit integers to a target for which float64 has too few bits; None elsewhere."""
    assert plan.rounding is not None
    source, target = plan.source, plan.target
    if not (source.is_integer and source.bits == 64) or target.mantissa_bits + plan.rounding.random_bits + 2 <= 52:
        return None
    kind = "int" if source.signed else "uint"
    return [f"exact_{kind}64_to{target.storage_bits}"], rounding_numbers(plan, DOUBLE, WHOLE_FRACTION)


def power_loops(plan: Plan, wide: bool) -> Loops:
    """Loops to powers of two by a round_mode, for exponents that float32's are not: the range is tested before."""
    mode = {"up": "away_from_zero", "down": "toward_zero", "nearest": "nearest_away"}[plan.round_mode]
    target = plan.target
    rounded = replace(plan, method=Method.ROUND, rounding=Rounding(mode, "", ""))
    numbers = rounding_numbers(rounded, DOUBLE, DOUBLE.mantissa) | {
        "round_smallest_normal": DOUBLE.word(target.smallest_normal),
        "round_last": DOUBLE.word(float(target.max)),
    }
    return [*([] if wide else ["float32_to_float64"]), f"round64_to{target.storage_bits}"], numbers


def rounding_loops(plan: Plan, wide: bool) -> Loops:
    """Loops from a value, float32 bits or `wide` float64, to the codes of a float target, by the rules of the plan."""
    target = plan.target
    assert plan.rounding is not None
    bits, width = plan.rounding.random_bits, target.storage_bits
    name = "stochastic" if bits else "round"
    keep, left = (hub.mantissa - target.mantissa_bits for hub in (DOUBLE, SINGLE))
    # Narrowed to odd, numbers beyond float32 are its largest: a target may have it as a value, or round it to one.
    fits = _fits_float32(target, bits)
    if wide and fits and (bits or plan.rounding.mode == "to_odd"):
        fits = left >= bits + 2 and target.magnitude(target.max_code + 1) < 2.0**128
    if fits:
        names = ["float64_to_float32_odd"] if wide else []
        return [*names, f"{name}32_to{width}"], rounding_numbers(plan, SINGLE, left)
    if not wide and _fits_fine_float32(target, plan.rounding):
        return [f"{name}_fine32_to{width}"], {
            **rounding_numbers(plan, SINGLE, left),
            **increments(plan.rounding, FINE_FRACTION, target.has_zero),
            "round_keep": left,
            "round_factor": SINGLE.word(math.ldexp(1.0, target.mantissa_bits - target.emin)),
        }
    names = [] if wide else ["float32_to_float64"]
    if keep == 0:  # nothing is to be rounded
        exact = plan.rounding._replace(mode="toward_zero", random_bits=0)
        return [*names, f"round64_to{width}"], rounding_numbers(replace(plan, rounding=exact), DOUBLE, keep)
    if wide and keep < bits + 2:
        return ["exact_float64_to32"], rounding_numbers(plan, DOUBLE, WHOLE_FRACTION)
    return [*names, f"{name}64_to{width}"], rounding_numbers(plan, DOUBLE, keep)


def decode_loops(fmt: Format) -> Loops:
    """Loops from a code to its value: float32 bits, or float64 for what float32 cannot hold."""
    if fmt.kind is Kind.BOOL:
        return ["nonzero8", "integer8_to_float32"], {"source_mask": 0xFF, "source_sign": 0}
    if fmt.is_integer:
        if fmt.bits <= 16:
            return [f"integer{fmt.storage_bits}_to_float32"], {}
        return [f"{_integer_name(fmt)}_to_float64"], {}
    if fmt.storage_bits >= 32:
        return [], {}
    if fmt.emin < 1 - FLOAT32_BIAS:
        if _is_power(fmt):
            return ["decode_power8"], {}
        return [f"decode_lifted{fmt.storage_bits}"], lifted_numbers(fmt)
    if is_upper_half(fmt):
        return ["decode_upper16"], {}
    family = "_half" if _is_half(fmt) else _family(fmt)
    return [f"decode{family}{fmt.storage_bits}"], decode_numbers(fmt)


def _family(fmt: Format) -> str:
    """Return which loops decode a float: those for Inf and a range of NaN codes, or those for one NaN at most."""
    return "_ieee" if fmt.has_inf or fmt.nan_count > 1 else ""


def _integer_name(fmt: Format) -> str:
    return f"{'int' if fmt.signed else 'uint'}{fmt.bits}"


def float32_loops(fmt: Format) -> Loops:
    """Loops from a code to float32: of a wide integer the nearest."""
    return ([f"{_integer_name(fmt)}_to_float32"], {}) if fmt.is_integer and fmt.bits >= 32 else decode_loops(fmt)


def is_upper_half(fmt: Format) -> bool:
    """Whether a code is the upper half of a float32."""
    return _is_ieee(fmt, 8, 7, FLOAT32_BIAS)


def _is_half(fmt: Format) -> bool:
    """Whether a code is what the machines that convert 16-bit floats take it for: IEEE's, bias and all."""
    return _is_ieee(fmt, 5, 10, 15)


def _is_power(fmt: Format) -> bool:
    """Whether a code is the exponent field of a float32."""
    fields = (fmt.has_zero, fmt.exponent_bits, fmt.bias, fmt.has_inf, fmt.nan)
    return fields == (False, 8, FLOAT32_BIAS, False, NaNRule.ALL_ONES)


def _is_ieee(fmt: Format, exponent_bits: int, mantissa_bits: int, bias: int) -> bool:
    fields = (fmt.exponent_bits, fmt.mantissa_bits, fmt.bias, fmt.has_inf, fmt.nan)
    return fields == (exponent_bits, mantissa_bits, bias, True, NaNRule.IEEE)


def _is_wide(fmt: Format) -> bool:
    """Whether values of the format travel as float64."""
    return fmt.bits >= 32 and not (fmt.is_float and fmt.bits == 32)


def _half_scale(fmt: Format) -> int | None:
    """Return the scale at which a 16-bit code, shifted to bit 30, is a float32: 0 or -112; None for other layouts."""
    if is_upper_half(fmt):
        return 0
    return fmt.bias - FLOAT32_BIAS if _is_ieee(fmt, 5, 10, fmt.bias) else None


def _direct(plan: Plan) -> Loops | None:
    """Return the one loop between 8 and 16 bits that needs no float32 between, where there is one for the pair."""
    source, target = plan.source, plan.target
    narrow, half = (source, target) if source.bits <= 8 else (target, source)
    scale = _half_scale(half)
    if scale is None or not narrow.is_float or narrow.bits > 8 or not narrow.has_zero:
        return None
    if narrow.emin + scale < 1 - FLOAT32_BIAS:  # its smallest normal value would be a subnormal float32
        return None
    if narrow.max > half.max or narrow.mantissa_bits > half.mantissa_bits:  # Inf must lie above, every value fit
        return None
    lift = FLOAT32_MANTISSA - half.mantissa_bits
    if target == narrow:
        infinity = half.exponent_mask << lift
        return ["encode8_from16"], encode_numbers(plan, scale, infinity) | {"code16_shift": lift}
    specials = {"inf_bits": half.exponent_mask << lift, "nan_bits": (half.nan_code or 0) << lift}
    sign = {"sign_shift": 16 + lift - narrow.bits, "code16_shift": lift}
    return [f"decode{_family(narrow)}8_to16"], decode_numbers(narrow, scale) | specials | sign


def _rounded(plan: Plan) -> Loops:
    source = plan.source
    exact = exact_loops(plan)
    if exact is not None:
        return exact
    names, numbers = decode_loops(source)
    if source.is_integer and source.bits == 64:
        names = [f"{name}_odd" for name in names]
    last, more = rounding_loops(plan, _is_wide(source))
    return names + last, numbers | more


def _to_float(plan: Plan) -> Loops:
    source = plan.source
    direct = _direct(plan) if source.is_float else None
    if direct is not None:
        return direct
    if _is_wide(source) and source.is_integer and plan.target.bits == 32:
        return float32_loops(source)
    names, numbers = decode_loops(source)
    wide = _is_wide(source)
    if wide and source.bits == 64 and source.is_integer and plan.target.bits < 64:
        names = [f"{name}_odd" for name in names]
    last, more = encode_loops(plan, wide)
    return names + last, numbers | more


def encode_loops(plan: Plan, wide: bool) -> Loops:
    """Loops from a value, float32 bits or `wide` float64, to the codes of a float target."""
    target = plan.target
    if plan.method is Method.ROUND:
        return rounding_loops(plan, wide)
    if target.bits >= 32:
        return ([] if wide == (target.bits == 64) else ["float64_to_float32" if wide else "float32_to_float64"]), {}
    if plan.method is Method.POWER and not _is_power(target):
        return power_loops(plan, wide)
    names = []
    if wide:
        reaches_less = target.emin - target.mantissa_bits > 2 - FLOAT32_BIAS and target.emax < FLOAT32_BIAS
        same = plan.limits.overflow == plan.limits.infinity and plan.method is Method.NEAREST_EVEN
        names = ["float64_to_float32_sticky" if reaches_less and same else "float64_to_float32_odd"]
    if plan.method is Method.POWER:
        return [*names, "encode_power8"], power_numbers(plan)
    if is_upper_half(target):
        return [*names, "encode_upper16"], {}
    if names == ["float64_to_float32_sticky"] and target.storage_bits == 8:
        return ["encode8_from64"], encode_numbers(plan)
    half = "_half" if _is_half(target) and plan.limits.overflow[0] == target.inf_code else ""
    return [*names, f"encode{half}{target.storage_bits}"], encode_numbers(plan)


def _to_integer(plan: Plan) -> Loops:
    source, target = plan.source, plan.target
    if not source.is_float:
        first = ["nonzero8"] if source.kind is Kind.BOOL else []
        return [*first, f"wrap{source.storage_bits}_to{target.storage_bits}"], {}
    names, numbers = decode_loops(source)
    if _is_wide(source):
        return [*names, f"truncate64_to{target.storage_bits}"], numbers
    return [*names, f"truncate32_to{target.storage_bits}"], numbers


def from_mask(plan: Plan) -> int:
    """Return the bits of a source code that count: of an integer all, of a float tested for zero all but the sign."""
    source = plan.source
    if plan.method is Method.NONZERO and source.has_negative_zero:
        return source.magnitude_mask
    return source.code_mask


def cast_loops(plan: Plan) -> Loops:
    """Return the loops of a plan without scales, and their numbers."""
    source, target = plan.source, plan.target
    if plan.method is Method.COPY:
        return [f"wrap{source.storage_bits}_to{target.storage_bits}"], {}
    if plan.method is Method.NONZERO:
        return [f"nonzero{source.storage_bits}"], {"always_true": int(not source.has_zero)}
    if plan.method is Method.TRUNCATE:
        return _to_integer(plan)
    if plan.method is Method.ROUND:
        return _rounded(plan)
    return _to_float(plan)


def _grid(precision: Format) -> Loops:
    """Loop that rounds float32 bits to a 16-bit precision, and its numbers; none where there is nothing to round."""
    if precision.bits >= 32:
        return [], {}
    if is_upper_half(precision):
        return ["round_to_upper16"], {}
    return ["round_to_precision"], precision_numbers(precision)


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
    return (_quantize if plan.method is Method.QUANTIZE else _dequantize)(plan, scaling)


@lru_cache(maxsize=CACHED)
@default_mode
def make_program(
    plan: Plan,
    *,
    extend: bool = False,
    swap: bool = False,
    swap_out: bool = False,
    packed: bool = False,
    unpacked: bool = False,
) -> _kernels.Program:
    """Compose the loops of one conversion.

    Parameters
    ----------
    plan : Plan
        The conversion.
    extend : bool
        Write sub-byte integers sign-extended to the byte, instead of as bare codes.
    swap, swap_out : bool
        Whether the source, the output, is in the other byte order.
    packed : bool
        Write the codes in ONNX's packed order, two, four or four thirds to a byte.
    unpacked : bool
        Read codes that are packed so.

    Returns
    -------
    Program
        What `_kernels.run` and `_kernels.run_strided` carry out.
    """
    source, target = plan.source, plan.target
    names, numbers = cast_loops(plan) if plan.scaling is None else quantize_loops(plan, plan.scaling)
    integers = {
        "source_mask": from_mask(plan),
        "source_sign": source.sign_mask if source.is_integer else 0,
        "target_mask": target.code_mask,
        "target_sign": target.sign_mask if target.is_integer and extend else 0,
    }
    before = _swapping(source, swap) + ([f"unpack{source.bits}"] if unpacked else [])
    after = ([f"pack{target.bits}"] if packed else []) + _swapping(target, swap_out)
    return _kernels.Program(
        (*before, *names, *after),
        source.bits if unpacked else source.storage_bits,
        target.bits if packed else target.storage_bits,
        integers | numbers,
    )


def _swapping(fmt: Format, swap: bool) -> list[str]:
    """Return the loop that swaps bytes; single ones have no order, though ml_dtypes' dtypes can be told one."""
    return [f"byteswap{fmt.storage_bits}"] if swap and fmt.storage_bits > 8 else []
