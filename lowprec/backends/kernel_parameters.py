"""The numbers that kernels read, of formats, roundings and blocks."""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

from ..plans.block_plan import BlockPlan
from ..plans.plan import Plan
from ..spec.formats import FLOAT32, Format, NaNRule
from ..spec.rounding_modes import Rounding, slot_bits
from ..spec.scale_rules import MODELOPT, OWN_RULE, TORCHAO, TRANSFORMER_ENGINE, rule_addend
from ..spec.special_values import Limits, nan_codes_of

__all__ = [
    "DOUBLE",
    "FINE_FRACTION",
    "FLOAT32_BIAS",
    "FLOAT32_MANTISSA",
    "Hub",
    "SINGLE",
    "WHOLE_FRACTION",
    "block_element_numbers",
    "block_scale_numbers",
    "decode_numbers",
    "encode_numbers",
    "float32_bits",
    "increments",
    "lifted_numbers",
    "power_numbers",
    "precision_numbers",
    "rounder_offset",
    "rounding_numbers",
]


class Hub(NamedTuple):
    """What values are between decoding and rounding: float32 or float64."""

    bits: int
    mantissa: int
    bias: int

    def word(self, value: float) -> int:
        """Return the bits of a value that the hub holds exactly."""
        integer, real = ("<I", "<f") if self.bits == 32 else ("<Q", "<d")
        return int(struct.unpack(integer, struct.pack(real, value))[0])


SINGLE = Hub(32, 23, 127)
DOUBLE = Hub(64, 52, 1023)
_MOST = (1 << 31) - 1
_NO_SLOT = 31  # shifted so far, a slot of 8 bits is 0
FINE_FRACTION = 33  # the bits of a fraction apart from its code
WHOLE_FRACTION = 64  # the bits of a fraction where none is lost


def increments(rounding: Rounding, keep: int, has_zero: bool) -> dict[str, int]:
    """Return what is added to a number with `keep` bits of fraction before it is truncated.

    The numbers of a format without zero are one more than its codes: odd ones are those of even codes.
    """
    half, whole = (1 << keep) >> 1, (1 << keep) - 1
    away = {"toward_positive": (whole, 0), "toward_negative": (0, whole), "away_from_zero": (whole, whole)}
    mode, bits, odd, odd_bit = rounding.mode, rounding.random_bits, 0, keep
    slot, random = _NO_SLOT, 0
    both = away.get(mode, (0, 0))
    if not has_zero:
        both = both[0], both[0]
    if keep == 0:
        both = 0, 0
    elif mode == "nearest_even":
        both, odd = ((half - 1,) * 2, 1) if has_zero else ((half,) * 2, -1)
    elif mode == "nearest_away":
        both = half, half
    elif mode == "nearest_zero":
        both = half - 1, half - 1
    elif mode == "to_odd":
        both, odd = ((whole,) * 2, -whole) if has_zero else ((0, 0), whole)
    if bits:
        slot, random = slot_bits(bits) - bits + max(bits - keep, 0), max(keep - bits, 0)
        if keep > bits and mode == "stochastic_b":
            both = ((1 << random) >> 1,) * 2
        elif keep > bits and mode == "stochastic_c":  # to nearest even at the last of the random bits
            both, odd, odd_bit = (((1 << random) >> 1) - 1,) * 2, 1, random
    return {
        "round_keep": keep,
        "round_odd_bit": 0 if odd_bit == WHOLE_FRACTION else 1 << odd_bit,
        "round_odd_increment": odd % (1 << 64),
        "round_increment": both[0],
        "round_increment_negative": both[1],
        "round_slot_shift": slot,
        "round_random_shift": random,
        "round_slot_bits": slot_bits(bits),
    }


