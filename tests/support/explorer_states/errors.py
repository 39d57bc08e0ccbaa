"""States of Errors to look at: every format, rounding, measure and scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lowprec.explorer.pages.errors.state import Errors
from lowprec.explorer.pages.errors.view import ROUNDINGS, presets
from lowprec.explorer.shared.format_names import format_named
from lowprec.explorer.shared.page import FORMAT_NAMES
from lowprec.teaching.error_curve import MEASURES

from .described import CONVERTED


def states() -> Iterator[Errors]:
    yield Errors()
    yield from (Errors(measure=measure, scale="log", low="1/1000") for measure in MEASURES)
    yield from (Errors(roundings=(name,), measure="ulp") for name in ROUNDINGS)
    yield Errors(("bfloat16", "float8_e4m3fn"), "1", "3", roundings=("nearest_even", "stochastic_b", "toward_zero"))
    yield Errors(roundings=("stochastic_a", "stochastic_c"), measure="relative", overflow="ovf_inf", high="1e5")
    for index, name in enumerate((*FORMAT_NAMES, *CONVERTED)):
        ranges = presets([format_named(name)])
        yield replace(Errors((name,), measure=MEASURES[index % 3]), **ranges[index % len(ranges)].fields)
    for measure, saturate in zip(MEASURES, (True, False, False), strict=True):
        yield Errors(("float8_e4m3fn", "uint4", "float8_e8m0fnu"), "-20", "600", measure, saturate=saturate)
    yield Errors(("float8_e8m0fnu",), "1", "20", round_mode="nearest", x="3")
    yield Errors(x="nan")
