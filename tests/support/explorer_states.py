"""States of every page of the explorer, by its path: what a browser looks at in turn: every format and every mode.

Those of Quantize are in two parts, for two processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from lowprec import as_format
from lowprec.explorer.pages.anatomy.state import ANATOMY_SHOWS, Anatomy
from lowprec.explorer.pages.arithmetic.operation_view import EXAMPLES, ROUNDED
from lowprec.explorer.pages.arithmetic.state import Arithmetic
from lowprec.explorer.pages.arithmetic.sum_view import FACTORS, PRODUCTS, TERMS
from lowprec.explorer.pages.compare.state import MAX_COMPARED, Compare
from lowprec.explorer.pages.compare.view import COMPARABLE
from lowprec.explorer.pages.conversion.packing_view import PACKABLE
from lowprec.explorer.pages.conversion.state import Conversion
from lowprec.explorer.pages.describe.state import DESCRIBABLE_NAMES, Describe
from lowprec.explorer.pages.describe.view import WELL_KNOWN
from lowprec.explorer.pages.errors.state import Errors
from lowprec.explorer.pages.errors.view import ROUNDINGS as ERROR_ROUNDINGS
from lowprec.explorer.pages.errors.view import presets
from lowprec.explorer.pages.exercises.state import Exercises
from lowprec.explorer.pages.quantize.bytes_view import LAYOUTS
from lowprec.explorer.pages.quantize.product_view import INPUTS
from lowprec.explorer.pages.quantize.settings import (
    GRANULARITIES,
    MX_FORMATS,
    SCALE_FORMATS,
    SCHEMES,
    SUGGESTED,
    TARGETS,
)
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.quantize.sweep_view import SWEEP_RULES
from lowprec.explorer.pages.quantize.tensor import DISTRIBUTIONS
from lowprec.explorer.pages.rounding.state import LINES, Rounding
from lowprec.explorer.pages.saturation.state import MOST_OTHERS, Saturation
from lowprec.explorer.pages.start.state import Start
from lowprec.explorer.shared.cast_options import DETERMINISTIC, OVERFLOW_CHOICES, ROUNDING_CHOICES
from lowprec.explorer.shared.format_names import format_named
from lowprec.explorer.shared.page import FLOATS, FORMAT_NAMES, OPSETS
from lowprec.loss import BLOCK_FORMATS
from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import NAN_RULES, ROUND_MODES, ROUNDINGS
from lowprec.spec.scale_rules import SCALE_RULES
from lowprec.teaching.accumulation import METHODS
from lowprec.teaching.arithmetic import OPERATIONS
from lowprec.teaching.error_curve import MEASURES

DESCRIBED = (
    "binary3p1uf", "binary5p2sf", "binary7p3se", "binary9p4se", "binary12p6se", "binary16p16ue", "e4m0,nan=none",
    "e4m3,bias=8,inf=0,nan=negative-zero", "tf32", "e4m3,bias=1000",
)  # fmt: skip

CONVERTED = (
    "binary5p2sf", "binary6p3ue", "e4m0,nan=none", "binary8p3se", "binary12p6se", "e4m3,bias=8,inf=0,nan=negative-zero",
)  # fmt: skip

OF_EVERY_KIND = (
    "binary3p1se", "binary4p2uf", "binary5p2sf", "binary6p1ue", "binary7p3se", "binary8p3se", "binary8p8ue",
    "binary9p4se", "binary12p7uf", "binary15p10sf", "binary16p16ue", "e1m1", "e1m2,signed=0", "e2m0,nan=none",
    "e3m2,nan=all-ones", "e4m3,signed=0,nan=none", "e5m2,bias=30,inf=0", "e7m0,inf=0,nan=negative-zero",
    "e4m0,signed=0,inf=0,nan=none,zero=0", "e4m3,bias=8,inf=0,nan=negative-zero",
)  # fmt: skip
"""Formats that lack a sign, Inf, NaN, a zero or a mantissa, and others."""


def start() -> Iterator[Start]:
    yield Start()


def anatomy() -> Iterator[Anatomy]:
    yield from (Anatomy(name, "0.3") for name in DESCRIBED)
    for index, fmt in enumerate(FORMAT_NAMES):
        yield Anatomy(fmt, ("0.3", "-1.5")[index % 2], ANATOMY_SHOWS[index % 3])
    yield from (Anatomy(fmt, "0.3", show) for fmt, show in product(("float64", "int64", "bool"), ANATOMY_SHOWS))
    yield from (Anatomy(fmt, text) for fmt in ("float64", "int64", "uint64") for text in ("1.5", "9007199254740993"))
    yield from (Anatomy(fmt, text) for fmt in ("float64", "bfloat16", "float8_e8m0fnu") for text in ("nan", "inf", "0"))


def rounding() -> Iterator[Rounding]:
    for index, name in enumerate(DESCRIBED):
        yield Rounding(("0.3", "-1", "1e30")[index % 3], name, line=LINES[index % 3], overflow="ovf_inf")
    yield from (Rounding("-0.3", rounding=name, line="binades") for name in ROUNDING_CHOICES[1:])
    yield from (Rounding("500", overflow=name, line="binades") for name in OVERFLOW_CHOICES)
    for index, name in enumerate(FORMAT_NAMES):
        fmt = as_format(name)
        yield Rounding("0.3", name, line=LINES[index % 3] if fmt.is_float else LINES[0])
        if fmt.is_float and fmt.saturates == "asked":
            yield Rounding("1e30", name, saturate=False, line="symlog")
    yield from (Rounding("0.3", name, line=line) for name in ("float64", "float8_e8m0fnu") for line in LINES)
    yield from (Rounding(x, line=line) for x in ("464", "-0", "inf", "nan", "1e-9") for line in LINES)
    yield from (Rounding(opset=opset) for opset in OPSETS)


def errors() -> Iterator[Errors]:
    yield Errors()
    yield from (Errors(measure=measure, scale="log", low="1/1000") for measure in MEASURES)
    yield from (Errors(roundings=(name,), measure="ulp") for name in ERROR_ROUNDINGS)
    yield Errors(("bfloat16", "float8_e4m3fn"), "1", "3", roundings=("nearest_even", "stochastic_b", "toward_zero"))
    yield Errors(roundings=("stochastic_a", "stochastic_c"), measure="relative", overflow="ovf_inf", high="1e5")
    for index, name in enumerate((*FORMAT_NAMES, *CONVERTED)):
        ranges = presets([format_named(name)])
        yield replace(Errors((name,), measure=MEASURES[index % 3]), **ranges[index % len(ranges)].fields)
    for measure, saturate in zip(MEASURES, (True, False, False), strict=True):
        yield Errors(("float8_e4m3fn", "uint4", "float8_e8m0fnu"), "-20", "600", measure, saturate=saturate)
    yield Errors(("float8_e8m0fnu",), "1", "20", round_mode="nearest", x="3")
    yield Errors(x="nan")


def saturation() -> Iterator[Saturation]:
    yield from map(Saturation, OPSETS)
    for index, rounding in enumerate(DETERMINISTIC):
        names = (DESCRIBED * 2)[index : index + MOST_OTHERS]
        overflow, nan = OVERFLOW_CHOICES[index % len(OVERFLOW_CHOICES)], NAN_RULES[index % len(NAN_RULES)]
        yield Saturation(19 + index, names, rounding, overflow, nan)
    yield Saturation(fmts=("float8_e8m0fnu", "float64", "e4m0,signed=0,inf=0,nan=none,zero=0"), overflow="ovf_inf")


def compare() -> Iterator[Compare]:
    names = [fmt.name for fmt in COMPARABLE]
    for first, x in product(range(0, len(names), MAX_COMPARED), ("0.3", "-1e30", "0", "nan")):
        yield Compare(tuple(names[first : first + MAX_COMPARED]), x)
    yield from (Compare(saturate=saturate, round_mode=mode) for saturate in (True, False) for mode in ROUND_MODES)
    yield from (Compare(opset=opset) for opset in OPSETS)
    yield from (Compare(("int8", *DESCRIBED), opset=19), Compare(("int8", *DESCRIBED), "-1", rounding="to_odd"))


def conversion() -> Iterator[Conversion]:
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


def arithmetic() -> Iterator[Arithmetic]:
    yield Arithmetic()
    for index, name in enumerate((*FLOATS, *CONVERTED)):
        terms, method = TERMS[index % len(TERMS)], METHODS[index % len(METHODS)]
        rounding = ROUNDED[index % len(ROUNDED)]
        factor, product = FACTORS[index % 4], PRODUCTS[index % 3]
        yield Arithmetic(
            fmt=name, source=name, terms=terms, n=60, factor=factor, product=product, method=method,
            rounding=rounding, runs=8,
        )  # fmt: skip
        yield Arithmetic(
            "operation", name, ROUNDED[-1 - index % len(ROUNDED)], op=tuple(OPERATIONS)[index % 5], a="0.3"
        )
    yield from (Arithmetic(n=50, method=method, terms="big and small", value="512") for method in METHODS)
    yield from (Arithmetic(terms="typed", typed=text, runs=3) for text in ("1", "inf 1 -inf", "nan", "0 -0"))
    yield from (Arithmetic("operation", **changes) for _, changes in EXAMPLES)


def quantize() -> Iterator[Quantize]:
    """Yield every target, each with one granularity and scale of all; then each of those with one target."""
    small = Quantize(origin="sampled", show="result", rows=6, columns=40)
    yield from (replace(small, fmt=name) for name in CONVERTED if name != "binary12p6se")
    for index, fmt in enumerate(TARGETS):
        per, scale = GRANULARITIES[index % 3], SCALE_FORMATS[index % 4].name
        yield replace(small, fmt=fmt.name, per=per, scale=scale, zero_point=index // 3 % 2 == 1)
    yield from (replace(small, scale=scale.name) for scale in SCALE_FORMATS)
    yield from (replace(small, axis=axis, per=per) for axis in (0, 1) for per in GRANULARITIES[1:])
    yield from (replace(small, distribution=name) for name in DISTRIBUTIONS)
    yield from (replace(small, opset=opset) for opset in range(23, NEWEST + 1))
    yield from _in_blocks(small)
    yield from _side_by_side(small)
    typed = Quantize(origin="typed", show="result")
    yield typed
    yield from (
        replace(typed, x=text, per=per) for text in ("1 2 3", "0 0; 0 0", "nan inf 1 -0") for per in GRANULARITIES
    )


def _in_blocks(small: Quantize) -> Iterator[Quantize]:
    mx, nvfp4 = replace(small, scheme="mx", block=16), replace(small, scheme="nvfp4")
    names = [fmt.name for fmt in MX_FORMATS] + [name for name in CONVERTED if name != "binary12p6se"]
    for index, name in enumerate(names):
        yield replace(mx, fmt=name, scale_rule=SCALE_RULES[index % 5], axis=index % 2)
    for index, rounding in enumerate(ROUNDINGS):
        yield replace((small, mx, nvfp4)[index % 3], rounding=rounding, rounding_seed=index)
    yield from (replace(mx, scale_rule=rule, block=1) for rule in SCALE_RULES)
    special = {"origin": "typed", "x": "1 2 nan 3; inf 0 0 0; 1e-40 3e38 -0 5"}
    yield from (replace(one, **special, axis=0) for one in (mx, nvfp4))
    yield replace(mx, **special, fmt="int8", block=2)


def _side_by_side(small: Quantize) -> Iterator[Quantize]:
    compared = replace(small, show="side-by-side")
    yield compared
    yield from (replace(compared, compared=SUGGESTED[start : start + 4]) for start in range(4, len(SUGGESTED), 4))
    yield replace(compared, compared=("e3m2,nan=all-ones,block=4", "nvfp4,axis=0", "mx:binary6p3se,rule=even,block=8"))
    yield from (replace(compared, origin="typed", x=text) for text in ("0 0", "nan 1 2 3", "1"))


def quantize_sections() -> Iterator[Quantize]:
    yield from _sweeps()
    yield from _blocks()
    yield from _pictures()


def _sweeps() -> Iterator[Quantize]:
    sweep = Quantize(origin="sampled", show="sweep", rows=6, columns=40)
    yield from (replace(sweep, distribution=name) for name in DISTRIBUTIONS)
    yield from (replace(sweep, sweep_formats=(name,)) for name in BLOCK_FORMATS)
    yield replace(sweep, columns=200, sweep_formats=tuple(BLOCK_FORMATS), sweep_rules=SWEEP_RULES)
    yield from (replace(sweep, sweep_rules=(rule,), axis=0) for rule in SWEEP_RULES)
    yield from (replace(sweep, origin="typed", x=text) for text in ("1 2 3", "0 0; 0 0", "nan inf 1 -0"))


def _blocks() -> Iterator[Quantize]:
    block = Quantize(origin="sampled", show="block", rows=6, columns=40)
    for index, fmt in enumerate(MX_FORMATS * 2):  # their number is even: the two schemes change places after half
        scheme = SCHEMES[(index + index // len(MX_FORMATS)) % 2]
        yield replace(block, scheme=scheme, fmt=fmt.name, block_index=index % 3, without_largest=index % 2 == 0)
    yield replace(block, scheme="nvfp4")
    yield from (replace(block, per=per, scale=SCALE_FORMATS[0].name) for per in GRANULARITIES)
    yield from (replace(block, per=GRANULARITIES[index % 3], scale=one.name) for index, one in enumerate(SCALE_FORMATS))
    yield replace(block, fmt="uint8", zero_point=True)
    yield replace(block, fmt="int16", without_largest=True)
    yield from (replace(block, scheme="mx", scale_rule=rule, without_largest=True) for rule in SCALE_RULES)
    for text in ("7", "0 0; 0 0", "nan inf 1 -0", "1 2 nan 3; inf 0 0 0"):
        for scheme in SCHEMES:
            yield replace(block, origin="typed", x=text, scheme=scheme, without_largest=True)


def _pictures() -> Iterator[Quantize]:
    """Return states of the pictures, of a block byte by byte, and of a heat map that has no checkpoint."""
    yield Quantize()
    yield Quantize(at="71,127", drawn="errors", compared=SUGGESTED[:4])
    yield from (Quantize(compared=SUGGESTED[start : start + 4]) for start in range(4, len(SUGGESTED), 4))
    yield from (Quantize(show="bytes", layout=layout) for layout in LAYOUTS)
    yield Quantize(show="heat-map")
    yield from (Quantize(show="product", inputs=kind, inputs_seed=7) for kind in INPUTS)
    yield Quantize(show="symmetric")
    for text in ("7", "0 0; 0 0", "nan inf 1 -0", "1 2 nan 3; inf 0 0 0"):
        yield Quantize(origin="typed", x=text, drawn="errors")
        yield Quantize(origin="typed", x=text, show="bytes", layout="NVFP4")


def describe() -> Iterator[Describe]:
    yield Describe()
    for known in WELL_KNOWN:
        yield Describe(known.name, "0.3")
    for name in (*DESCRIBABLE_NAMES, *DESCRIBED, "e8m23,bias=100", "e1m0,inf=0,nan=negative-zero"):
        yield Describe(name)


def exercises() -> Iterator[Exercises]:
    yield Exercises()
    yield Exercises(seed=1, number=3)
    yield Exercises(seed=2, number=18)


_PAGES = (
    start, anatomy, rounding, errors, saturation, compare, conversion, arithmetic, quantize, quantize_sections,
    describe, exercises,
)  # fmt: skip
STATES: dict[str, Callable[[], Iterator[Any]]] = {one.__name__: one for one in _PAGES}
