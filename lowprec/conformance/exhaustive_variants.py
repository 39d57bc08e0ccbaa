"""The casts of float32 that are compared for all 2^32 inputs, each with a name; slices of the inputs."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

from ..reference import encode
from ..reference.array_cast import is_power
from ..reference.cast_runs import CODES
from ..spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E5M2, ONNX_NUMERIC, Format
from ..spec.opset_rules import NEWEST
from ..spec.packing import is_packable
from ..spec.round_modes import ROUND_MODES
from ..spec.rounding_rules import OVERFLOWS, ROUNDINGS, STOCHASTIC

__all__ = ["SLICE", "SLICES", "Variant", "chosen", "slice_name", "variants"]

SLICE = 1 << 24
SLICES = CODES // SLICE
"""A slice is the inputs whose codes have the same upper 8 bits, which number it."""

TARGETS = tuple(row for row in ONNX_NUMERIC if row.is_float and row.bits <= 16)
ROUNDED_TARGETS = (FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT4_E2M1FN)
"""The targets of every rounding beyond ONNX."""

OPSETS = (NEWEST, 23)
"""The newest rules, and the last version that has others."""


class Variant(NamedTuple):
    """A cast of float32 with its options, which are those of `encode`."""

    name: str
    target: Format
    options: Mapping[str, Any]
    packed: bool = False


def _opsets(target: Format, options: Mapping[str, Any]) -> list[int]:
    """Return the opsets that treat Inf, the one input whose rule changed, in different ways; the newest first."""
    found: dict[int, int] = {}
    for opset in OPSETS:
        if target.since is not None and target.since <= opset:
            found.setdefault(encode("inf", target, opset=opset, **options), opset)
    return list(found.values())


def _make(target: Format, words: list[str], options: dict[str, Any], packed: bool = False) -> Variant:
    return Variant("-".join([target.name, *words, *["packed"] * packed]), target, MappingProxyType(options), packed)


def _by_onnx(target: Format) -> Iterator[Variant]:
    modes: tuple[str | None, ...] = ROUND_MODES if is_power(target) else (None,)
    for mode, saturate in product(modes, (True, False)):
        words = [*([] if mode is None else [mode]), "saturate" if saturate else "no_saturate"]
        options = {"saturate": saturate, **({} if mode is None else {"round_mode": mode})}
        for opset in _opsets(target, options):
            if opset == NEWEST:
                for packed in (False, True) if is_packable(target) else (False,):
                    yield _make(target, words, options, packed)
            else:
                yield _make(target, [*words, f"opset{opset}"], {**options, "opset": opset})


def _by_rounding(target: Format) -> Iterator[Variant]:
    for rounding, overflow in product((name for name in ROUNDINGS if name not in STOCHASTIC), OVERFLOWS):
        yield _make(target, [rounding, overflow], {"rounding": rounding, "overflow": overflow})


@functools.cache
def variants() -> Mapping[str, Variant]:
    """Return every variant by its name.

    Examples
    --------
    >>> [name for name in variants() if "fnuz-" in name][:3]
    ['float8_e4m3fnuz-saturate', 'float8_e4m3fnuz-saturate-opset23', 'float8_e4m3fnuz-no_saturate']
    >>> variants()["float8_e8m0fnu-down-no_saturate"].options
    mappingproxy({'saturate': False, 'round_mode': 'down'})
    """
    every = [one for target in TARGETS for one in _by_onnx(target)]
    every += [one for target in ROUNDED_TARGETS for one in _by_rounding(target)]
    return MappingProxyType({one.name: one for one in every})


def chosen(names: list[str] | None) -> list[Variant]:
    """Return the variants that have one of the names, or one of the target formats; all where None is given.

    Examples
    --------
    >>> [variant.name for variant in chosen(["float4_e2m1fn-saturate", "bfloat16"])]
    ['bfloat16-saturate', 'bfloat16-no_saturate', 'float4_e2m1fn-saturate']
    """
    every = variants().values()
    if names is None:
        return list(every)
    targets = [target.name for target in TARGETS]
    for name in names:
        if name not in variants() and name not in targets:
            wanted = f"one of {', '.join(targets)}, or a variant such as {next(iter(variants()))}"
            raise ValueError(f"`--target` must be {wanted}; got {name!r}")
    return [one for one in every if one.name in names or one.target.name in names]


def slice_name(index: int) -> str:
    """Return the number of a slice as files and messages have it: the upper 8 bits of its inputs.

    Examples
    --------
    >>> slice_name(63)
    '0x3f'
    """
    return f"0x{index:02x}"
