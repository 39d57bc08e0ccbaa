"""The compiled loops of a cast: their names, in order, and their numbers."""

from __future__ import annotations

import math
import struct

from ..plans.plan import Plan, Rule
from ..spec.formats import Format, Kind, NaNRule
from .rounding_loops import exact_loops, power_loops, rounding_loops

__all__ = [
    "Loops", "cast_loops", "decode_loops", "encode_loops", "float32_loops", "from_mask", "is_upper_half",
    "rounder_offset",
]  # fmt: skip

_F32_BIAS = 127
_F32_MANTISSA = 23
_F32_INF = 0x7F80_0000
_F32_NAN = 0x7FC0_0000
_F32_SIGN = 1 << 31
_NEVER = 1 << 30  # above any code, so no comparison with it is ever true
_LIFT = 64  # what is a float32 subnormal is decoded times a power of two

Loops = tuple[list[str], dict[str, int]]


def _bits(value: float) -> int:
    """Return the float32 bits of a value that float32 holds exactly."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def _signed(word: int) -> int:
    """Read 32 bits as a two's complement number."""
    word &= 0xFFFF_FFFF
    return word - (1 << 32) if word >= _F32_SIGN else word


def _decode_numbers(fmt: Format, scale: int = 0) -> dict[str, int]:
    """Return the numbers that decode a code to the float32 of its value times 2**scale."""
    whole = fmt.nan is NaNRule.NEGATIVE_ZERO  # there the sign belongs to the NaN code
    first_nan = fmt.sign_mask if whole else fmt.magnitude_mask - fmt.nan_count + 1
    return {
        "magnitude_mask": fmt.magnitude_mask,
        "mantissa_shift": _F32_MANTISSA - fmt.mantissa_bits,
        "rebias": ((_F32_BIAS - fmt.bias + scale) << _F32_MANTISSA) % (1 << 32),
        "first_normal": 1 << fmt.mantissa_bits if fmt.has_zero else 0,
        "implicit_one": _bits(math.ldexp(fmt.smallest_normal, scale)),
        "nan_mask": fmt.code_mask if whole else fmt.magnitude_mask,
        "first_nan": _NEVER if fmt.nan is NaNRule.NONE else first_nan,
        "nan_range": max(fmt.nan_count - 1, 0),
        "inf_code": _NEVER if fmt.inf_code is None else fmt.inf_code,
        "inf_bits": _F32_INF,
        "nan_bits": _F32_NAN,
        "sign_mask": fmt.sign_mask,
        "sign_shift": 32 - fmt.bits if fmt.signed else 0,  # 0: the overlays, which mask no sign, leave it to the others
    }


def _lifted_numbers(fmt: Format) -> dict[str, int]:
    """Return the numbers that decode a float whose smallest normal value is below float32's."""
    numbers, lifted = _decode_numbers(fmt), _decode_numbers(fmt, _LIFT)
    return numbers | {
        "first_float32": (1 - _F32_BIAS + fmt.bias) << fmt.mantissa_bits,
        "lifted_rebias": lifted["rebias"],
        "lifted_implicit_one": lifted["implicit_one"],
        "lowering": _bits(math.ldexp(1.0, -_LIFT)),
    }


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
    if fmt.emin < 1 - _F32_BIAS:
        if _is_power(fmt):
            return ["decode_power8"], {}
        return [f"decode_lifted{fmt.storage_bits}"], _lifted_numbers(fmt)
    if is_upper_half(fmt):
        return ["decode_upper16"], {}
    family = "_half" if _is_half(fmt) else _family(fmt)
    return [f"decode{family}{fmt.storage_bits}"], _decode_numbers(fmt)


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
    return _is_ieee(fmt, 8, 7, _F32_BIAS)


def _is_half(fmt: Format) -> bool:
    """Whether a code is what the machines that convert 16-bit floats take it for: IEEE's, bias and all."""
    return _is_ieee(fmt, 5, 10, 15)


def _is_power(fmt: Format) -> bool:
    """Whether a code is the exponent field of a float32."""
    fields = (fmt.has_zero, fmt.exponent_bits, fmt.bias, fmt.has_inf, fmt.nan)
    return fields == (False, 8, _F32_BIAS, False, NaNRule.ALL_ONES)


