"""States of Quantize to look at: every format, every mode, each scheme, and settings side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lowprec.explorer.pages.quantize.settings import GRANULARITIES, MX_FORMATS, SCALE_FORMATS, SUGGESTED, TARGETS
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.quantize.tensor import DISTRIBUTIONS
from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import ROUNDINGS
from lowprec.spec.scale_rules import SCALE_RULES

from .described import CONVERTED


def states() -> Iterator[Quantize]:
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
    """Return states of OCP MX and of NVFP4, and roundings of each scheme."""
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
    """Return states of settings side by side."""
    compared = replace(small, show="side-by-side")
    yield compared
    yield from (replace(compared, compared=SUGGESTED[start : start + 4]) for start in range(4, len(SUGGESTED), 4))
    yield replace(compared, compared=("e3m2,nan=all-ones,block=4", "nvfp4,axis=0", "mx:binary6p3se,rule=even,block=8"))
    yield from (replace(compared, origin="typed", x=text) for text in ("0 0", "nan 1 2 3", "1"))
