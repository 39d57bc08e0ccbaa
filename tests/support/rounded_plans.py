"""Plans that round by rules beyond ONNX's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from lowprec.plans.cast_plan import make_plan
from lowprec.plans.plan import Plan
from lowprec.spec.formats import as_format
from lowprec.spec.operator_versions import cast_rules
from lowprec.spec.rounding_modes import RoundingOptions


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
