"""States of Quantize to look at: every format in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from lowprec.explorer.page_states import (
    ORIGINS,
    Quantize,
)
from lowprec.explorer.views.quantize import GRANULARITIES, SCALE_FORMATS, TARGETS
from lowprec.explorer.views.tensor import DISTRIBUTIONS
from lowprec.spec.opset_rules import NEWEST

from .described import CONVERTED
from .quantize_sections import section_states


def states() -> Iterator[Quantize]:
    small = Quantize(rows=6, columns=40)
    yield from (replace(small, fmt=name) for name in CONVERTED if name != "binary12p6se")
    for index, (fmt, per) in enumerate(product(TARGETS, GRANULARITIES)):
        scale = SCALE_FORMATS[(index + index // 4) % 4].name
        yield replace(small, fmt=fmt.name, per=per, scale=scale, zero_point=index % 2 == 1)
    yield from (replace(small, scale=scale.name) for scale in SCALE_FORMATS)
    yield from (replace(small, axis=axis, per=per) for axis in (0, 1) for per in GRANULARITIES[1:])
    yield from (replace(small, distribution=name) for name in DISTRIBUTIONS)
    yield from (replace(small, opset=opset) for opset in range(23, NEWEST + 1))
    typed = Quantize(origin=ORIGINS[1])
    yield typed
    yield from (
        replace(typed, x=text, per=per) for text in ("1 2 3", "0 0; 0 0", "nan inf 1 -0") for per in GRANULARITIES
    )
    yield from section_states()
