"""Block quantizations in host memory by the compiled loops: their numbers, and one call of them."""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _kernels
from .._float_mode import default_mode
from ..plans.block_plan import MXINT8, BlockPlan
from ..plans.plan import Plan, Rule
from ..spec.formats import FLOAT32, Format
from ..spec.memo import CACHED
from ..spec.packing import group
from ..spec.rounding_modes import Stream
from ..spec.scale_rules import MODELOPT, OWN_RULE, TORCHAO, TRANSFORMER_ENGINE, rule_addend
from ..spec.special_values import limits_of, nan_codes_of
from .blocks import as_bytes, to_single
from .cast_loops import rounder_offset
from .rounding_loops import rounding_loops
from .thread_count import shared

__all__ = ["block_program", "fits_packed", "quantize_dense"]

_Array = np.ndarray[Any, Any]
_LAST_BIT = 23  # mantissa bits of float32, where elements are rounded
_WORD = (1 << 32) - 1
_QUOTIENT_RULES = OWN_RULE, TORCHAO, MODELOPT, TRANSFORMER_ENGINE
"""In the order of block_elements.h."""
_BY_PRODUCTS = TORCHAO, TRANSFORMER_ENGINE
"""Rules by which elements are multiplied, not divided."""
_LEAST_EXPONENT = -103
"""Of the smallest normal element: float32's own subnormals are below all its steps then."""


def _bits(value: float) -> int:
    """Return the bits of a value that float32 holds exactly."""
    return int(struct.unpack("<i", struct.pack("<f", value))[0])


def _element_numbers(plan: BlockPlan) -> dict[str, float] | None:
    """Return the parameters of the elements, None where no loop has them."""
    fmt, rounding = plan.element, plan.rounding
    if fmt.bits > 8 or not fmt.signed or fmt.emin < _LEAST_EXPONENT:
        return None
    cast = Plan(Rule.ROUND, FLOAT32, fmt, rounding=rounding, limits=limits_of(fmt, rounding))
    names, numbers = rounding_loops(cast, wide=False)
    if names not in (["round32_to8"], ["stochastic32_to8"]):  # the random bits ask for more than float32
        return None
    both = numbers["round_increment"], numbers["round_increment_negative"]
    nan, nan_negative = nan_codes_of(fmt)
    return {
        "most": _bits(float(fmt.max)),
        "smallest_normal": _bits(fmt.smallest_normal),
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


def _scale_numbers(plan: BlockPlan) -> dict[str, float]:
    """Return the parameters of the scales; those that depend on the global scale are 1."""
    fmt, rule = plan.scale, plan.scale_rule
    addend, offset = (0, 0) if plan.two_levels else rule_addend(plan.element, rule, _LAST_BIT)
    least = {TORCHAO: fmt.smallest_normal, MODELOPT: fmt.smallest_subnormal}
    later = ("largest_factor", "first_divisor", "second_divisor", "scale_unit", "factor_unit", "factor_most")
    return {
        **dict.fromkeys(later, 1.0),
        "rule_addend": addend,
        "rule_offset": offset,
        "quotient_rule": _QUOTIENT_RULES.index(rule) if plan.two_levels else 0,
        "largest_value": float(plan.element.max),
        "quotient_of_0": float(rule == MODELOPT),
        "scale_least": float(least.get(rule, 0.0)),
        "scale_code_least": rule == OWN_RULE,
        "scale_most": float(fmt.max) if plan.two_levels else 1.0,
        "scale_normal": _bits(fmt.smallest_normal),
        "scale_factor": math.ldexp(1.0, _LAST_BIT - fmt.emin) if plan.two_levels else 1.0,
        "scale_keep": _LAST_BIT - fmt.mantissa_bits,
        "scale_value": math.ldexp(1.0, 127 - fmt.bias),
        "scale_nan": fmt.nan_code or 0,
        "last": _bits(float(FLOAT32.max)) if plan.specials == "ignore" else (1 << 31) - 1,
    }


@lru_cache(maxsize=CACHED)
def block_program(plan: BlockPlan, packed: bool) -> _kernels.BlockProgram | None:
    """Return the loops of a plan; None where there are none, as for wide sources."""
    elements = _element_numbers(plan) if plan.source.bits <= 32 else None
    if elements is None:
        return None
    fmt = plan.element
    return _kernels.BlockProgram(
        {**_scale_numbers(plan), **elements},
        kind=2 if plan.scale_rule in _BY_PRODUCTS else int(plan.two_levels),
        ignores=plan.specials == "ignore",
        is_random=plan.rounding.random_bits > 0,
        by_adding=plan.last.rule is Rule.NEAREST_EVEN,
        integers=fmt == MXINT8,
        negative_zero=-1 if fmt.has_negative_zero else fmt.sign_mask,
        pack=f"pack{fmt.bits}" if packed else None,
        bits=fmt.bits if packed else 8,
        group=group(fmt)[0] if packed else 1,
    )


def fits_packed(fmt: Format, spread: tuple[int, int, int], block: int) -> bool:
    """Whether packed elements begin with a byte wherever the loops begin."""
    (outer, length, inner), whole = spread, group(fmt)[0]
    if inner > 1:
        return inner % whole == 0
    rows = outer == 1 or length % whole == 0 or length % block == 0
    return rows and (block % whole == 0 or block * whole <= _kernels.TILE_ELEMENTS)


@default_mode
def quantize_dense(
    program: _kernels.BlockProgram,
    x: _Array,
    plan: BlockPlan,
    outputs: tuple[_Array, _Array],
    spread: tuple[int, int, int],
    block: int,
    factor: _Array | None,
    stream: Stream | None,
) -> None:
    """Write elements and scales of dense unsigned codes of the source.

    Parameters
    ----------
    program : BlockProgram
        What `block_program` returned.
    x : numpy.ndarray
        The codes.
    plan : BlockPlan
        Whose program it is.
    outputs : tuple of numpy.ndarray
        Dense memory for the elements and the scales.
    spread : tuple of int
        The shape of `x`, its axes merged to (outer, the axis of the blocks, inner), without a length of 0.
    block : int
        The block size.
    factor : numpy.ndarray or None
        What the rule of a global scale starts from, 0-d; None where there is none.
    stream : Stream or None
        The random numbers.
    """
    seed, offset = (0, 0) if stream is None else stream
    elements, scales = (as_bytes(out) for out in outputs)
    shared(
        x.size, _kernels.quantize_blocks, program, to_single(plan.source), as_bytes(x), elements, scales,
        *spread, block, 1.0 if factor is None else float(factor), seed, offset,
    )  # fmt: skip