def _is_ieee(fmt: Format, exponent_bits: int, mantissa_bits: int, bias: int) -> bool:
    fields = (fmt.exponent_bits, fmt.mantissa_bits, fmt.bias, fmt.has_inf, fmt.nan)
    return fields == (exponent_bits, mantissa_bits, bias, True, NaNRule.IEEE)


def _is_wide(fmt: Format) -> bool:
    """Whether values of the format travel as float64."""
    return fmt.bits >= 32 and not (fmt.is_float and fmt.bits == 32)


def rounder_offset(fmt: Format, scale: int = 0) -> int:
    """Return what is added to the exponent of a value times 2**scale for the number that rounds it when added.

    The low bits subtract the constant that the codes of a byte have in the sum.
    """
    keep = _F32_MANTISSA - fmt.mantissa_bits
    exponent = fmt.emin + scale + keep + _F32_BIAS
    offset = (-(exponent << fmt.mantissa_bits)) % 256 if fmt.storage_bits == 8 else 0
    return (keep << _F32_MANTISSA) + offset


def _encode_numbers(plan: Plan, scale: int = 0, infinity: int = _F32_INF) -> dict[str, int]:
    """Return the numbers that encode the float32 of a value times 2**scale; `infinity` are the bits of Inf there."""
    fmt = plan.target
    keep = _F32_MANTISSA - fmt.mantissa_bits
    nan, negative_nan = plan.nan_codes

    def scaled(value: float) -> int:
        return _bits(math.ldexp(value, scale))

    largest = scaled(float(fmt.max))
    after = fmt.magnitude(fmt.max_code + 1)
    beyond = scaled(after)  # encodes as the code after the largest: Inf, where there is one
    first_beyond = scaled((float(fmt.max) + after) / 2)  # a tie, and the largest value may be the even one
    if plan.overflow_code == fmt.max_code:
        clamp, nan_above = largest, infinity if plan.infinity_code == fmt.max_code else infinity - 1
    elif plan.overflow_code == fmt.inf_code:
        clamp, nan_above = beyond, infinity
    else:
        clamp, nan_above = largest, first_beyond - fmt.max_code % 2
    # The sign is wanted from the first negative magnitude that has a code with a sign, up to the last one below NaN;
    # and at NaN where a negative NaN is the positive one with the other sign.
    tiny = 0 if fmt.has_negative_zero else scaled(fmt.smallest_subnormal / 2) + 1
    top = _F32_SIGN - 1 if negative_nan == nan ^ fmt.sign_mask else nan_above
    exponent = fmt.emin + scale + keep + _F32_BIAS  # of the power of two that stands in the adder at emin
    return {
        "clamp": clamp,
        "smallest_normal": scaled(fmt.smallest_normal),
        "rounder_offset": rounder_offset(fmt, scale),
        "dropped_bits": keep,
        "exponent_offset": exponent << fmt.mantissa_bits,
        "nan_above": nan_above,
        "nan_code": nan,
        "sign_bit": fmt.sign_mask,
        "sign_offset": (-tiny) % (1 << 32),
        "sign_limit": _signed(_F32_SIGN + top - tiny),
    }


