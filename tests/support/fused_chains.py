"""The fused loops of every tier, the programs of real plans that they carry out, and the chains that they replace."""

from __future__ import annotations

import functools
import importlib
import itertools
import re
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lowprec import _kernels
from lowprec.plans.plan import Plan
from lowprec.plans.quantize_plan import QuantizeOptions, dequantize_plan, quantize_plan
from lowprec.spec.formats import FORMATS, NUMERIC, Kind, NaNRule
from support.compare import assert_same
from support.custom_formats import CUSTOM_FORMATS, float_format
from support.paths import ROOT
from support.plans import cast_plans, programs_of, rounded_plans

TIERS = {name: importlib.import_module(f"lowprec._native.tier_{name}") for name in _kernels.available_isas()}
FUSED = sorted({name for tier in TIERS.values() for name in tier.FUSED_LOOPS})
FUSED_SCALED = sorted({name for tier in TIERS.values() for name in tier.FUSED_SCALE_LOOPS})
BY_RECIPROCAL = frozenset(name for tier in TIERS.values() for name in tier.BY_RECIPROCAL)

# Formats that are in no table: of 4 bits with values so small that float16 has none next to them, and a sample.
DESCRIBED = [
    float_format("e2m1b20", (2, 1, 20), nan=NaNRule.NONE, inf=False),
    float_format("e1m2b20", (1, 2, 20), nan=NaNRule.NONE, inf=False),
    *CUSTOM_FORMATS[::8],
]
LENGTHS = [*range(131), *range(1020, 1029), *range(1085, 1090), 2047, 2048, 2049, 2111, 2113]
_TYPES = {"int": "i", "unsigned int": "I", "unsigned long long": "Q"}


class Conversion(NamedTuple):
    """A plan, the options of the cast that it is of, and its program."""

    plan: Plan
    options: dict[str, Any]
    program: _kernels.Program

    def __str__(self) -> str:
        return f"{self.plan.source.name} to {self.plan.target.name}, {self.options}"


@functools.cache
def chain_of(program: _kernels.Program) -> _kernels.Program:
    """Return the program of the same loops, one after the other; its parameters have the names of params.h."""
    text = (ROOT / "lowprec" / "_native" / "params.h").read_text(encoding="utf-8")
    fields = re.findall(rf"^    ({'|'.join(sorted(_TYPES, key=len, reverse=True))}) (\w+);", text, re.MULTILINE)
    values = struct.unpack("=" + "".join(_TYPES[kind] for kind, _ in fields), program.params)
    params = {name: value for (_, name), value in zip(fields, values, strict=True)}
    make: Any = _kernels.Program
    chain: _kernels.Program = make(program.names, program.src_bits, program.dst_bits, params, fused=False)
    assert chain.params == program.params
    return chain


def _quantizations() -> Iterator[tuple[Plan, dict[str, Any]]]:
    floats = [FORMATS[name] for name in ("float16", "bfloat16", "float32")]
    codes = [row for row in NUMERIC if row.bits <= 16 and row not in floats and row.has_zero and row.kind != Kind.BOOL]
    for code, precision, row in itertools.product(codes, [*floats, FORMATS["float64"]], [*floats, FORMATS["int32"]]):
        for zero, saturate in itertools.product((code, None), (True, False)):
            output = None if zero else code
            options = QuantizeOptions(output_dtype=output, precision=precision, saturate=saturate)
            yield quantize_plan(row, row, zero, options), {"saturate": saturate, "precision": precision}
    for code, result, shifted in itertools.product(codes, floats, (True, False)):
        options = QuantizeOptions(output_dtype=result)
        yield dequantize_plan(code, result, code if shifted else None, options), {"output_dtype": result}


@functools.cache
def conversions() -> dict[str, list[Conversion]]:
    """Return the different programs of each chain, by the names of its loops joined by dots."""
    found: dict[str, dict[_kernels.Program, Conversion]] = {}
    rounded = ((plan, {"rounding": plan.rounding}) for plan in rounded_plans() if not plan.stochastic)
    for plan, options in itertools.chain(cast_plans([*NUMERIC, *DESCRIBED]), _quantizations(), rounded):
        for program in programs_of(plan):
            found.setdefault(".".join(program.names), {}).setdefault(program, Conversion(plan, options, program))
    return {name: list(programs.values()) for name, programs in found.items()}


@functools.cache
def fused_conversions(name: str) -> list[Conversion]:
    """Return the conversions that run a fused loop."""
    return [made for made in conversions().get(name, []) if made.program != chain_of(made.program)]


def unlike(conversions: list[Conversion], most: int) -> list[Conversion]:
    """Return a few of many, the first and the last among them."""
    places = np.unique(np.linspace(0, len(conversions) - 1, most).round().astype(int)) if conversions else []
    return [conversions[place] for place in places]


GUARD = 64  # bytes after a result that must stay as they are
UNTOUCHED = 0xA5


def run(
    program: _kernels.Program, src: np.ndarray, n: int, operands: _kernels.Operands | None = None, *, threads: int = 1,
    start: int = 0,
) -> np.ndarray:  # fmt: skip
    """Convert n elements to memory `start` elements, or bytes of packed ones, past a multiple of 64; return it."""
    size, item = (n * program.dst_bits + 7) // 8, max(program.dst_bits // 8, 1)
    memory = np.full(64 + start * item + size + GUARD, UNTOUCHED, np.uint8)
    first = -memory.ctypes.data % 64 + start * item
    _kernels.run(program, src.view(np.uint8), memory[first : first + size], n, operands, None, threads)
    assert np.all(memory[:first] == UNTOUCHED)
    assert np.all(memory[first + size :] == UNTOUCHED)
    return memory[first : first + size]


def elements_of(src: np.ndarray, program: _kernels.Program, start: int, n: int) -> np.ndarray:
    """Return the bytes of n elements from `start` on; of packed ones, from the byte `start` on."""
    first = start * max(program.src_bits // 8, 1)
    return src.view(np.uint8)[first : first + (n * program.src_bits + 7) // 8]


def check(got: np.ndarray, expected: np.ndarray, program: _kernels.Program, what: object) -> None:
    """Fail with the first element that differs."""
    unsigned = f"u{max(program.dst_bits // 8, 1)}"
    assert_same(got.view(unsigned), expected.view(unsigned), what)
