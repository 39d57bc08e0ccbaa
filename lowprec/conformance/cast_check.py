"""Cast compared with exact arithmetic for one source and one target; and the rule that decides one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ops.encode_pack import encode
from ..reference.exact_cast import Value
from ..reference.whole_arrays import Codes, expected_rounded, is_power
from ..spec.formats import FLOAT64, ONNX_NUMERIC, Format, NaNRule, as_format
from ..spec.operator_versions import INF_IS_NAN, NEWEST
from ..spec.rounding_modes import ROUND_MODES, RoundingOptions, check_rounding
from .cast_cases import FAMILIES, expected_codes, inputs, rules_of_inputs, within

__all__ = ["CastCheck", "check_cast", "rule_of_cast"]

MOST_INPUTS = 1 << 17


@dataclass(frozen=True, slots=True)
class CastCheck:
    """How many codes of a source were cast, how many came out otherwise than exactly, and the first that did."""

    source: Format
    target: Format
    tried: int
    differ: int
    first: int | None


def check_cast(source: object, target: object, /, **options: Any) -> CastCheck:
    """Compare `lowprec.encode` with exact arithmetic, element by element.

    Parameters
    ----------
    source : str, int, dtype or Format
        The format of the inputs: every code up to 16 bits, of wider formats at most 131,072 codes at and around the
        target's values, ties and limits, with NaN payloads and Inf.
    target : str, int, dtype or Format
        The format that they are cast to.
    **options
        `saturate`, `round_mode` and `opset` as `lowprec.encode` takes them; or `rounding`, which is not stochastic,
        and `overflow`.

    Returns
    -------
    CastCheck
        How many inputs were tried, and how many codes differ.

    Raises
    ------
    ValueError
        If the formats or options do not go together, as `lowprec.encode` says.

    Examples
    --------
    >>> from lowprec.conformance.cast_check import check_cast
    >>> check = check_cast("bfloat16", "float8_e4m3fn", saturate=False)
    >>> check.tried, check.differ
    (65536, 0)
    """
    old, new = as_format(source), as_format(target)
    codes, values = _inputs(old, new)
    step = -(-len(codes) // MOST_INPUTS)
    codes, values = codes[::step], values[::step]
    found = np.asarray(encode(codes, new, source=old, **options)).reshape(-1)
    expected = _expected(codes, values, old, new, options)
    differs = found != expected
    count = int(differs.sum())
    return CastCheck(old, new, len(codes), count, int(codes[int(np.argmax(differs))]) if count else None)


def _inputs(source: Format, target: Format) -> tuple[Codes, Codes]:
    if source.is_float and source.bits == 16 and source.onnx_enum is not None:  # quickly
        codes = np.arange(1 << 16, dtype=source.code_dtype)
        with np.errstate(invalid="ignore"):  # signalling NaNs
            return codes, codes.view(source.dtype).astype(np.float64)
    return inputs(source, target)


def _expected(codes: Codes, values: Codes, source: Format, target: Format, options: dict[str, Any]) -> Codes:
    if options.get("rounding") is not None:
        rounding = RoundingOptions(options["rounding"], options.get("overflow"), options.get("nan"))
        return expected_rounded(codes, source, target, check_rounding(rounding, target, "target"))
    by_table = target.saturates == "asked" and target.has_inf and options.get("saturate", True)
    if source is target and not by_table:  # the bits are copied
        return codes
    return expected_codes(values, target, **options)


def rule_of_cast(x: object, target: object, source: object = FLOAT64, /, **options: Any) -> str | None:
    """Return the name of the rule, a key of `rules.RULES`, that decides what a number becomes; None where none does.

    Parameters
    ----------
    x : number, str or Value
        The number; what float64 lacks is taken as the float64 nearest to it.
    target : str, int, dtype or Format
        The format that it is cast to.
    source : str, int, dtype or Format
        The format that it is cast from.
    **options
        Those of `check_cast`.

    Examples
    --------
    >>> from lowprec.conformance.cast_check import rule_of_cast
    >>> rule_of_cast(465, "float8_e4m3fn")
    'float8 overflow saturate'
    """
    old, new, value = as_format(source), as_format(target), Value.of(x)
    if options.get("rounding") is not None:
        return _rounding_rule(_float64(value), new, options)
    if old not in ONNX_NUMERIC or new not in ONNX_NUMERIC:
        return None
    if old is new:
        by_table = new.saturates == "asked" and new.has_inf and options.get("saturate", True)
        return "same saturate" if by_table else "same"
    values = np.array([_float64(value)])
    if old.is_integer and not value.special and old.min <= value.number <= old.max:
        values = np.array([int(value.number)], np.int64 if old.signed else np.uint64)
    asked = {
        "saturate": options.get("saturate", True),
        "round_mode": (options.get("round_mode") or ROUND_MODES[0]) if is_power(new) else None,
        "opset": NEWEST,
    }
    if new.nan is NaNRule.NEGATIVE_ZERO and value.special == "inf" and asked["saturate"]:
        asked["opset"] = min(NEWEST, options.get("opset", NEWEST)) if options.get("opset") in INF_IS_NAN else NEWEST
    codes = np.array([(value.special == "nan" and old.nan_code) or 0], old.code_dtype)
    return next((name for name, where in rules_of_inputs(old, new, codes, values, asked).items() if where[0]), None)


def _float64(value: Value) -> float:
    try:
        return float(value)
    except OverflowError:
        return float(np.copysign(np.finfo(np.float64).max, -1 if value.negative else 1))


def _rounding_rule(x: float, target: Format, options: dict[str, Any]) -> str | None:
    rounding = check_rounding(
        RoundingOptions(options["rounding"], options.get("overflow"), options.get("nan")), target, "target"
    )
    family = next((name for name, targets in FAMILIES.items() if target in targets), None)
    if family is None or np.isnan(x):
        return None
    inside, over, _ = within(np.array([x]), target)
    if inside.size:
        return f"round {family} {rounding.mode}"
    return f"round {family} {'over' if over.size else 'below'} {rounding.overflow}"
