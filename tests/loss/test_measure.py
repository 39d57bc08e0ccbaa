"""`lowprec.loss.measure` finds the same in the arrays of every library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.array_libraries import Library, codes_of

from lowprec.loss import measure
from lowprec.spec.formats import NUMERIC, Format


@pytest.mark.one_in(3)
@pytest.mark.parametrize("options", [{}, {"scaled": True}, {"axis": 0}], ids=str)
@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
def test_arrays_of_every_library(xp: Library, fmt: Format, options: dict[str, Any]) -> None:
    codes = codes_of(fmt)
    codes = codes[: codes.size // 2 * 2].reshape(2, -1)
    expected = measure(codes.view(fmt.dtype), "float8_e4m3fn", **options)
    with xp.session(fmt):
        x = xp.hold(codes, fmt)
        found = measure(x, "float8_e4m3fn", source=xp.source_for(fmt), **options)
    assert np.array_equal(repr(found), repr(expected))
