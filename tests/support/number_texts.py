"""Formats, parsing and edge codes for the tests of casts from and to text."""

from __future__ import annotations

import random

import numpy as np

from lowprec import reference
from lowprec.backends.strings import parse_values
from lowprec.plans.cast_plan import make_plan
from lowprec.spec.formats import FORMATS, NUMERIC, Format, Kind
from lowprec.spec.operator_versions import cast_rules

FLOATS = [fmt for fmt in NUMERIC if fmt.kind is Kind.FLOAT]
INTEGERS = [fmt for fmt in NUMERIC if fmt.kind is not Kind.FLOAT]
SMALL = [fmt for fmt in FLOATS if fmt.bits <= 16]


def named(fmt: Format) -> str:
    return fmt.name


def parse(texts: object, target: Format | str, **options: object) -> np.ndarray:
    x = texts if isinstance(texts, np.ndarray) else np.array(texts, object)
    fmt = FORMATS[target] if isinstance(target, str) else target
    source = FORMATS["float64"]
    return parse_values(x, make_plan(source, fmt, cast_rules(source, fmt, **options)))


def edge_codes(target: Format) -> list[int]:
    """Return magnitude codes around which rounding may go wrong: all of a byte's."""
    end = reference.finite_count(target)
    if end <= 256:
        return list(range(end))
    first_normal, one = 1 << target.mantissa_bits, target.bias << target.mantissa_bits
    found = {0, 1, 2, 3, end - 2, end - 1}
    found |= {center + step for center in (first_normal, one) for step in (-2, -1, 0, 1)}
    return sorted(found | set(random.Random(target.bits).sample(range(end), 12)))
