"""From the arguments of a cast to its plan, checked once and cached."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from numpy import ndarray

from ..arrays.libraries import namespace, seed_argument
from ..arrays.storage_dtypes import format_of
from ..spec import rounding_modes
from ..spec.custom_formats import check_convertible
from ..spec.formats import FLOAT64, NUMBERS, Format, Kind, NaNRule, as_format, is_in_table
from ..spec.memo import CACHED, remembered
from ..spec.operator_versions import NEWEST, Caller, CastRules, cast_rules, check_opset, check_type, version_of
from ..spec.rounding_modes import RoundingOptions, Stream
from ..spec.special_values import limits_of, onnx_limits, onnx_rounding
from .plan import Method, Plan, copy_plan

__all__ = [
    "CAST",
    "CAST_LIKE",
    "CastOptions",
    "DECODE",
    "ENCODE",
    "PACK",
    "TEXT",
    "UNPACK",
    "check_stream",
    "make_plan",
    "plan_of",
    "resolve",
    "resolve_bits",
    "resolve_unpacked",
    "rounding_arguments",
]


TEXT = NUMBERS | {Kind.STRING}
CAST = Caller(kinds=TEXT)
CAST_LIKE = Caller("source", "like", "CastLike", TEXT)
ENCODE = Caller()
DECODE = Caller(array="codes")
PACK = Caller("source", "source", moves_bits=True)
UNPACK = Caller("source", "source", array="packed", moves_bits=True)


class CastOptions(NamedTuple):
    """The options of a cast, as the caller spelled them."""

    saturate: bool = True
    round_mode: str | None = None
    opset: int = NEWEST
    options: RoundingOptions | None = None


_DEFAULTS = CastOptions()

_BITS = NUMBERS | {Kind.COMPLEX}
"""The kinds whose bits BitCast reads."""

_FLOAT32_MANTISSA = 23
_SMALLEST = -126  # exponents of normal float32 numbers
_LARGEST = 127


def _is_copy(source: Format, target: Format, saturate: bool) -> bool:
    # A saturating float8 cast applies the table to its own format too; it is the identity but for Inf and NaN payloads.
    applies_table = target.saturates == "asked" and (target.has_inf or target.nan_count > 1) and saturate
    return source == target and not applies_table


def _is_rounded_by_adding(target: Format) -> bool:
    """Whether the loops of ONNX's rule encode a format: they add a power of two that is a float32, and the sign."""
    if is_in_table(target):
        return True
    fields = (target.exponent_bits, target.mantissa_bits, target.bias, target.has_inf, target.nan)
    is_half_of_single = fields == (8, 7, _LARGEST, True, NaNRule.IEEE)
    fits = target.emax <= _LARGEST - 1 - _FLOAT32_MANTISSA + target.mantissa_bits or is_half_of_single
    return target.signed and target.mantissa_bits > 0 and target.emin >= _SMALLEST and fits


def make_plan(source: Format, target: Format, rules: CastRules, names: tuple[str, str] = ("source", "to")) -> Plan:
    """Resolve one conversion.

    Parameters
    ----------
    source, target : Format
        Two numeric, bool or string formats.
    rules : CastRules
        The options as `operator_versions.cast_rules` resolved them.
    names : tuple of str
        The caller's parameters for both formats.

    Returns
    -------
    Plan
        Plain numbers for the back ends.

    Raises
    ------
    ValueError
        If no back end converts one of the formats.
    """
    if target.kind is not Kind.STRING and rules.rounding is None and _is_copy(source, target, rules.saturate):
        return copy_plan(source)
    check_convertible(source, names[0])
    check_convertible(target, names[1])
    if target.kind is Kind.STRING:
        return Plan(Method.TEXT, source, target)
    if source.kind is Kind.STRING:
        return Plan(Method.TEXT, source, target, through=make_plan(FLOAT64, target, rules, names))
    if target.kind is Kind.BOOL:
        return Plan(Method.NONZERO, source, target)
    if target.kind is Kind.INT:
        return Plan(Method.TRUNCATE, source, target)
    if rules.rounding is not None:
        limits = limits_of(target, rules.rounding)
        return Plan(Method.ROUND, source, target, rounding=rules.rounding, limits=limits)
    if target.has_zero and not _is_rounded_by_adding(target):
        rounding = onnx_rounding(target, rules.saturate)
        return Plan(Method.ROUND, source, target, rounding=rounding, limits=limits_of(target, rounding))
    method = Method.NEAREST_EVEN if target.has_zero else Method.POWER
    limits = onnx_limits(target, rules.saturate, rules.inf_is_nan)
    return Plan(method, source, target, round_mode=rules.round_mode, limits=limits)


