"""States of Conversion to look at: every format in every mode."""

from __future__ import annotations

from collections.abc import Iterator

from lowprec.explorer.page_states import (
    FORMAT_NAMES,
    OPSETS,
    Conversion,
)
from lowprec.explorer.views.conversion import PACKABLE
from lowprec.spec.round_modes import ROUND_MODES

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
