"""All float32 inputs, converted by the loops of each tier or in array-API calls, against the codes of the oracle."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .._kernels import available_isas, isa, use_isa
from ..backends import array_api
from ..backends.job import Job
from ..ops.codes import encode
from ..plans.resolve_cast import ENCODE, CastOptions, resolve
from ..reference.cast_runs import Codes
from ..spec.rounding_rules import RoundingOptions
from .exhaustive_digests import expected_runs, pieces, slice_digest
from .exhaustive_variants import SLICE, Variant

__all__ = ["LIBRARIES", "DifferenceError", "Way", "array_api_way", "check_slice", "tier_ways"]

LIBRARIES = ("numpy", "torch", "array_api_strict")
"""The array libraries whose calls may be compared."""


class DifferenceError(ValueError):
    """A result is not the expected one: the text names the first input."""


class Way(NamedTuple):
    """A way to convert an array: its name, and what returns the codes."""

    name: str
    convert: Callable[[Codes, Variant], Any]


@contextmanager
def _tier(name: str) -> Iterator[None]:
    active = isa()
    use_isa(name)
    try:
        yield
    finally:
        use_isa(active)


def _tier_way(name: str) -> Way:
    def convert(x: Codes, variant: Variant) -> Any:
        with _tier(name):
            return encode(x, variant.target, packed=variant.packed, **variant.options)

    return Way(name, convert)


def tier_ways(name: str = "all") -> list[Way]:
    """Return the ways by compiled loops: those of one instruction set, or of all that this machine and build have.

    Examples
    --------
    >>> [way.name for way in tier_ways("base")]
    ['base']
    """
    known = available_isas()
    if name != "all" and name not in known:
        raise ValueError(f"`--isa` must be one of {', '.join(known)}, all on this machine; got {name}")
    return [_tier_way(one) for one in (known if name == "all" else [name])]


def array_api_way(name: str) -> Way:
    """Return the way by array-API calls in a library; ValueError where it is not installed."""
    try:
        library = importlib.import_module(name)
    except ImportError:
        raise ValueError(f"`--array-api` must be an installed library; got {name}") from None
    put = library.from_numpy if name == "torch" else library.asarray

    def convert(x: Codes, variant: Variant) -> Any:
        array, rest = put(x), dict(variant.options)
        rules = [rest.pop("rounding", None), rest.pop("overflow", None)]
        beyond = RoundingOptions(*rules) if any(rules) else None
        plan = resolve(array, None, variant.target, ENCODE, CastOptions(**rest, options=beyond))
        return array_api.run(Job(array, plan, codes=True, packed=variant.packed))

    return Way(f"array API in {name}", convert)


def _refuse(variant: Variant, way: Way, first: int, expected: Codes, found: Codes) -> None:
    """Raise DifferenceError, which names the first input whose result is another."""
    what = f"{variant.name}, {way.name}"
    if found.dtype != expected.dtype or found.shape != expected.shape:
        kinds = [f"{array.dtype} of shape {array.shape}" for array in (found, expected)]
        raise DifferenceError(f"{what}: inputs from {first:#010x} give {kinds[0]}, expected {kinds[1]}")
    place = int(np.argmax(found != expected))
    code = first + (place * 8 // variant.target.bits if variant.packed else place)
    value = np.uint32(code).view(np.float32)
    width = 2 + 2 * expected.itemsize
    codes = [f"{int(array[place]):#0{width}x}" for array in (found, expected)]
    packed = "packed with its neighbours " if variant.packed else ""
    raise DifferenceError(f"{what}: input {code:#010x} ({value}) {packed}gives {codes[0]}, expected {codes[1]}")


def check_slice(
    variant: Variant, index: int, ways: list[Way], advance: Callable[[int], object] = lambda inputs: None
) -> str:
    """Compare a slice of the inputs in every way; return its digest, which is the oracle's, or raise DifferenceError.

    `advance` is called with numbers of inputs that were compared.

    Examples
    --------
    >>> from lowprec.conformance.exhaustive_variants import variants
    >>> check_slice(variants()["float4_e2m1fn-saturate"], 0x40, tier_ways("base"))[:16]
    'fdbd8f08935fe3ec'
    """
    runs = expected_runs(variant, index)
    for start, expected in pieces(variant, runs):
        first = index * SLICE + start
        inputs = expected.size * 8 // variant.target.bits if variant.packed else expected.size
        x = (np.arange(inputs, dtype=np.uint32) + np.uint32(first)).view(np.float32)
        for way in ways:
            found = np.asarray(way.convert(x, variant))
            if found.dtype != expected.dtype or not np.array_equal(found, expected):
                _refuse(variant, way, first, expected, found)
        advance(inputs)
    return slice_digest(variant, runs)
