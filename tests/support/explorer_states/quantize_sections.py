"""States of the sections of Quantize to look at: the sweep, one block, and tensors of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lowprec.explorer.pages.quantize.bytes_view import LAYOUTS
from lowprec.explorer.pages.quantize.product_view import INPUTS
from lowprec.explorer.pages.quantize.settings import GRANULARITIES, MX_FORMATS, SCALE_FORMATS, SCHEMES, SUGGESTED
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.quantize.sweep_view import SWEEP_RULES
from lowprec.explorer.pages.quantize.tensor import DISTRIBUTIONS
from lowprec.loss import BLOCK_FORMATS
from lowprec.spec.scale_rules import SCALE_RULES


def states() -> Iterator[Quantize]:
    """Return the states of the sections that are no result."""
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