def _caps(target: Format, limits: Limits, infinity: int) -> dict[str, int]:
    """Return what rounds quickly: codes that larger ones become, and those from `infinity` on that need another look.

    `infinity` is the code that the bits of Inf lead to.
    """
    if target.bits > 16:
        return {}
    signs = 0, target.sign_mask
    caps = [code - sign for code, sign in zip(limits.overflow, signs, strict=True)]
    capped = [target.max_code, target.max_code + 1]
    simple = caps[0] in capped and (caps[1] in capped if target.signed else caps[1] == 0)
    return {
        "round_cap": caps[0] if simple else target.max_code,
        "round_cap_negative": caps[1] if simple else target.max_code,
        "round_rare": min(infinity - 1 if simple else target.max_code if target.signed else 0, _MOST),
        "round_unsigned_zero": 0 if limits.zero[1] else (1 << 32) - 1,
    }


def rounding_numbers(plan: Plan, hub: Hub, keep: int) -> dict[str, int]:
    """Return the numbers that round a value of a hub by the rules of a plan, `keep` bits of its fraction dropped."""
    target, limits = plan.target, plan.limits
    assert plan.rounding is not None
    lower = 0 if target.has_zero else 1  # the number of the smallest code, 0
    negative_limit = target.max_code if target.signed or not target.has_zero else 0
    exponent = target.emin - lower
    all_normal = exponent == 1 - hub.bias  # to a number of the hub, its own subnormals are as good as normal ones
    signed = dict(zip(("round_overflow", "round_infinity", "round_nan", "round_zero"), limits, strict=True))
    return {
        **_caps(target, limits, ((hub.bias + 1 - exponent + target.has_zero) << hub.mantissa) >> keep),
        **increments(plan.rounding, keep, target.has_zero),
        "round_mantissa": target.mantissa_bits,
        "round_exponent": target.emin,
        "round_smallest_normal": 0 if all_normal else hub.word(math.ldexp(1.0, exponent)),
        "round_base": (exponent + hub.bias - target.has_zero) << hub.mantissa,
        "round_factor": 0 if lower or all_normal else hub.word(math.ldexp(1.0, hub.mantissa - exponent)),
        "round_sticky": 1 - lower,
        "round_code_offset": lower,
        "round_sign": target.sign_mask,
        "round_last": hub.word(math.inf),
        "round_largest": target.max_code + lower,
        "round_largest_negative": negative_limit + lower if negative_limit else 0,
        **{name: codes[0] for name, codes in signed.items()},
        **{f"{name}_negative": codes[1] for name, codes in signed.items()},
    }


FLOAT32_BIAS = 127
FLOAT32_MANTISSA = 23
_FLOAT32_INF = 0x7F80_0000
_FLOAT32_NAN = 0x7FC0_0000
_FLOAT32_SIGN = 1 << 31
_NEVER = 1 << 30  # above any code, so no comparison with it is ever true
_LIFT = 64  # what is a float32 subnormal is decoded times a power of two


def float32_bits(value: float) -> int:
    """Return the float32 bits of a value that float32 holds exactly."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def _signed(word: int) -> int:
    """Read 32 bits as a two's complement number."""
    word &= 0xFFFF_FFFF
    return word - (1 << 32) if word >= _FLOAT32_SIGN else word


def decode_numbers(fmt: Format, scale: int = 0) -> dict[str, int]:
    """Return the numbers that decode a code to the float32 of its value times 2**scale."""
    whole = fmt.nan is NaNRule.NEGATIVE_ZERO  # there the sign belongs to the NaN code
    first_nan = fmt.sign_mask if whole else fmt.magnitude_mask - fmt.nan_count + 1
    return {
        "magnitude_mask": fmt.magnitude_mask,
        "mantissa_shift": FLOAT32_MANTISSA - fmt.mantissa_bits,
        "rebias": ((FLOAT32_BIAS - fmt.bias + scale) << FLOAT32_MANTISSA) % (1 << 32),
        "first_normal": 1 << fmt.mantissa_bits if fmt.has_zero else 0,
        "implicit_one": float32_bits(math.ldexp(fmt.smallest_normal, scale)),
        "nan_mask": fmt.code_mask if whole else fmt.magnitude_mask,
        "first_nan": _NEVER if fmt.nan is NaNRule.NONE else first_nan,
        "nan_range": max(fmt.nan_count - 1, 0),
        "inf_code": _NEVER if fmt.inf_code is None else fmt.inf_code,
        "inf_bits": _FLOAT32_INF,
        "nan_bits": _FLOAT32_NAN,
        "sign_mask": fmt.sign_mask,
        "sign_shift": 32 - fmt.bits if fmt.signed else 0,  # 0: the overlays, which mask no sign, leave it to the others
    }


