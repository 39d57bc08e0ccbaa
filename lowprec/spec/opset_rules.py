"""What each version of an operator takes, from the rows' `since` and one table of versions and attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .arguments import as_flag, as_integer, shown
from .formats import FORMATS, NUMBERS, Format, Kind
from .round_modes import check_round_mode
from .rounding_rules import Rounding, RoundingOptions, check_rounding

__all__ = [
    "NEWEST",
    "Caller",
    "CastRules",
    "cast_rules",
    "check_alone",
    "check_attribute",
    "check_opset",
    "check_saturate",
    "check_type",
    "first_opset",
    "unless_undefined",
    "version_of",
]

NEWEST = 28
"""The newest opset this table knows, and the default everywhere."""

VERSIONS = {
    "Cast": (1, 6, 9, 13, 19, 21, 23, 24, 25, 28),
    "CastLike": (15, 19, 21, 23, 24, 25),
    "BitCast": (26,),
    "QuantizeLinear": (10, 13, 19, 21, 23, 24, 25, 28),
    "DequantizeLinear": (10, 13, 19, 21, 23, 24, 25, 28),
    "DynamicQuantizeLinear": (11,),
}
"""The opsets that changed each operator; those between use the newest one not above them."""

ATTRIBUTE_SINCE = {
    "Cast": {"saturate": 19, "round_mode": 24},
    "CastLike": {"saturate": 19, "round_mode": 24},
    "QuantizeLinear": {"axis": 13, "saturate": 19, "block_size": 21, "output_dtype": 21, "precision": 23},
    "DequantizeLinear": {"axis": 13, "block_size": 21, "output_dtype": 23},
}
"""The first opset in which the operator has the attribute."""

INF_IS_NAN = range(19, 24)
"""The versions whose saturating table sends Inf to NaN in formats where -0 is the NaN code (FNUZ)."""


@dataclass(frozen=True, slots=True)
class CastRules:
    """The resolved options of one Cast: what the version of the operator leaves of them."""

    version: int
    saturate: bool
    round_mode: str
    rounding: Rounding | None = None
    """The rules beyond ONNX; None where those of the operator hold."""

    @property
    def inf_is_nan(self) -> bool:
        """Whether a saturating cast sends Inf to NaN in the FNUZ formats."""
        return self.version in INF_IS_NAN


def version_of(opset: int, operator: str = "Cast") -> int:
    """Return the version of an operator that `opset` uses."""
    first = VERSIONS[operator][0]
    number = as_integer(opset)
    if number is None:
        raise ValueError(f"`opset` must be an integer from {first} to {NEWEST}; got {shown(opset)}")
    if not first <= number <= NEWEST:
        raise ValueError(f"`opset` must be from {first} to {NEWEST} for {operator}; got {shown(number)}")
    return max(version for version in VERSIONS[operator] if version <= number)


def first_opset(fmt: Format) -> int:
    """Return the first opset whose Cast takes a format; of formats that ONNX lacks the default is the only one."""
    return NEWEST if fmt.since is None else fmt.since


def check_opset(fmt: Format, opset: int) -> None:
    """Raise ValueError for a format that ONNX lacks unless the opset is the default."""
    if fmt.since is None and opset != NEWEST:
        raise ValueError(f"`opset` must be {NEWEST}, the default, for {fmt.name}, which ONNX lacks; got {opset}")


def check_type(
    fmt: Format, version: int, parameter: str, operator: str = "Cast", kinds: frozenset[Kind] = NUMBERS
) -> None:
    """Raise ValueError unless that version of the operator takes the format, and the caller its kind.

    Of a format that ONNX lacks the version says nothing: see `check_opset`.
    """
    if fmt.kind not in kinds:
        names = ", ".join(row.name for row in FORMATS.values() if row.kind in kinds and first_opset(row) <= version)
        raise ValueError(f"`{parameter}` must be one of {names}; got {fmt.name}")
    if fmt.since is not None and fmt.since > version:
        later = [known for known in VERSIONS[operator] if known >= fmt.since]
        has = f"which {operator} has since opset {later[0]}" if later else f"which no version of {operator} has"
        raise ValueError(f"`{parameter}` must be a type that {operator}-{version} has; got {fmt.name}, {has}")


def check_attribute(attribute: str, value: object, default: object, opset: int, operator: str) -> None:
    """Raise ValueError if an attribute that the operator lacks at `opset` is set to something else than its default."""
    since = ATTRIBUTE_SINCE[operator][attribute]
    if opset < since and value is not default and (default is None or value != default):
        raise ValueError(f"`{attribute}` must be {default} before opset {since}; got opset {opset}")


def unless_undefined(fmt: object) -> object:
    """Return the type that an attribute names; None for 0, ONNX's UNDEFINED."""
    is_number = isinstance(fmt, (int, np.integer)) and not isinstance(fmt, bool)
    return None if is_number and fmt == 0 else fmt


