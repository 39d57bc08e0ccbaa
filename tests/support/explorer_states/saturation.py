"""States of Saturation to look at: every opset; formats that ONNX lacks under each rule beyond ONNX."""

from __future__ import annotations

from collections.abc import Iterator

from lowprec.explorer.pages.saturation.state import MOST_OTHERS, Saturation
from lowprec.explorer.shared.cast_options import DETERMINISTIC, OVERFLOW_CHOICES
from lowprec.explorer.shared.page import OPSETS
from lowprec.spec.rounding_modes import NAN_RULES

from .described import DESCRIBED


def states() -> Iterator[Saturation]:
    yield from map(Saturation, OPSETS)
    for index, rounding in enumerate(DETERMINISTIC):
        names = (DESCRIBED * 2)[index : index + MOST_OTHERS]
        overflow, nan = OVERFLOW_CHOICES[index % len(OVERFLOW_CHOICES)], NAN_RULES[index % len(NAN_RULES)]
        yield Saturation(19 + index, names, rounding, overflow, nan)
    yield Saturation(fmts=("float8_e8m0fnu", "float64", "e4m0,signed=0,inf=0,nan=none,zero=0"), overflow="ovf_inf")