def lifted_numbers(fmt: Format) -> dict[str, int]:
    """Return the numbers that decode a float whose smallest normal value is below float32's."""
    numbers, lifted = decode_numbers(fmt), decode_numbers(fmt, _LIFT)
    return numbers | {
        "first_float32": (1 - FLOAT32_BIAS + fmt.bias) << fmt.mantissa_bits,
        "lifted_rebias": lifted["rebias"],
        "lifted_implicit_one": lifted["implicit_one"],
        "lowering": float32_bits(math.ldexp(1.0, -_LIFT)),
    }


def rounder_offset(fmt: Format, scale: int = 0) -> int:
    """Return what is added to the exponent of a value times 2**scale for the number that rounds it when added.

    The low bits subtract the constant that the codes of a byte have in the sum.
    """
    keep = FLOAT32_MANTISSA - fmt.mantissa_bits
    exponent = fmt.emin + scale + keep + FLOAT32_BIAS
    offset = (-(exponent << fmt.mantissa_bits)) % 256 if fmt.storage_bits == 8 else 0
    return (keep << FLOAT32_MANTISSA) + offset


def encode_numbers(plan: Plan, scale: int = 0, infinity: int = _FLOAT32_INF) -> dict[str, int]:
    """Return the numbers that encode the float32 of a value times 2**scale; `infinity` are the bits of Inf there."""
    fmt = plan.target
    keep = FLOAT32_MANTISSA - fmt.mantissa_bits
    overflow, (nan, negative_nan) = plan.limits.overflow[0], plan.limits.nan

    def scaled(value: float) -> int:
        return float32_bits(math.ldexp(value, scale))

    largest = scaled(float(fmt.max))
    after = fmt.magnitude(fmt.max_code + 1)
    beyond = scaled(after)  # encodes as the code after the largest: Inf, where there is one
    first_beyond = scaled((float(fmt.max) + after) / 2)  # a tie, and the largest value may be the even one
    if overflow == fmt.max_code:
        clamp, nan_above = largest, infinity if plan.limits.infinity[0] == fmt.max_code else infinity - 1
    elif overflow == fmt.inf_code:
        clamp, nan_above = beyond, infinity
    else:
        clamp, nan_above = largest, first_beyond - fmt.max_code % 2
    # The sign is wanted from the first negative magnitude that has a code with a sign, up to the last one below NaN;
    # and at NaN where a negative NaN is the positive one with the other sign.
    tiny = 0 if fmt.has_negative_zero else scaled(fmt.smallest_subnormal / 2) + 1
    top = _FLOAT32_SIGN - 1 if negative_nan == nan ^ fmt.sign_mask else nan_above
    exponent = fmt.emin + scale + keep + FLOAT32_BIAS  # of the power of two that stands in the adder at emin
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
        "sign_limit": _signed(_FLOAT32_SIGN + top - tiny),
    }


