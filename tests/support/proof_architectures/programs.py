"""The programs and the blocks that the driver runs, and codes with the oracle's results."""

from __future__ import annotations

import contextlib
import itertools
import re
import struct
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np

from lowprec import _kernels
from lowprec.backends import mx_nvfp4_blocks
from lowprec.backends.kernels_of_plan import make_program
from lowprec.plans.block_plan import element_format, mx_plan, nvfp4_plan
from lowprec.plans.cast_plan import make_plan
from lowprec.reference import whole_arrays
from lowprec.reference.whole_arrays import code_values
from lowprec.spec.formats import FLOAT32, FLOAT64, NUMERIC, Format, as_format
from lowprec.spec.operator_versions import NEWEST, CastRules, cast_rules
from lowprec.spec.rounding_modes import OVERFLOWS, ROUNDINGS, STOCHASTIC, Rounding, RoundingOptions
from lowprec.spec.scale_rules import NVFP4_RULES, SPECIALS
from support import cuda_on_cpu
from support.cast_cases import FLOATS, NARROW, expected_codes, options_for
from support.proof_architectures.targets import NATIVE, Driver, widths_of_params

SOURCES = ("float64", "float32", "float16", "bfloat16", "float8_e5m2", "int64", "uint64", "int32", "binary8p1uf")
ROUNDED = (
    "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e3m2fn",
    "float4_e2m1fn", "binary8p3se", "binary8p1uf", "binary16p9ue",
)  # fmt: skip
"""The formats at both ends of the programs of roundings."""

MX_ELEMENTS = (
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "int8",
)  # fmt: skip
WIDTHS = widths_of_params()

Recorded = tuple[tuple[str, ...], int, int, bool, bytes]
"""Loops, bits of an element of the source and of the output, whether there is a fused loop, parameters."""


def _roundings() -> Iterator[Any]:
    """Yield the programs of every rounding without random numbers, and some with them."""
    modes = [mode for mode in ROUNDINGS if mode not in STOCHASTIC]
    for source, target, mode, overflow in itertools.product(SOURCES, ROUNDED, modes, OVERFLOWS):
        rules = CastRules(NEWEST, True, "up", Rounding(mode, overflow, "signed"))
        plan = make_plan(as_format(source), as_format(target), rules)
        yield make_program.__wrapped__(plan, packed=plan.target.bits == 4)
    yield from cuda_on_cpu.roundings()


DESCRIBED = ("binary16p9se", "binary10p4se", "binary12p5sf")


def _others() -> Iterator[Any]:
    """Yield programs that swap the order of bytes at both ends, and those of described formats above 8 bits."""
    for source, target in itertools.product(("float64", "float32", "float16", "int32"), repeat=2):
        plan = make_plan(as_format(source), as_format(target), cast_rules(as_format(source), as_format(target)))
        yield make_program.__wrapped__(plan, swap=True, swap_out=True)
    for name, other in itertools.product(DESCRIBED, (FLOAT32, FLOAT64, as_format("float8_e4m3fn"))):
        for old, new in ((as_format(name), other), (other, as_format(name))):
            yield make_program.__wrapped__(make_plan(old, new, cast_rules(old, new)))


@contextlib.contextmanager
def _recorded() -> Iterator[dict[Any, Recorded]]:
    """Collect the programs that are made."""
    found: dict[Any, Recorded] = {}
    make = _kernels.Program

    def record(names: tuple[str, ...], source_bits: int, target_bits: int, values: dict[str, int]) -> Any:
        made = make(names, source_bits, target_bits, values)
        fused = made != make(names, source_bits, target_bits, values, fused=False)
        found[names, made.params] = names, source_bits, target_bits, fused, made.params
        return made

    with mock.patch.object(_kernels, "Program", record):
        yield found


def all_programs() -> list[Recorded]:
    """Return the programs of all casts and quantizations, each once."""
    with _recorded() as found:
        for programs in (cuda_on_cpu.casts(), cuda_on_cpu.quantizations(), _roundings(), _others()):
            for _ in programs:
                pass
    return [found[key] for key in sorted(found)]


