"""Cases of Cast: every code of the narrow sources, sweeps of the wide ones, to every format, sorted by rule."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import reference
from ..reference.array_cast import Codes, expected_from_float64, expected_from_integers, is_power, table
from ..spec.formats import ONNX_NUMERIC, Format, Kind, NaNRule
from ..spec.opset_rules import INF_IS_NAN, NEWEST
from ..spec.round_modes import ROUND_MODES
from .cases import Call, Case, Tensor
from .cast_inputs import sweep_float32, sweep_float64, sweep_int64, sweep_uint64

__all__ = ["cast_cases", "expected_codes", "inputs", "rules_of_inputs", "values_of"]

_SWEEP = 1000  # random inputs on top of the edges


@functools.lru_cache(maxsize=64)
def values_of(source: Format) -> Codes:
    """Return the value of every code of a float format of at most 16 bits, as float64; NaNs with their sign."""
    rows = table(source)
    values = np.full(1 << source.bits, np.nan)
    values[rows.negative_codes] = -rows.values
    values[rows.codes] = rows.values
    for code in np.flatnonzero(np.isnan(values)):
        values[code] = float(reference.decode(int(code), source))
    return values


def inputs(source: Format, target: Format) -> tuple[Codes, Codes]:
    """Return codes of a source, and their exact values as float64, int64 or uint64."""
    if source.bits <= 16:
        codes = np.arange(2 if source.kind is Kind.BOOL else 1 << source.bits)
        if source.is_float:
            return codes.astype(source.code_dtype), values_of(source)
        return codes.astype(source.code_dtype), np.where(codes & source.sign_mask, codes - (1 << source.bits), codes)
    if source.is_float:
        floats = (sweep_float32 if source.bits == 32 else sweep_float64)(target, count=_SWEEP)
        with np.errstate(invalid="ignore"):  # signalling NaNs
            return floats.view(source.code_dtype), floats.astype(np.float64)
    integers = (sweep_int64 if source.signed else sweep_uint64)(target, count=_SWEEP)
    if source.bits == 32:
        integers = integers[(integers >= int(source.min)) & (integers <= int(source.max))].astype(np.int64)
    return integers.astype(source.dtype).view(source.code_dtype), integers


def expected_codes(values: Codes, target: Format, **options: Any) -> Codes:
    """Return the codes that Cast gives exact values: float64, int64 or uint64."""
    from_values = expected_from_float64 if values.dtype.kind == "f" else expected_from_integers
    return from_values(values, target, **options)


def _rounded_twice(values: Codes, source: Format, target: Format, options: dict[str, Any]) -> Codes:
    """Return where going through float32, or an integer through float64, gives another code or just overflows."""
    differs = np.zeros(values.shape, bool)
    if source.bits < 32 or (source.is_float and source.bits == 32):
        return differs
    unsaturated = {**options, "saturate": False}  # which tells the overflow from the largest value
    once = expected_codes(values, target, **unsaturated)
    with np.errstate(all="ignore"):
        through = [values.astype(np.float32).astype(np.float64)] if target.bits < 32 else []
        if not source.is_float and target.bits < 64:
            through.append(values.astype(np.float64))
    for route in through:
        differs |= expected_codes(route, target, **unsaturated) != once
    return differs & np.isfinite(values)


def _beyond(values: Codes, target: Format) -> Codes:
    """Return which finite values round beyond the largest of a float target."""
    a = np.abs(values.astype(np.float64))
    if target.bits > 16:
        with np.errstate(over="ignore", invalid="ignore"):
            over = np.isinf(a.astype(target.dtype))
    else:
        rows = table(target)
        over = (a > rows.midpoints[-1]) | ((a == rows.midpoints[-1]) & bool(rows.codes[-1] & 1))
    overflows: Codes = np.isfinite(a) & over
    return overflows


def _to_float(
    source: Format, target: Format, codes: Codes, values: Codes, options: dict[str, Any]
) -> Iterator[tuple[str, Codes]]:
    """Yield the rules of a float target, the first that holds for an input last."""
    group = "wide" if target.bits >= 16 else "float8" if target.bits == 8 else "small"
    saturate = " saturate" if target.saturates == "asked" and options["saturate"] else ""
    nan, inf = np.isnan(values), np.isinf(values)
    yield "wide exact" if group == "wide" and source.bits <= 8 else f"{group} nearest", np.ones(values.shape, bool)
    yield f"{group} overflow{saturate}", _beyond(values, target)
    yield f"{group} once", _rounded_twice(values, source, target, options)
    if options["opset"] < NEWEST:
        yield "FNUZ Inf", inf
        return
    yield f"{group} Inf{saturate}" if group == "float8" else f"{group} overflow", inf
    yield f"{group} NaN", nan
    if group == "wide" and source.is_float and source.nan is NaNRule.IEEE:
        canonical = np.array(source.nan_code, codes.dtype)
        yield "wide payload", nan & ((codes & np.array(source.magnitude_mask, codes.dtype)) != canonical)


def _to_power(source: Format, target: Format, values: Codes, options: dict[str, Any]) -> Iterator[tuple[str, Codes]]:
    """Yield the rules of a power-of-two target, the first that holds for an input last."""
    saturate = " saturate" if options["saturate"] else ""
    rows = table(target)
    yield f"power {options['round_mode']}", np.ones(values.shape, bool)
    yield "power once", _rounded_twice(values, source, target, options)
    yield f"power below{saturate}", values < rows.values[0]
    yield f"power above{saturate}", values > rows.values[-1]
    yield f"power Inf{saturate}", np.isinf(values)
    yield "power negative", np.signbit(values) if values.dtype.kind == "f" else values < 0
    yield "power NaN", np.isnan(values)


def _to_integer(source: Format, target: Format, values: Codes) -> Iterator[tuple[str, Codes]]:
    group = "narrow" if target.bits < 8 else "whole"
    if not source.is_float:
        yield f"{group} low bits", np.ones(values.shape, bool)
        return
    yield f"{group} truncate", np.ones(values.shape, bool)
    yield "whole beyond", (np.trunc(values) < float(target.min)) | (np.trunc(values) >= float(target.max) + 1)
    yield "whole special", ~np.isfinite(values)


def rules_of_inputs(
    source: Format, target: Format, codes: Codes, values: Codes, options: dict[str, Any]
) -> dict[str, Codes]:
    """Return which inputs each rule decides; every input has one."""
    if target.kind is Kind.BOOL:
        return {"bool": np.ones(values.shape, bool)}
    if target.is_integer:
        rules = _to_integer(source, target, values)
    elif is_power(target):
        rules = _to_power(source, target, values, options)
    else:
        rules = _to_float(source, target, codes, values, options)
    sorted_by: dict[str, Codes] = {}
    with np.errstate(invalid="ignore"):  # signalling NaNs
        for name, decides in rules:
            for others in sorted_by.values():
                others &= ~decides
            sorted_by[name] = sorted_by.get(name, False) | decides
    return sorted_by


def _options(target: Format) -> Iterator[dict[str, Any]]:
    """Yield every set of options that makes a difference to the target."""
    by_attribute = target.saturates == "asked"
    for saturate in (True, False) if by_attribute else (True,):
        for round_mode in ROUND_MODES if is_power(target) else (None,):
            yield {"saturate": saturate, "round_mode": round_mode, "opset": NEWEST}
    if target.nan is NaNRule.NEGATIVE_ZERO:
        yield {"saturate": True, "round_mode": None, "opset": INF_IS_NAN[-1]}


def _call(source: Format, target: Format, codes: Codes, options: dict[str, Any]) -> Call:
    attributes: dict[str, Any] = {"to": target.onnx_enum}
    if target.saturates == "asked":
        attributes["saturate"] = int(options["saturate"])
    if options["round_mode"]:
        attributes["round_mode"] = options["round_mode"]
    return Call("Cast", (Tensor(codes, source),), target, attributes, options["opset"])


def _same(fmt: Format) -> Iterator[Case]:
    codes, values = inputs(fmt, fmt)
    for options in _options(fmt):
        if options["opset"] == NEWEST and options["round_mode"] in (None, ROUND_MODES[0]):
            by_table = fmt.saturates == "asked" and fmt.has_inf and options["saturate"]
            expected = expected_codes(values, fmt, **options) if by_table else codes
            yield Case("same saturate" if by_table else "same", _call(fmt, fmt, codes, options), expected)


def cast_cases() -> Iterator[Case]:
    """Yield the cases of every source and target that hold numbers."""
    plain_first = sorted(ONNX_NUMERIC, key=lambda fmt: not (fmt.is_float and fmt.bits == 32))  # inputs that people know
    for source in plain_first:
        for target in ONNX_NUMERIC:
            if source is target:
                yield from _same(source)
                continue
            codes, values = inputs(source, target)
            for options in _options(target):
                expected = expected_codes(values, target, **options)
                for rule, which in rules_of_inputs(source, target, codes, values, options).items():
                    if which.any() and (options["opset"] == NEWEST or rule == "FNUZ Inf"):
                        yield Case(rule, _call(source, target, codes[which], options), expected[which])