def power_numbers(plan: Plan) -> dict[str, int]:
    """Return the numbers that round float32 bits to a power of two by a round_mode."""
    below_one = (1 << FLOAT32_MANTISSA) - 1
    half = 1 << (FLOAT32_MANTISSA - 1)
    add, first = {
        "up": (below_one, half),  # 2**-127 itself, half of the fraction
        "nearest": (half, half + half // 2 - 1),
        "down": (0, below_one),
    }[plan.round_mode]
    fmt, nan = plan.target, plan.limits.nan[0]
    largest = float32_bits(float(fmt.max))
    low = half if plan.limits.zero[0] == nan else 0
    high = largest if plan.limits.overflow[0] == nan else _FLOAT32_INF
    return {
        "clamp": largest,
        "power_increment": add,
        "power_underflow": first,
        "power_lowest": low,
        "power_range": high - low,
        "nan_code": nan,
    }


def precision_numbers(precision: Format) -> dict[str, int]:
    """Return the numbers that round float32 bits to a 16-bit precision."""
    return {
        "precision_clamp": float32_bits(math.ldexp(1.0, precision.emax + 1)),
        "precision_smallest_normal": float32_bits(precision.smallest_normal),
        "precision_rounder_offset": (FLOAT32_MANTISSA - precision.mantissa_bits) << FLOAT32_MANTISSA,
        "precision_largest": float32_bits(float(precision.max)),
    }


_LAST_BIT = 23  # mantissa bits of float32, where elements are rounded
_WORD = (1 << 32) - 1
_QUOTIENT_RULES = OWN_RULE, TORCHAO, MODELOPT, TRANSFORMER_ENGINE
"""In the order of scalar_block_kernels.h."""


def _signed_bits(value: float) -> int:
    """Return the bits of a value that float32 holds exactly."""
    return int(struct.unpack("<i", struct.pack("<f", value))[0])


def block_element_numbers(plan: BlockPlan, numbers: dict[str, int]) -> dict[str, float]:
    """Return the parameters of the elements of blocks, whose rounding has these numbers."""
    fmt = plan.element
    both = numbers["round_increment"], numbers["round_increment_negative"]
    nan, nan_negative = nan_codes_of(fmt)
    return {
        "most": _signed_bits(float(fmt.max)),
        "smallest_normal": _signed_bits(fmt.smallest_normal),
        "factor": math.ldexp(1.0, _LAST_BIT - fmt.emin),
        "keep": numbers["round_keep"],
        "rounder_offset": rounder_offset(fmt),
        "increment": both[0] & _WORD,
        "increment_change": (both[1] - both[0]) & _WORD,
        "odd_bit": max(numbers["round_odd_bit"].bit_length() - 1, 0),  # a mask there, a place here
        "odd_increment": numbers["round_odd_increment"] & _WORD,
        "slot_shift": numbers["round_slot_shift"],
        "random_shift": numbers["round_random_shift"],
        "slot_bits": numbers["round_slot_bits"],
        "sign_shift": 32 - fmt.bits,
        "sign_mask": fmt.sign_mask,
        "zero_sign": 0 if plan.scale_rule == MODELOPT else _WORD,  # it compares a quotient with 0
        "nan": nan,
        "nan_negative": nan_negative,
    }


def block_scale_numbers(plan: BlockPlan) -> dict[str, float]:
    """Return the parameters of the scales of blocks; those that depend on the global scale are 1."""
    fmt, rule, two_levels = plan.scale, plan.scale_rule, plan.two_levels
    addend, offset = (0, 0) if two_levels else rule_addend(plan.element, rule, _LAST_BIT)
    least = {TORCHAO: fmt.smallest_normal, MODELOPT: fmt.smallest_subnormal}
    later = ("largest_factor", "first_divisor", "second_divisor", "scale_unit", "factor_unit", "factor_most")
    return {
        **dict.fromkeys(later, 1.0),
        "rule_addend": addend,
        "rule_offset": offset,
        "quotient_rule": _QUOTIENT_RULES.index(rule) if two_levels else 0,
        "largest_value": float(plan.element.max),
        "quotient_of_0": float(rule == MODELOPT),
        "scale_least": float(least.get(rule, 0.0)),
        "scale_code_least": rule == OWN_RULE,
        "scale_most": float(fmt.max) if two_levels else 1.0,
        "scale_normal": _signed_bits(fmt.smallest_normal),
        "scale_factor": math.ldexp(1.0, _LAST_BIT - fmt.emin) if two_levels else 1.0,
        "scale_keep": _LAST_BIT - fmt.mantissa_bits,
        "scale_value": math.ldexp(1.0, 127 - fmt.bias),
        "scale_nan": fmt.nan_code or 0,
        "last": _signed_bits(float(FLOAT32.max)) if plan.specials == "ignore" else (1 << 31) - 1,
    }
