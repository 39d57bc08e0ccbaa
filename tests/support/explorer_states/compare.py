"""States of Compare to look at: every format in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from lowprec.explorer.pages.compare.state import MAX_COMPARED, Compare
from lowprec.explorer.pages.compare.view import COMPARABLE
from lowprec.explorer.shared.page import OPSETS
from lowprec.spec.rounding_modes import ROUND_MODES

from .described import DESCRIBED


def states() -> Iterator[Compare]:
    names = [fmt.name for fmt in COMPARABLE]
    for first, x in product(range(0, len(names), MAX_COMPARED), ("0.3", "-1e30", "0", "nan")):
        yield Compare(tuple(names[first : first + MAX_COMPARED]), x)
    yield from (Compare(saturate=saturate, round_mode=mode) for saturate in (True, False) for mode in ROUND_MODES)
    yield from (Compare(opset=opset) for opset in OPSETS)
    yield from (Compare(("int8", *DESCRIBED), opset=19), Compare(("int8", *DESCRIBED), "-1", rounding="to_odd"))