def _power_numbers(plan: Plan) -> dict[str, int]:
    below_one = (1 << _F32_MANTISSA) - 1
    half = 1 << (_F32_MANTISSA - 1)
    add, first = {
        "up": (below_one, half),  # 2**-127 itself, half of the fraction
        "nearest": (half, half + half // 2 - 1),
        "down": (0, below_one),
    }[plan.round_mode]
    fmt, nan = plan.target, plan.nan_codes[0]
    largest = _bits(float(fmt.max))
    low = half if plan.underflow_code == nan else 0
    high = largest if plan.overflow_code == nan else _F32_INF
    return {
        "clamp": largest,
        "power_increment": add,
        "power_underflow": first,
        "power_lowest": low,
        "power_range": high - low,
        "nan_code": nan,
    }


def _half_scale(fmt: Format) -> int | None:
    """Return the scale at which a 16-bit code, shifted to bit 30, is a float32: 0 or -112; None for other layouts."""
    if is_upper_half(fmt):
        return 0
    return fmt.bias - _F32_BIAS if _is_ieee(fmt, 5, 10, fmt.bias) else None


def _direct(plan: Plan) -> Loops | None:
    """Return the one loop between 8 and 16 bits that needs no float32 between, where there is one for the pair."""
    source, target = plan.source, plan.target
    narrow, half = (source, target) if source.bits <= 8 else (target, source)
    scale = _half_scale(half)
    if scale is None or not narrow.is_float or narrow.bits > 8 or not narrow.has_zero:
        return None
    if narrow.emin + scale < 1 - _F32_BIAS:  # its smallest normal value would be a subnormal float32
        return None
    if narrow.max > half.max or narrow.mantissa_bits > half.mantissa_bits:  # Inf must lie above, every value fit
        return None
    lift = _F32_MANTISSA - half.mantissa_bits
    if target == narrow:
        infinity = half.exponent_mask << lift
        return ["encode8_from16"], _encode_numbers(plan, scale, infinity) | {"code16_shift": lift}
    specials = {"inf_bits": half.exponent_mask << lift, "nan_bits": (half.nan_code or 0) << lift}
    sign = {"sign_shift": 16 + lift - narrow.bits, "code16_shift": lift}
    return [f"decode{_family(narrow)}8_to16"], _decode_numbers(narrow, scale) | specials | sign


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
    if plan.rule is Rule.ROUND:
        return rounding_loops(plan, wide)
    if target.bits >= 32:
        return ([] if wide == (target.bits == 64) else ["float64_to_float32" if wide else "float32_to_float64"]), {}
    if plan.rule is Rule.POWER and not _is_power(target):
        return power_loops(plan, wide)
    names = []
    if wide:
        reaches_less = target.emin - target.mantissa_bits > 2 - _F32_BIAS and target.emax < _F32_BIAS
        same = plan.overflow_code == plan.infinity_code and plan.rule is Rule.NEAREST_EVEN
        names = ["float64_to_float32_sticky" if reaches_less and same else "float64_to_float32_odd"]
    if plan.rule is Rule.POWER:
        return [*names, "encode_power8"], _power_numbers(plan)
    if is_upper_half(target):
        return [*names, "encode_upper16"], {}
    if names == ["float64_to_float32_sticky"] and target.storage_bits == 8:
        return ["encode8_from64"], _encode_numbers(plan)
    half = "_half" if _is_half(target) and plan.overflow_code == target.inf_code else ""
    return [*names, f"encode{half}{target.storage_bits}"], _encode_numbers(plan)


def _to_integer(plan: Plan) -> Loops:
    source, target = plan.source, plan.target
    if not source.is_float:
        first = ["nonzero8"] if source.kind is Kind.BOOL else []
        return [*first, f"wrap{source.storage_bits}_to{target.storage_bits}"], {}
    names, numbers = decode_loops(source)
    if _is_wide(source):
        return [*names, f"truncate64_to{target.storage_bits}"], numbers
    if target.bits == 64:
        return [*names, "float32_to_float64", "truncate64_to64"], numbers
    return [*names, f"truncate32_to{target.storage_bits}"], numbers


def from_mask(plan: Plan) -> int:
    """Return the bits of a source code that count: of an integer all, of a float tested for zero all but the sign."""
    source = plan.source
    if plan.rule is Rule.NONZERO and source.has_negative_zero:
        return source.magnitude_mask
    return source.code_mask


def cast_loops(plan: Plan) -> Loops:
    """Return the loops of a plan without scales, and their numbers."""
    source, target = plan.source, plan.target
    if plan.rule is Rule.COPY:
        return [f"wrap{source.storage_bits}_to{target.storage_bits}"], {}
    if plan.rule is Rule.NONZERO:
        return [f"nonzero{source.storage_bits}"], {"always_true": int(not source.has_zero)}
    if plan.rule is Rule.TRUNCATE:
        return _to_integer(plan)
    if plan.rule is Rule.ROUND:
        return _rounded(plan)
    return _to_float(plan)
