"""The compiled loops that round by any rule: their names, and the rule as their numbers."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import NamedTuple

from ..plans.plan import Plan, Rule
from ..spec.formats import Format
from ..spec.rounding_modes import Rounding, slot_bits
from ..spec.special_values import Limits

__all__ = ["exact_loops", "power_loops", "rounding_loops"]

Loops = tuple[list[str], dict[str, int]]


class _Hub(NamedTuple):
    """What values are between decoding and rounding: float32 or float64."""

    bits: int
    mantissa: int
    bias: int

    def word(self, value: float) -> int:
        """Return the bits of a value that the hub holds exactly."""
        integer, real = ("<I", "<f") if self.bits == 32 else ("<Q", "<d")
        return int(struct.unpack(integer, struct.pack(real, value))[0])


_FLOAT32 = _Hub(32, 23, 127)
_FLOAT64 = _Hub(64, 52, 1023)
_MOST = (1 << 31) - 1
_NO_SLOT = 31  # shifted so far, a slot of 8 bits is 0
_FINE = 33  # the bits of a fraction apart from its code
_WHOLE = 64  # the bits of a fraction where none is lost


def _increments(rounding: Rounding, keep: int, has_zero: bool) -> dict[str, int]:
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
        "round_odd_bit": 0 if odd_bit == _WHOLE else 1 << odd_bit,
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


def _numbers(plan: Plan, hub: _Hub, keep: int) -> dict[str, int]:
    target, limits = plan.target, plan.limits
    assert plan.rounding is not None
    assert limits is not None
    lower = 0 if target.has_zero else 1  # the number of the smallest code, 0
    negative_limit = target.max_code if target.signed or not target.has_zero else 0
    exponent = target.emin - lower
    all_normal = exponent == 1 - hub.bias  # to a number of the hub, its own subnormals are as good as normal ones
    signed = dict(zip(("round_overflow", "round_infinity", "round_nan", "round_zero"), limits, strict=True))
    return {
        **_caps(target, limits, ((hub.bias + 1 - exponent + target.has_zero) << hub.mantissa) >> keep),
        **_increments(plan.rounding, keep, target.has_zero),
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


def _fits_float32(target: Format, bits: int) -> bool:
    """Whether a number made of a float32 has the fraction that a rule asks for, a sticky bit included."""
    keep = _FLOAT32.mantissa - target.mantissa_bits
    if not target.has_zero or target.bits > 16:
        return False
    if target.emin == 1 - _FLOAT32.bias:  # float32's own subnormals: nothing is lost
        return keep > 0
    scales_exactly = 0 <= _FLOAT32.mantissa - target.emin <= _FLOAT32.bias  # to a fixed-point number, by a float32
    return keep >= bits + 2 and scales_exactly


def _fits_fine_float32(target: Format, rounding: Rounding) -> bool:
    """Whether random bits fit where a fraction is a number of its own, of 33 bits and a sticky one."""
    if not target.has_zero or target.bits > 16 or (rounding.mode, rounding.random_bits) == ("stochastic_c", 32):
        return False
    scales_exactly = _FLOAT32.mantissa - target.emin <= _FLOAT32.bias and target.emin <= target.mantissa_bits
    return rounding.random_bits > 0 and scales_exactly


def exact_loops(plan: Plan) -> Loops | None:
    """Return the loop from 64-bit integers to a target for which float64 has too few bits; None elsewhere."""
    assert plan.rounding is not None
    source, target = plan.source, plan.target
    if not (source.is_integer and source.bits == 64) or target.mantissa_bits + plan.rounding.random_bits + 2 <= 52:
        return None
    kind = "int" if source.signed else "uint"
    return [f"exact_{kind}64_to{target.storage_bits}"], _numbers(plan, _FLOAT64, _WHOLE)


def power_loops(plan: Plan, wide: bool) -> Loops:
    """Loops to powers of two by a round_mode, for exponents that float32's are not: the range is tested before."""
    mode = {"up": "away_from_zero", "down": "toward_zero", "nearest": "nearest_away"}[plan.round_mode]
    over, infinity, below, nan = plan.overflow_code, plan.infinity_code, plan.underflow_code, plan.nan_codes
    limits = Limits((over, over), (infinity, infinity), nan, (below, below))
    target = plan.target
    rounded = replace(plan, rule=Rule.ROUND, rounding=Rounding(mode, "", ""), limits=limits)
    numbers = _numbers(rounded, _FLOAT64, _FLOAT64.mantissa) | {
        "round_smallest_normal": _FLOAT64.word(target.smallest_normal),
        "round_last": _FLOAT64.word(float(target.max)),
    }
    return [*([] if wide else ["float32_to_float64"]), f"round64_to{target.storage_bits}"], numbers


def rounding_loops(plan: Plan, wide: bool) -> Loops:
    """Loops from a value, float32 bits or `wide` float64, to the codes of a float target, by the rules of the plan."""
    target = plan.target
    assert plan.rounding is not None
    bits, width = plan.rounding.random_bits, target.storage_bits
    name = "stochastic" if bits else "round"
    keep, left = (hub.mantissa - target.mantissa_bits for hub in (_FLOAT64, _FLOAT32))
    # Narrowed to odd, numbers beyond float32 are its largest: a target may have it as a value, or round it to one.
    fits = _fits_float32(target, bits)
    if wide and fits and (bits or plan.rounding.mode == "to_odd"):
        fits = left >= bits + 2 and target.magnitude(target.max_code + 1) < 2.0**128
    if fits:
        names = ["float64_to_float32_odd"] if wide else []
        return [*names, f"{name}32_to{width}"], _numbers(plan, _FLOAT32, left)
    if not wide and _fits_fine_float32(target, plan.rounding):
        return [f"{name}_fine32_to{width}"], {
            **_numbers(plan, _FLOAT32, left),
            **_increments(plan.rounding, _FINE, target.has_zero),
            "round_keep": left,
            "round_factor": _FLOAT32.word(math.ldexp(1.0, target.mantissa_bits - target.emin)),
        }
    names = [] if wide else ["float32_to_float64"]
    if keep == 0:  # nothing is to be rounded
        exact = plan.rounding._replace(mode="toward_zero", random_bits=0)
        return [*names, f"round64_to{width}"], _numbers(replace(plan, rounding=exact), _FLOAT64, keep)
    if wide and keep < bits + 2:
        return ["exact_float64_to32"], _numbers(plan, _FLOAT64, _WHOLE)
    return [*names, f"{name}64_to{width}"], _numbers(plan, _FLOAT64, keep)