@lru_cache(maxsize=CACHED)
def plan_of(source: Format, target: Format) -> Plan:
    """Return the plan of ONNX's Cast without options, by the newest opset."""
    return make_plan(source, target, cast_rules(source, target))


_kept_plan = lru_cache(maxsize=4096)(make_plan)


@remembered
def _resolve(
    dtype: Any,
    source: object,
    to: object,
    caller: Caller,
    saturate: bool,
    round_mode: str | None,
    opset: int,
    options: RoundingOptions | None,
) -> Plan:
    stored = format_of(dtype, source, (caller.array, caller.source), caller.kinds)
    target = as_format(to, parameter=caller.target)
    if stored.kind is Kind.STRING:  # the array says so, whatever `source` is
        caller = caller._replace(source=caller.array)
    rules = cast_rules(stored, target, saturate, round_mode, opset, caller, options)
    return copy_plan(target) if caller.moves_bits else _kept_plan(stored, target, rules, (caller.source, caller.target))


def resolve(x: Any, source: object, to: object, caller: Caller, options: CastOptions = _DEFAULTS) -> Plan:
    """Return the plan of a conversion of `x`, or raise what its function promises."""
    if type(x) is not ndarray:
        namespace(x, caller.array)
    return _resolve(x.dtype, source, to, caller, *options)


def resolve_unpacked(source: Format, to: object, caller: Caller) -> Plan:
    """Return the plan of a conversion from packed codes, whose dtype says nothing."""
    target = as_format(to, parameter=caller.target)
    rules = cast_rules(source, target, caller=caller)
    return copy_plan(target) if caller.moves_bits else _kept_plan(source, target, rules, (caller.source, caller.target))


def resolve_bits(dtype: Any, source: object, to: object, opset: int) -> tuple[Format, Format]:
    """Return the two formats of a BitCast, or raise what `bitcast` promises."""
    version = version_of(opset, "BitCast")
    stored = format_of(dtype, source, kinds=_BITS)
    target = as_format(to, parameter="to")
    if not (source is not None and stored.bits == target.bits == 6):
        check_type(stored, version, "source", "BitCast", _BITS)
        check_type(target, version, "to", "BitCast", _BITS)
    check_opset(stored, opset)
    check_opset(target, opset)
    if stored.bits != target.bits or target.bits == 0:
        codes = source is None and stored.is_integer and target.bits < stored.bits
        hint = " (if `x` holds codes, say of which format with `source=`)" if codes else ""
        wanted = f"{stored.bits} bits wide, as {stored.name} is"
        raise ValueError(f"`to` must be {wanted}; got {target.name} of {target.bits}{hint}")
    return stored, target


def check_stream(rounding: object, seed: object, random_bits: object, offset: object) -> Stream | None:
    """Return what the function of this name of `rounding_modes` returns."""
    return rounding_modes.check_stream(rounding, seed_argument(seed), random_bits, offset)


def rounding_arguments(
    rounding: object, overflow: object, nan: object, seed: object, random_bits: object, offset: object
) -> tuple[RoundingOptions | None, Stream | None]:
    """Return what the function of this name of `rounding_modes` returns."""
    return rounding_modes.rounding_arguments(rounding, overflow, nan, seed_argument(seed), random_bits, offset)
