"""From the arguments of a public function to a plan, checked once and cached."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from numpy import ndarray

from ..arrays.libraries import format_of, namespace
from ..spec.formats import NUMBERS, Format, Kind, as_format
from ..spec.opset_rules import NEWEST, Caller, cast_rules, check_opset, check_type, version_of
from ..spec.rounding_rules import RoundingOptions
from .cast_plan import Plan, copy_plan, make_plan

__all__ = [
    "CAST", "CAST_LIKE", "DECODE", "ENCODE", "PACK", "TEXT", "UNPACK", "CastOptions", "resolve", "resolve_bits",
    "resolve_unpacked",
]  # fmt: skip


class EntryPoint(NamedTuple):
    """The caller's parameters, the ONNX operator whose rules hold, and the kinds of format it takes."""

    array: str
    source: str
    target: str
    operator: str = "Cast"
    kinds: frozenset[Kind] = NUMBERS
    moves_bits: bool = False  # whether codes are moved as they are, whatever a cast of the format to itself does


TEXT = NUMBERS | {Kind.STRING}
CAST = EntryPoint("x", "source", "to", kinds=TEXT)
CAST_LIKE = EntryPoint("x", "source", "like", "CastLike", TEXT)
ENCODE = EntryPoint("x", "source", "fmt")
DECODE = EntryPoint("codes", "source", "to")
PACK = EntryPoint("x", "source", "source", moves_bits=True)
UNPACK = EntryPoint("packed", "fmt", "fmt", moves_bits=True)


class CastOptions(NamedTuple):
    """The options of a cast, as the caller spelled them."""

    saturate: bool = True
    round_mode: str | None = None
    opset: int = NEWEST
    options: RoundingOptions | None = None


_DEFAULTS = CastOptions()


def _make(dtype: Any, source: object, to: object, entry: EntryPoint, *options: Any) -> Plan:
    stored = format_of(dtype, source, (entry.array, entry.source), entry.kinds)
    target = as_format(to, parameter=entry.target)
    names = (entry.array if stored.kind is Kind.STRING else entry.source, entry.target)
    caller = Caller(*names, entry.operator, entry.kinds)
    rules = cast_rules(stored, target, **CastOptions(*options)._asdict(), caller=caller)
    return copy_plan(target) if entry.moves_bits else _shared(stored, target, rules, names)


_shared = lru_cache(maxsize=4096)(make_plan)
_cached = lru_cache(maxsize=4096, typed=True)(_make)  # typed: True must not find what 1, the enum of float32, left


def resolve(x: Any, source: object, to: object, entry: EntryPoint, options: CastOptions = _DEFAULTS) -> Plan:
    """Return the plan of a conversion of `x`, or raise what its function promises."""
    if type(x) is not ndarray:
        namespace(x, entry.array)
    try:
        return _cached(x.dtype, source, to, entry, *options)
    except TypeError:  # an option that cannot be a key of the cache cannot be right: let the checks name it
        return _make(x.dtype, source, to, entry, *options)


def resolve_unpacked(source: Format, to: object, entry: EntryPoint) -> Plan:
    """Return the plan of a conversion from packed codes, whose dtype says nothing."""
    target, names = as_format(to, parameter=entry.target), (entry.source, entry.target)
    rules = cast_rules(source, target, caller=Caller(*names))
    return copy_plan(target) if entry.moves_bits else _shared(source, target, rules, names)


_BITS = NUMBERS | {Kind.COMPLEX}
"""The kinds whose bits BitCast reads."""


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
