"""Plans of casts, by every option and by rules beyond ONNX's, and the programs of a plan."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from lowprec import _kernels
from lowprec.backends.kernels_of_plan import make_program
from lowprec.plans.cast_plan import make_plan
from lowprec.plans.plan import Plan
from lowprec.spec.formats import NUMERIC, Format, as_format
from lowprec.spec.operator_versions import cast_rules, first_opset
from lowprec.spec.rounding_modes import RoundingOptions
from support.cast_cases import options_for


def programs_of(plan: Plan) -> Iterator[_kernels.Program]:
    """Yield the program of a plan, and those with packed ends."""
    for unpacked in (False, True) if plan.source.bits in (2, 4, 6) else (False,):
        for packed in (False, True) if plan.target.bits in (2, 4, 6) else (False,):
            yield make_program(plan, packed=packed, unpacked=unpacked)


def cast_plans(formats: Sequence[Format] = tuple(NUMERIC)) -> Iterator[tuple[Plan, dict[str, Any]]]:
    """Yield the plan of every pair of formats and every option, and the options."""
    for source, target in itertools.product(formats, formats):
        for options in options_for(target):
            if options.get("opset", 28) >= max(first_opset(source), first_opset(target)):
                yield make_plan(source, target, cast_rules(source, target, **options)), options


def rounded_plans() -> Iterator[Plan]:
    """Yield plans that round by rules beyond ONNX's, from and to enough formats for every loop that they have."""
    names = (
        "float8_e4m3fn", "float8_e8m0fnu", "float4_e2m1fn", "bfloat16", "float16", "float32", "float64",
        "binary8p3uf", "binary8p1ue", "binary16p8se", "binary16p9uf",
    )  # fmt: skip
    rules = [("nearest_even", 1), ("to_odd", 1), ("stochastic", 16), ("stochastic", 32), ("stochastic_c", 32)]
    for source, target in itertools.product((*names, "int8", "int64", "uint64"), names):
        for mode, bits in rules:
            old, new = as_format(source), as_format(target)
            yield make_plan(old, new, cast_rules(old, new, options=RoundingOptions(mode, "ovf_inf", None, bits)))
