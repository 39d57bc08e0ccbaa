"""What a plan is: every option of a conversion, resolved; equal plans are one object."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..spec.formats import Format
from ..spec.memo import CACHED, Interned, reduced
from ..spec.rounding_modes import Rounding
from ..spec.special_values import NO_LIMITS, Limits

__all__ = ["Method", "Plan", "Scaling", "copy_plan"]


class Method(enum.Enum):
    """How values become codes of the target."""

    COPY = "copy"  # the bits, unchanged
    NEAREST_EVEN = "nearest-even"  # to a float, rounded once
    ROUND = "round"  # to a float, by the rules of a `Rounding`
    POWER = "power"  # to a power of two, by the round_mode
    TRUNCATE = "truncate"  # to an integer: toward zero, then modulo 2**bits
    NONZERO = "nonzero"  # to a bool
    TEXT = "text"  # to or from strings
    QUANTIZE = "quantize"  # divided by a scale, see `Scaling`
    DEQUANTIZE = "dequantize"  # multiplied by a scale

    __hash__ = object.__hash__  # that of an Enum is a Python function


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Scaling(metaclass=Interned):
    """The scale part of the plan of a quantization.

    Attributes
    ----------
    precision : Format
        In which the quotient or the product is rounded.
    zero_point : Format or None
        The type in which zero points enter the arithmetic: int32 with integer codes, float32 with the floats that have
        them, None if there are none.
    last : Plan
        From a value in `precision` to a float target; for integer targets it is not used.
    """

    precision: Format
    zero_point: Format | None
    last: Plan

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and the values: a copy is the instance itself."""
        return reduced(self)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Plan(metaclass=Interned):
    """What a back end needs to know of one conversion; every option is resolved. Equal plans are one object.

    Attributes
    ----------
    method : Method
        How values become codes.
    source, target : Format
        The rows; a back end takes field widths, bias and masks from them.
    round_mode : str
        ``"up"``, ``"down"`` or ``"nearest"``; concerns `Method.POWER` alone.
    limits : Limits
        The codes of a float target for what is none of its finite values.
    through : Plan or None
        From strings: the plan from float64, whose single rounding is the decimal's.
    scaling : Scaling or None
        The scale part of `Method.QUANTIZE` and `Method.DEQUANTIZE`.
    rounding : Rounding or None
        The rules of `Method.ROUND`.
    """

    method: Method
    source: Format
    target: Format
    round_mode: str = "up"
    limits: Limits = NO_LIMITS
    through: Plan | None = None
    scaling: Scaling | None = None
    rounding: Rounding | None = None

    @property
    def stochastic(self) -> bool:
        """Whether the conversion takes random numbers."""
        plan = self if self.scaling is None else self.scaling.last
        return plan.rounding is not None and plan.rounding.random_bits > 0

    @property
    def codes(self) -> Format:
        """The format of the quantized side."""
        return self.source if self.method is Method.DEQUANTIZE else self.target

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and the values: a copy is the plan itself."""
        return reduced(self)


@lru_cache(maxsize=CACHED)
def copy_plan(source: Format, target: Format | None = None) -> Plan:
    """Return the plan that leaves codes as they are, those of another format of the same width too."""
    return Plan(Method.COPY, source, source if target is None else target)
