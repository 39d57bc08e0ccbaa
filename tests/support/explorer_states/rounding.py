"""States of Rounding to look at: every format and every mode."""

from __future__ import annotations

from collections.abc import Iterator

from lowprec import as_format
from lowprec.explorer.pages.rounding.state import LINES, Rounding
from lowprec.explorer.shared.cast_options import OVERFLOW_CHOICES, ROUNDING_CHOICES
from lowprec.explorer.shared.page import FORMAT_NAMES, OPSETS

from .described import DESCRIBED


def states() -> Iterator[Rounding]:
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
