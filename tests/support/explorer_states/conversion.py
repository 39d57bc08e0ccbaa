"""States of Conversion to look at: every format in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lowprec.explorer.pages.conversion.packing_view import PACKABLE
from lowprec.explorer.pages.conversion.state import Conversion
from lowprec.explorer.shared.page import FORMAT_NAMES, OPSETS
from lowprec.spec.rounding_modes import ROUND_MODES

from .described import CONVERTED


def states() -> Iterator[Conversion]:
    for index, (source, target) in enumerate(zip(FORMAT_NAMES, FORMAT_NAMES[-1:] + FORMAT_NAMES[:-1], strict=True)):
        yield Conversion(source, ("-1/3", "0x1")[index % 2], target, saturate=index % 3 == 0)
    yield from (Conversion(target="float8_e8m0fnu", round_mode=mode) for mode in ROUND_MODES)
    yield from (Conversion(opset=opset) for opset in OPSETS)
    yield from (Conversion(name, target=CONVERTED[index - 1]) for index, name in enumerate(CONVERTED))
    yield from (Conversion(target=name, rounding="nearest_away", overflow="ovf_inf") for name in (*CONVERTED, "int8"))
    yield Conversion(packed="binary6p3se")
    yield from (Conversion(packed=fmt.name) for fmt in PACKABLE)
    yield from chains()


def chains() -> Iterator[Conversion]:
    """Yield chains of casts: double roundings, ranges and signs that are lost, and what has no picture."""
    double = Conversion("float64", "1.0039063", "bfloat16", via="float32")
    yield from (double, replace(double, then="float16"), replace(double, at="0.5"), replace(double, at="nan"))
    yield from (replace(double, rounding=name, overflow="ovf_inf") for name in ("nearest_away", "to_odd"))
    for index, name in enumerate(FORMAT_NAMES):
        yield Conversion("float32", ("1.3", "-2.7", "1e6", "-0")[index % 4], FORMAT_NAMES[index - 5], via=name)
    yield from (Conversion("float64", "1.0627", name, via="binary12p6se") for name in CONVERTED)
    yield Conversion("float64", "1.06", "binary8p3se", via="float16", then="e4m3,bias=8,inf=0,nan=negative-zero")
    yield Conversion("int64", "9007199254740993", "int64", via="float64")
