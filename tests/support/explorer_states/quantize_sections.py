"""States of the sections of Quantize to look at: the sweep, one block, and tensors of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lowprec.explorer.page_states import Quantize
from lowprec.explorer.views.block_sweep import SWEEP_RULES
from lowprec.explorer.views.tensor import DISTRIBUTIONS
from lowprec.loss import BLOCK_FORMATS


def section_states() -> Iterator[Quantize]:
    """Return the states of the sections that are no result."""
    yield from _sweeps()


def _sweeps() -> Iterator[Quantize]:
    sweep = Quantize(show="sweep", rows=6, columns=40)
    yield from (replace(sweep, distribution=name) for name in DISTRIBUTIONS)
    yield from (replace(sweep, sweep_formats=(name,)) for name in BLOCK_FORMATS)
    yield replace(sweep, columns=200, sweep_formats=tuple(BLOCK_FORMATS), sweep_rules=SWEEP_RULES)
    yield from (replace(sweep, sweep_rules=(rule,), axis=0) for rule in SWEEP_RULES)
    yield from (replace(sweep, origin="typed", x=text) for text in ("1 2 3", "0 0; 0 0", "nan inf 1 -0"))