def line_of(program: Recorded, driver: Driver) -> str:
    """Return a program as the driver reads it."""
    names, source_bits, target_bits, fused, params = program
    return f"{source_bits} {target_bits} {fused:d} {driver.text_of(params, WIDTHS)} {' '.join(names)}\n"


# ---- blocks ----------------------------------------------------------------------------------------------------------
def block_lines(driver: Driver) -> list[str]:
    """Return MX and NVFP4 blocks of every element, rule, rounding and treatment of NaN, as the driver reads them."""
    text = NATIVE.joinpath("scalar_block_kernels.h").read_text(encoding="utf-8").partition("} block_params_t;")[0]
    fields, found = re.findall(r"^    (i32|u32|float) (\w+);", text, re.MULTILINE), {}
    letters = {"i32": "<i", "u32": "<I", "float": "<f"}

    def record(params: dict[str, float], **options: Any) -> None:
        packed = b"".join(struct.pack(letters[kind], params[name]) for kind, name in fields)
        flags = f"{options['kind']} {options['ignores']:d} {options['integers']:d} {options['negative_zero']}"
        how = 1 if options["is_random"] else 2 if options["by_adding"] else 0
        block = 16 if options["kind"] else 32
        found[f"{block} {flags} {how} {driver.text_of(packed, [4] * len(fields))}\n"] = None

    modes = [RoundingOptions(mode, "sat_finite", None, 16 if mode in STOCHASTIC else None) for mode in ROUNDINGS]
    with mock.patch.object(_kernels, "BlockProgram", record):
        for options, specials in itertools.product(modes, SPECIALS):
            for element, rule in itertools.product(MX_ELEMENTS, ("floor", "ceil", "rceil", "even", "nearest")):
                plan = mx_plan(FLOAT32, element_format(element), rule, specials, options)
                mx_nvfp4_blocks.block_program.__wrapped__(plan, False)
            for scale_rule in (None, *NVFP4_RULES):
                mx_nvfp4_blocks.block_program.__wrapped__(nvfp4_plan(FLOAT32, scale_rule, specials, options), False)
    return list(found)


# ---- the oracle ------------------------------------------------------------------------------------------------------
def _edges(target: Format, source: Format) -> np.ndarray:
    """Return codes of float32 or float64: values of the target and ties, those next to them, and special codes."""
    if target.is_float and target.bits <= 16:
        values = np.unique(code_values(target))
        values = values[np.isfinite(values)].astype(np.float64)
        values = values[:: max(1, len(values) // 512)]
        values = np.concatenate([values, (values[1:] + values[:-1]) / 2, values[-1:] * 2, values[-1:] * 1.0625])
    else:
        powers = np.exp2(np.arange(0, 66, dtype=np.float64))
        values = np.concatenate([powers, powers - 1, powers + 0.5, -powers, -powers - 1])
    word = source.code_dtype
    with np.errstate(over="ignore"):
        codes = values.astype(f"f{word.itemsize}").view(word)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan], f"f{word.itemsize}").view(word)
    return np.unique(np.concatenate([codes, codes + word.type(1), codes - word.type(1), special]))


def cases_of_oracle() -> Iterator[tuple[str, Recorded, np.ndarray, np.ndarray]]:
    """Yield name, program, codes of the source and codes that they must become, computed by `lowprec.reference`."""
    pairs = [*itertools.product((FLOAT32, FLOAT64), NUMERIC), *itertools.product(NARROW, FLOATS)]
    for source, target in pairs:
        for options in options_for(target):
            if "opset" in options or source is target:
                continue
            plan = make_plan(source, target, cast_rules(source, target, **options))
            with _recorded() as found:
                make_program.__wrapped__(plan)
            if source.bits > 16:
                codes = _edges(target, source)
                with np.errstate(invalid="ignore"):
                    x = codes.view(f"f{codes.itemsize}").astype(np.float64)
                wanted = whole_arrays.expected_from_float64(x, target, **options)
            else:
                codes = np.arange(1 << source.bits, dtype=source.code_dtype)
                wanted = expected_codes(codes, source, target, options)
                if source.bits == 16:
                    codes, wanted = codes[::29], wanted[::29]
            name = f"{source.name} -> {target.name} {options}"
            (recorded,) = found.values()
            yield name, recorded, codes, wanted
