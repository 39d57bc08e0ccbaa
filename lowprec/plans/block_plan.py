"""The plan of a block quantization: elements, scales and rules of MX and NVFP4, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..spec.custom_formats import check_convertible, float_format
from ..spec.formats import (
    BFLOAT16,
    FLOAT4_E2M1FN,
    FLOAT8_E4M3FN,
    FLOAT8_E8M0FNU,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    Format,
    as_format,
)
from ..spec.memo import Interned, reduced, remembered
from ..spec.operator_versions import NEWEST, CastRules, version_of
from ..spec.rounding_modes import Rounding, RoundingOptions, check_rounding
from ..spec.scalar_arguments import shown
from ..spec.scale_rules import NVFP4_RULES, OWN_RULE, SCALE_RULES, SPECIALS
from .cast_plan import make_plan
from .plan import Plan

__all__ = ["BlockPlan", "MXINT8", "element_format", "mx_plan", "nvfp4_plan"]


MXINT8 = float_format(
    "int8/64", exponent_bits=1, mantissa_bits=6, bias=1, inf=False, nan="none",
    reference="OCP Microscaling Formats (MX) 1.0, section 5.3.4",
)  # fmt: skip
"""The values of MXINT8 as a float: with one exponent bit all steps are 1/64, and a magnitude code is the integer."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class BlockPlan(metaclass=Interned):
    """What a back end needs to know of a block quantization; every option is resolved. Equal plans are one object.

    Attributes
    ----------
    source : Format
        What the array holds.
    element : Format
        The format of the elements; `MXINT8` where they are integers.
    scale : Format
        float8_e8m0fnu; float8_e4m3fn of blocks that have a global scale too.
    scale_rule : str
        How the largest magnitude of a block becomes its scale.
    specials : str
        One of `SPECIALS`.
    rounding : Rounding
        The rules of the last step.
    last : Plan
        From an element over its scale, exact in float64 (rounded to float32 where there is a global scale), to its
        code.
    """

    source: Format
    element: Format
    scale: Format
    scale_rule: str
    specials: str
    rounding: Rounding
    last: Plan

    @property
    def two_levels(self) -> bool:
        """Whether there is a global scale."""
        return self.scale.has_zero

    @property
    def stored(self) -> Format:
        """The format whose storage dtype holds the elements."""
        return INT8 if self.element == MXINT8 else self.element

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and the values: a copy is the plan itself."""
        return reduced(self)


def element_format(element: object, parameter: str = "to") -> Format:
    """Return the format of the elements of MX blocks, `MXINT8` for int8, or raise ValueError."""
    fmt = as_format(element, parameter=parameter)
    if fmt == INT8:
        return MXINT8
    if not (fmt.is_float and fmt.has_zero and fmt.bits <= 32):
        wanted = "a float of up to 32 bits that has a zero, or int8"
        raise ValueError(f"`{parameter}` must be {wanted}; got {fmt.name}")
    check_convertible(fmt, parameter)
    return fmt


def _last(values: Format, element: Format, options: RoundingOptions) -> tuple[Rounding, Plan]:
    rounding = check_rounding(options._replace(overflow="sat_finite"), element, "element")
    usual = rounding.mode == "nearest_even" and element.saturates != "never"
    rules = CastRules(version_of(NEWEST), True, "up", None if usual else rounding)
    return rounding, make_plan(values, element, rules)


def _check_source(source: Format) -> None:
    if source not in (taken := (FLOAT32, FLOAT16, BFLOAT16, FLOAT64)):
        names = ", ".join(fmt.name for fmt in taken)
        raise ValueError(f"`x` must be one of {names}; got {source.name}")


def _check_specials(specials: object) -> str:
    if isinstance(specials, str) and specials in SPECIALS:
        return specials
    raise ValueError(f"`specials` must be one of {', '.join(SPECIALS)}; got {shown(specials)}")


@remembered
def mx_plan(source: Format, element: Format, scale_rule: str, specials: str, options: RoundingOptions) -> BlockPlan:
    """Check the options of MX blocks and return their plan, or raise ValueError."""
    _check_source(source)
    if not isinstance(scale_rule, str) or scale_rule not in SCALE_RULES:
        raise ValueError(f"`scale_rule` must be one of {', '.join(SCALE_RULES)}; got {shown(scale_rule)}")
    last = _last(FLOAT64, element, options)
    return BlockPlan(source, element, FLOAT8_E8M0FNU, scale_rule, _check_specials(specials), *last)


@remembered
def nvfp4_plan(source: Format, scale_rule: str | None, specials: str, options: RoundingOptions) -> BlockPlan:
    """Check the options of NVFP4 blocks and return their plan, or raise ValueError."""
    _check_source(source)
    if scale_rule is not None and not (isinstance(scale_rule, str) and scale_rule in NVFP4_RULES):
        raise ValueError(f"`scale_rule` must be None or one of {', '.join(NVFP4_RULES)}; got {shown(scale_rule)}")
    last = _last(FLOAT32, FLOAT4_E2M1FN, options)
    rule = OWN_RULE if scale_rule is None else scale_rule
    return BlockPlan(source, FLOAT4_E2M1FN, FLOAT8_E4M3FN, rule, _check_specials(specials), *last)