def check_saturate(saturate: object, opset: int, operator: str) -> None:
    """Raise ValueError unless `saturate` is a truth value, and True where the operator has no such attribute."""
    check_attribute("saturate", as_flag(saturate, "saturate"), True, opset, operator)


_SAME = {
    ("saturate", "False"): ": `overflow` 'ovf_inf' means the same",
    ("round_mode", "up"): ": `rounding` 'away_from_zero' means the same",
    ("round_mode", "down"): ": `rounding` 'toward_zero' means the same",
    ("round_mode", "nearest"): ": `rounding` 'nearest_away' means the same",
}
"""What an attribute of ONNX is called by a rule beyond ONNX, to follow a message."""


def check_alone(options: RoundingOptions, attributes: Mapping[str, tuple[object, object]]) -> None:
    """Raise ValueError, which names both, if an attribute of ONNX is set where a rule beyond ONNX is given.

    `attributes` are by name their values and their defaults.
    """
    rule = "rounding" if options.rounding is not None else "overflow" if options.overflow is not None else "nan"
    for name, (value, default) in attributes.items():
        if type(value) is not type(default) or value != default:
            same = _SAME.get((name, str(value)), "") if isinstance(value, (bool, str)) else ""
            raise ValueError(
                f"`{name}` must be {default}, its default, where `{rule}` is given; got {shown(value)}{same}"
            )


class Caller(NamedTuple):
    """The function whose arguments are checked: names of its parameters, its operator, the kinds of format it takes."""

    source: str = "source"
    target: str = "to"
    operator: str = "Cast"
    kinds: frozenset[Kind] = NUMBERS


_CAST = Caller()


def cast_rules(
    source: Format,
    target: Format,
    saturate: bool = True,
    round_mode: str | None = None,
    opset: int = NEWEST,
    caller: Caller = _CAST,
    options: RoundingOptions | None = None,
) -> CastRules:
    """Check types and attributes against the version of Cast, or CastLike, in force at `opset`.

    Attributes that do not concern the target are ignored, as ONNX does; an attribute that the version lacks is an
    error as soon as it is set to something else than its default. `options` are rules beyond ONNX: no attribute of the
    operator goes with them.
    """
    rounding = None
    if options is not None:
        check_alone(options, {"saturate": (saturate, True), "round_mode": (round_mode, None), "opset": (opset, NEWEST)})
        rounding = check_rounding(options, target, caller.target)
    version = version_of(opset, caller.operator)
    check_type(source, version, caller.source, caller.operator, caller.kinds)
    check_type(target, version, caller.target, caller.operator, caller.kinds)
    check_opset(source, opset)
    check_opset(target, opset)
    check_saturate(saturate, opset, caller.operator)
    mode = check_round_mode(round_mode)
    check_attribute("round_mode", round_mode, None, opset, caller.operator)
    return CastRules(version, bool(saturate), mode, rounding)
